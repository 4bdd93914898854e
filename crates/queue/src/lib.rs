//! Queues in the database: SQS's operations, durable in the same tables as everything else.
//!
//! [`Queues`] is what applications use: send, receive, delete, and the rest of SQS's operations as methods.
//! [`sqs`] is the same in SQS's JSON, for SDKs. Both use a given clock, so that a test of a delay of a month
//! takes no time.
//!
//! A message is one row, written when it is sent and removed when it is deleted; its state in between is in a
//! small row after it (`rows.rs`). Memory has the ready messages (`index.rs`), so receivers neither search
//! nor block each other.
//!
//! ```
//! use std::sync::Arc;
//! use trestle_api::Wait;
//! use trestle_queue::{Queues, Receive, Settings};
//! # use trestle_engine::{Engine, Options};
//! # use trestle_env::SystemClock;
//! # use trestle_store::MemoryStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let clock = Arc::new(SystemClock::new());
//! # let database = Arc::new(Engine::on(Arc::new(MemoryStore::new()), clock.clone(), Options::default())?);
//! // `database` is any `Arc<dyn Database>`, and `clock` any `Arc<dyn Clock>`.
//! let queues = Queues::new(database, clock, Settings::default());
//! # let example = async {
//! queues.create("work", &Default::default(), &Default::default()).await?;
//! queues.send("work", "hello").await?;
//! let messages = queues.receive("work", Receive { max: 10, ..Receive::default() }).await?;
//! assert_eq!(messages[0].body, "hello");
//! queues.delete("work", &messages[0].receipt_handle).await?;
//! # Ok::<_, trestle_queue::QueueError>(())
//! # };
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(example)?;
//! # Ok(())
//! # }
//! ```

mod attempts;
mod attributes;
mod batches;
mod definition;
pub mod digest;
mod duplicates;
mod error;
mod finish;
mod groups;
mod handle;
mod handled;
mod index;
mod lot;
mod message;
mod moves;
mod name;
mod permission;
mod queues;
mod receive;
mod redrive;
mod redrive_policy;
mod rows;
mod send;
pub mod sqs;
mod storage;
mod worker;

pub use attributes::QueueAttributes;
pub use error::{ErrorCode, QueueError};
pub use index::Counts;
pub use message::{Message, MessageAttribute, MessageAttributes, NewMessage};
pub use moves::{MoveStatus, MoveTask};
pub use name::Settings;
pub use queues::Queues;
pub use receive::Receive;
pub use send::Enlisted;
pub use worker::{Job, Worker, WorkerSettings};
