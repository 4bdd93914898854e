//! Sending messages.

use serde::Serialize;
use trestle_api::{Database, Error, Request, ResponseFuture, TransactWriteItem, own_table_refusal};
use trestle_env::{Timestamp, ids};
use trestle_item::Item;

use crate::definition::State;
use crate::error::QueueError;
use crate::finish::finish;
use crate::index::{Entry, MessageNumber};
use crate::lot::Lot;
use crate::message::NewMessage;
use crate::queues::Queues;
use crate::rows::Stored;
use crate::storage::{self, Storage};
use std::sync::Arc;

/// A message on its way into the table.
struct Outgoing {
    id: String,
    sequence: MessageNumber,
    entry: Entry,
    row: Item,
    parts: Vec<Item>,
}

impl Queues {
    /// Sends a message; it is durable when this returns. Answers with its id.
    pub async fn send(&self, queue: &str, message: impl Into<NewMessage>) -> Result<String, QueueError> {
        let state = self.open(queue).await?;
        let now = self.now();
        let Outgoing {
            id,
            sequence,
            entry,
            row,
            parts,
        } = outgoing(&state, message.into(), now)?;
        let (storage, lot) = (self.inner().storage.clone(), Arc::clone(&state.lot));
        finish(async move {
            storage.put_message(row, parts).await?;
            lot.arrive(vec![(sequence, entry)], now, &storage).await?;
            Ok(id)
        })
        .await
    }

    /// Sends a message for each of these, with it as JSON. The first that is refused is an error; those before it are sent.
    pub async fn send_jobs<J: Serialize>(
        &self,
        queue: &str,
        jobs: impl IntoIterator<Item = J>,
    ) -> Result<(), QueueError> {
        let messages = jobs.into_iter().map(|job| NewMessage::job(&job));
        let messages: Result<Vec<NewMessage>, QueueError> = messages.collect();
        let sent = self.send_batch(queue, messages?).await?;
        sent.into_iter().try_for_each(|sent| sent.map(drop))
    }

    /// Sends several messages; each is refused or sent on its own.
    pub async fn send_batch(
        &self,
        queue: &str,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<Result<String, QueueError>>, QueueError> {
        let state = self.open(queue).await?;
        let now = self.now();
        let mut answers = Vec::with_capacity(messages.len());
        let (mut small, mut large, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for message in messages {
            answers.push(outgoing(&state, message, now).map(|out| {
                if out.parts.is_empty() {
                    small.push(storage::put(out.row));
                } else {
                    large.push((out.row, out.parts));
                }
                entries.push((out.sequence, out.entry));
                out.id
            }));
        }
        let (storage, lot) = (self.inner().storage.clone(), Arc::clone(&state.lot));
        finish(async move {
            for (row, parts) in large {
                storage.put_message(row, parts).await?;
            }
            storage.write(small).await?;
            lot.arrive(entries, now, &storage).await?;
            Ok(answers)
        })
        .await
    }

    /// Messages as part of a transaction: put [`Enlisted::writes`] into a `TransactWriteItems`, together with whatever must
    /// happen exactly when the messages are sent, let [`Enlisted`] execute it, and call [`Enlisted::committed`] when it has
    /// succeeded.
    pub async fn enlist(&self, queue: &str, messages: Vec<NewMessage>) -> Result<Enlisted, QueueError> {
        let state = self.open(queue).await?;
        let now = self.now();
        let mut enlisted = Enlisted {
            writes: Vec::with_capacity(messages.len()),
            entries: Vec::with_capacity(messages.len()),
            lot: Arc::clone(&state.lot),
            storage: self.inner().storage.clone(),
            now,
        };
        for message in messages {
            let out = outgoing(&state, message, now)?;
            let rows = out.parts.into_iter().chain([out.row]);
            enlisted.writes.extend(rows.map(storage::put_in_transaction));
            enlisted.entries.push((out.sequence, out.entry));
        }
        Ok(enlisted)
    }
}

/// Messages that are sent when the transaction succeeds of which their rows are a part. Dropped, they were never there.
///
/// As a [`Database`], it carries out that transaction: clients do not write the table of queues, except with these writes.
#[must_use = "messages are sent by a transaction with these writes"]
pub struct Enlisted {
    /// What the transaction has to write; one row for each message, and a few more for those beyond 300 KiB.
    pub writes: Vec<TransactWriteItem>,
    entries: Vec<(MessageNumber, Entry)>,
    lot: Arc<Lot>,
    storage: Storage,
    now: Timestamp,
}

impl Enlisted {
    /// Takes the writes out.
    pub fn take_writes(&mut self) -> Vec<TransactWriteItem> {
        std::mem::take(&mut self.writes)
    }

    /// Tells the queue that the transaction has succeeded, so that receivers see the messages.
    pub fn committed(self) {
        self.lot.admit(self.entries, self.now);
    }
}

impl Database for Enlisted {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match self.refusal(&request) {
            None => self.storage.execute(request),
            Some(refused) => Box::pin(std::future::ready(Err(refused))),
        }
    }
}

impl Enlisted {
    /// A request that is no transaction, or one that writes a table of Trestle itself besides these messages.
    fn refusal(&self, request: &Request) -> Option<Error> {
        let Request::TransactWriteItems(transaction) = request else {
            return Some(Error::validation(
                "Messages that are part of a transaction are sent with TransactWriteItems",
            ));
        };
        let mut items = transaction.transact_items.iter();
        items
            .find_map(|item| item.own_table_written().filter(|_| !self.writes.contains(item)))
            .map(own_table_refusal)
    }
}

impl std::fmt::Debug for Enlisted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Enlisted")
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

fn outgoing(state: &State, message: NewMessage, now: Timestamp) -> Result<Outgoing, QueueError> {
    message.check(state.meaning.message_bytes_max)?;
    let id = ids::uuid();
    let (stored, parts) = Stored::new(message, id.clone(), now, state.meaning.delay)?;
    let sequence = state.lot.next_number(now);
    let (row, entry) = stored.into_row(&state.lot.partition, sequence);
    Ok(Outgoing {
        id,
        sequence,
        entry,
        row,
        parts,
    })
}
