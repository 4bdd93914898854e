//! An embedded queue as a destination: message and checkpoint commit together, so that each change is sent exactly once.

use std::future::Future;
use std::pin::Pin;

use trestle_queue::digest::sha256;
use trestle_queue::{ErrorCode, MessageAttribute, NewMessage, QueueError, Queues};

use crate::target::{Enlist, Enlistment};
use crate::{Batch, Delivery, Outcome, plain_json};

/// A queue in the router's own database. The body of a message is the input as JSON; its attributes `route`
/// and `id` contain the route and the idempotency key. In a FIFO queue, each item is a group.
#[derive(Clone)]
pub struct QueueDoor {
    queues: Queues,
    name: String,
}

impl QueueDoor {
    /// The queue of this name. The queues must be in the database that the router works on.
    #[must_use]
    pub fn new(queues: Queues, name: impl Into<String>) -> Self {
        Self {
            queues,
            name: name.into(),
        }
    }

    /// A queue that does not exist may still be created; a message that the queue refuses is refused every
    /// time.
    fn outcome(&self, error: &QueueError) -> Outcome {
        let reason = format!("queue `{}`: {}", self.name, error.message());
        match error.code() {
            ErrorCode::InternalError | ErrorCode::QueueDoesNotExist | ErrorCode::OverLimit => {
                Outcome::Unavailable(reason)
            }
            _ => Outcome::Refused(reason),
        }
    }
}

impl Enlist for QueueDoor {
    fn enlist<'a>(
        &'a self,
        batch: &'a Batch,
    ) -> Pin<Box<dyn Future<Output = Result<Enlistment, Outcome>> + Send + 'a>> {
        Box::pin(async move {
            let is_fifo = self.name.ends_with(".fifo");
            let messages = batch.deliveries.iter();
            let messages = messages.map(|delivery| message(batch, delivery, is_fifo));
            let enlisted = self.queues.enlist(&self.name, messages.collect()).await;
            let mut enlisted = enlisted.map_err(|error| self.outcome(&error))?;
            Ok(Enlistment {
                writes: enlisted.take_writes(),
                committed: Box::new(move || enlisted.committed()),
            })
        })
    }
}

/// In a FIFO queue, the changes of an item are a group: they are received in order, and do not wait for other
/// items.
fn message(batch: &Batch, delivery: &Delivery, is_fifo: bool) -> NewMessage {
    let item = || sha256(&plain_json(delivery.change.item_key()).to_string());
    let attributes = [
        ("route", MessageAttribute::text(&*batch.route)),
        ("id", MessageAttribute::text(&*delivery.id)),
    ];
    NewMessage {
        attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
        group: is_fifo.then(item),
        deduplication_id: is_fifo.then(|| sha256(&delivery.id)),
        ..NewMessage::from(delivery.input().to_string())
    }
}

impl std::fmt::Debug for QueueDoor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueDoor")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
