//! Work for later: queues in the same database, and workers that process their messages.
//!
//! A worker calls a function with each message of a queue, several at once. A failed message is received
//! again, after a longer time each time, and finally moves to a dead-letter queue with its reason. A message
//! can be delayed for up to a year. [`commit`] sends messages together with writes: both, or neither.
//! [`Workers`] keeps the workers of an application together.
//!
//! ```
//! use std::time::Duration;
//!
//! use serde::{Deserialize, Serialize};
//! use trestle::queue::{self, Job, NewMessage, WorkerSettings};
//! use trestle::{Embedded, Options};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{NewCustomer, Shop};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Welcome {
//!     customer: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Embedded::in_memory(Options::default())?;
//! let db = Shop::apply_to(&database)?;
//! let queues = database.queues();
//! queues.create_with_dead_letters("welcome", 5).await?;
//! # let (done, mut is_done) = tokio::sync::mpsc::channel(1);
//!
//! let worker = queues.work("welcome", WorkerSettings::default(), move |job: Job<Welcome>| {
//! #   let done = done.clone();
//!     async move {
//!         let sent = send_mail(&job.body.customer).await;
//! #       done.send(()).await.ok();
//!         sent
//!     }
//! });
//!
//! // The customer is there exactly if the welcome is on its way.
//! let ada = NewCustomer { customer: "ada".into(), name: "Ada".into(), email: "ada@example.org".into() };
//! let welcome = NewMessage::job(&Welcome { customer: "ada".into() })?.after(Duration::from_millis(10));
//! let enlisted = queues.enlist("welcome", vec![welcome]).await?;
//! queue::commit(db.transaction().with(db.put(&ada).if_not_exists()), enlisted).await?;
//! # is_done.recv().await;
//! worker.stop().await;
//! # Ok(())
//! # }
//! # async fn send_mail(_: &str) -> std::io::Result<()> { Ok(()) }
//! ```

mod workers;

pub use trestle_queue::{
    Counts, Enlisted, ErrorCode, Job, Message, MessageAttribute, MessageAttributes, NewMessage,
    QueueAttributes, QueueError, Queues, Receive, Settings, Worker, WorkerSettings,
};

pub use workers::Workers;

use trestle_typed::{Error, Transaction};

/// Executes a transaction and sends messages: both, or neither. [`Queues::enlist`] prepares the messages; the
/// transaction must be of the same database.
pub async fn commit<M>(transaction: Transaction<'_, M>, enlisted: Enlisted) -> Result<(), Error> {
    let transaction = transaction.along(enlisted.writes.clone());
    transaction.through(&enlisted).commit().await?;
    enlisted.committed();
    Ok(())
}
