//! Ordered bytes on disk: atomic batches over a handful of key spaces, snapshots, ranges, recovery.
//!
//! A store does not know items, tables or time. It keeps five sorted maps ([`Space`]) and promises three things:
//!
//! - **A batch is all or nothing**, over all spaces, for readers and for crashes ([`Store::commit`]).
//! - **A snapshot never changes**, and snapshots and writers never wait for each other ([`Store::snapshot`]).
//! - **What was acknowledged stays**, as far as the chosen [`Durability`] says.
//!
//! `FjallStore` keeps them in a directory, [`MemoryStore`] in memory. Both pass the same conformance tests.
//! `docs/internals/format.md` describes the directory. Without the feature `directory` there is no `FjallStore` and no storage engine is compiled.
//!
//! ```
//! use trestle_store::{Batch, MemoryStore, Space, Store, StoreError};
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = MemoryStore::new();
//! let before = store.snapshot();
//! let mut batch = Batch::new();
//! batch.put(Space::Items, b"key", b"value");
//! store.commit(batch)?;
//! assert_eq!(store.get(Space::Items, b"key")?.as_deref(), Some(&b"value"[..]));
//! assert!(before.get(Space::Items, b"key")?.is_none());
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(feature = "directory"),
    allow(
        dead_code,
        reason = "some parts of batches and errors are for directories only"
    )
)]

pub mod archive;
mod batch;
mod block_size;
mod bytes;
mod error;
#[cfg(feature = "directory")]
mod existing;
#[cfg(feature = "directory")]
mod fjall_store;
mod limits;
mod memory_store;
mod per_space;
#[cfg(feature = "directory")]
mod private;
mod reads;
mod settings;
mod store;

pub use batch::Batch;
pub use block_size::BlockSize;
pub use bytes::Bytes;
pub use error::{ErrorKind, StoreError};
#[cfg(feature = "directory")]
pub use fjall_store::FjallStore;
pub use limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use memory_store::MemoryStore;
pub use reads::{ReadCounts, ReadPurpose};
pub use settings::{DirectoryAccess, Durability, FileCheck, OnDamage, Settings};
pub use store::{Direction, RowIterator, Snapshot, Space, Stats, Store};

/// What the store's calls return.
pub type Result<T> = std::result::Result<T, StoreError>;
