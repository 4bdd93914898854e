//! Tables, indexes, transactions, time to live and the change log on top of a store of ordered bytes.
//!
//! [`Engine`] is the embedded [`Database`]: open a directory and call operations, without a socket. It is
//! synchronous; a write returns a [`Completion`], which a thread can wait for and a task can await.
//!
//! The path of a request: `ops` checks it and finds its table, `commit` runs it in its turn, `transaction`
//! stages the item with its index rows, change record and expiry entry, and the store makes the group durable
//! in one batch. A [`Hook`](trestle_hook::Hook) takes part in the commit: it knows what rows mean.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod amend;
mod backup;
mod capacity;
mod catalog;
mod change_log;
mod collection;
mod commit;
mod completion;
mod conflicts;
mod consequences;
mod definition;
mod describe;
#[cfg(feature = "directory")]
mod directory;
mod documents;
mod engine;
mod expiry;
mod expressions;
mod former;
mod held_changes;
mod holds;
mod horizon;
mod host;
mod image;
mod janitor;
mod layout;
mod meta;
mod ops;
mod options;
mod overlay;
mod page;
mod pause_writes;
mod preview;
mod range;
mod recent_changes;
#[cfg(feature = "directory")]
mod restore;
mod row_page;
mod scan_order;
mod schema;
mod select;
mod shards;
mod shared;
mod statement;
mod storage_reads;
mod stream_position;
mod tokens;
mod touch;
mod transact;
mod transaction;
mod verify;
mod view;
mod write_item;

pub use amend::Amendment;
pub use completion::Completion;
#[cfg(feature = "directory")]
pub use directory::{backup_directory, verify_directory};
pub use engine::{CloseError, Engine, OpenError};
pub use former::walked;
pub use held_changes::{HeldChanges, HeldTable};
pub use holds::{HoldSource, ReadRows, ShardHold, StreamHold};
pub use janitor::Upkeep;
pub use options::Options;
pub use pause_writes::PausedTable;
pub use preview::PreviewedRow;
pub use recent_changes::RecentChange;
#[cfg(feature = "directory")]
pub use restore::{RestoreError, restore};
pub use scan_order::{is_in_segment, scan_position};
pub use storage_reads::{OperationReads, StorageReads};
pub use touch::{TOUCHED_MAX, Touching};
pub use trestle_api::Database;
pub use trestle_hook::{Lying, Met, MovedPage, Remaining, Stuck};
pub use trestle_store::archive::{ArchiveError, Totals as BackupTotals};
pub use trestle_store::{BlockSize, Durability, Settings as StoreSettings};
pub use verify::{Disagreement, DisagreementKind, Summary, Watcher, verify};
pub use view::View;
