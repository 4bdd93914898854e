//! Sending messages.

use serde::Serialize;
use trestle_api::{Database, Error, Request, ResponseFuture, TransactWriteItem, own_table_refusal};
use trestle_env::{Timestamp, ids};
use trestle_item::Item;

use crate::attributes::Fifo;
use crate::definition::State;
use crate::digest;
use crate::duplicates::{Claims, Novelty, Original};
use crate::error::QueueError;
use crate::finish::finish;
use crate::index::{Entry, MessageNumber};
use crate::lot::Lot;
use crate::message::{LONG_DELAY, NewMessage, check_token};
use crate::queues::Queues;
use crate::rows::{self, Stored};
use crate::storage::{self, Storage};
use std::sync::Arc;

/// The parameter with the group.
const GROUP: &str = "MessageGroupId";
/// Messages of a FIFO queue in one transaction, and about how many bytes of them.
const FIFO_MESSAGES_MAX: usize = 10;
const FIFO_BYTES_MAX: usize = 1024 * 1024;

/// A message that is about to be written into the table.
struct Outgoing {
    id: String,
    sequence: MessageNumber,
    entry: Entry,
    row: Item,
    parts: Vec<Item>,
}

impl Outgoing {
    /// All writes of the message.
    fn rows(parts: Vec<Item>, row: Item) -> impl Iterator<Item = TransactWriteItem> {
        parts.into_iter().chain([row]).map(storage::put_in_transaction)
    }
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentMessage {
    pub(crate) id: String,
    /// Its position in the order of a FIFO queue.
    pub(crate) sequence_number: Option<String>,
}

impl From<Original> for SentMessage {
    fn from(original: Original) -> Self {
        Self {
            id: original.id,
            sequence_number: Some(original.sequence.to_string()),
        }
    }
}

/// The answers for several messages.
type Answers = Vec<Result<SentMessage, QueueError>>;

impl Queues {
    /// Sends a message; it is durable when this returns. Returns its id. If the same message was sent to a
    /// FIFO queue in the last five minutes, nothing is sent, and the id is that of the first one.
    pub async fn send(&self, queue: &str, message: impl Into<NewMessage>) -> Result<String, QueueError> {
        Ok(self.send_one(queue, message.into()).await?.id)
    }

    pub(crate) async fn send_one(&self, queue: &str, message: NewMessage) -> Result<SentMessage, QueueError> {
        let state = self.open(queue).await?;
        if state.lot.is_fifo {
            let mut answers = self.send_in_order(&state, vec![message]).await?;
            let answer = answers.pop();
            return answer.unwrap_or_else(|| Err(QueueError::defect("a message has no result")));
        }
        let now = self.now();
        let Outgoing {
            id,
            sequence,
            entry,
            row,
            parts,
        } = outgoing(&state, message, now)?;
        let (storage, lot) = (self.inner().storage.clone(), Arc::clone(&state.lot));
        finish(async move {
            storage.put_message(row, parts).await?;
            lot.arrive(vec![(sequence, entry)], now, &storage).await?;
            Ok(SentMessage {
                id,
                sequence_number: None,
            })
        })
        .await
    }

    /// Sends a message for each of these, with the value as JSON. The first refused one is an error; those
    /// before it are sent.
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
        let sent = self.send_many(queue, messages).await?;
        Ok(sent.into_iter().map(|sent| sent.map(|sent| sent.id)).collect())
    }

    pub(crate) async fn send_many(
        &self,
        queue: &str,
        messages: Vec<NewMessage>,
    ) -> Result<Answers, QueueError> {
        let state = self.open(queue).await?;
        if let Some(fifo) = state.meaning.fifo {
            check_ids(fifo, &messages)?;
            let mut answers = Vec::with_capacity(messages.len());
            for chunk in chunks(messages) {
                answers.extend(self.send_in_order(&state, chunk).await?);
            }
            return Ok(answers);
        }
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
                SentMessage {
                    id: out.id,
                    sequence_number: None,
                }
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

    /// Sends messages to a FIFO queue, and remembers them in the same transaction; duplicates are not sent.
    async fn send_in_order(
        &self,
        state: &Arc<State>,
        messages: Vec<NewMessage>,
    ) -> Result<Answers, QueueError> {
        let checked: Vec<_> = messages
            .into_iter()
            .map(|message| keyed(state, message))
            .collect();
        let keys = keys(&checked);
        let (claims, novelties) = loop {
            match Claims::new(&state.lot, &keys, self.now()) {
                Ok(claimed) => break claimed,
                // It ends when the call that sends the same message does.
                Err(mut ended) => while ended.changed().await.is_ok() {},
            }
        };
        let order = Order::new(state, checked, novelties, &claims, self.now());
        let (storage, lot) = (self.inner().storage.clone(), Arc::clone(&state.lot));
        finish(async move {
            if let Err(error) = storage.transact(order.writes).await {
                lot.vacate(order.entries.iter().map(|(sequence, entry)| (*sequence, entry)));
                return Err(error);
            }
            lot.arrive(order.entries, order.now, &storage).await?;
            claims.sent(order.originals);
            Ok(order.answers)
        })
        .await
    }

    /// Messages as part of a transaction: put [`Enlisted::writes`] into a `TransactWriteItems`, together with
    /// the writes that must be made exactly when the messages are sent, let [`Enlisted`] execute it, and call
    /// [`Enlisted::committed`] when it has succeeded.
    pub async fn enlist(&self, queue: &str, messages: Vec<NewMessage>) -> Result<Enlisted, QueueError> {
        let state = self.open(queue).await?;
        let now = self.now();
        let mut enlisted = Enlisted {
            writes: Vec::with_capacity(messages.len()),
            entries: Vec::with_capacity(messages.len()),
            lot: Arc::clone(&state.lot),
            storage: self.inner().storage.clone(),
            now,
            claims: None,
            originals: Vec::new(),
        };
        if let Some(fifo) = state.meaning.fifo {
            check_ids(fifo, &messages)?;
            let checked: Vec<_> = messages
                .into_iter()
                .map(|message| keyed(&state, message))
                .collect();
            let (claims, novelties) = Claims::new(&state.lot, &keys(&checked), now).map_err(|_| {
                QueueError::internal("the same message is being sent by another call; try again")
            })?;
            let order = Order::new(&state, checked, novelties, &claims, now);
            enlisted.writes = order.writes;
            enlisted.entries = order.entries;
            enlisted.originals = order.originals;
            enlisted.claims = Some(claims);
            order
                .answers
                .into_iter()
                .try_for_each(|answer| answer.map(drop))?;
            return Ok(enlisted);
        }
        for message in messages {
            let out = outgoing(&state, message, now)?;
            enlisted.writes.extend(Outgoing::rows(out.parts, out.row));
            enlisted.entries.push((out.sequence, out.entry));
        }
        Ok(enlisted)
    }
}

/// A message for a FIFO queue with its deduplication key; the error says why it is refused.
type Keyed = Result<(String, NewMessage), QueueError>;

fn keys(messages: &[Keyed]) -> Vec<String> {
    let keys = messages.iter().filter_map(|message| message.as_ref().ok());
    keys.map(|(key, _)| key.clone()).collect()
}

/// The writes for messages of a FIFO queue, and the answers after they succeed.
struct Order {
    writes: Vec<TransactWriteItem>,
    entries: Vec<(MessageNumber, Entry)>,
    originals: Vec<(String, Original)>,
    answers: Answers,
    now: Timestamp,
}

impl Order {
    fn new(
        state: &State,
        messages: Vec<Keyed>,
        novelties: Vec<Novelty>,
        claims: &Claims,
        now: Timestamp,
    ) -> Self {
        let partition = &state.lot.partition;
        let forgotten = claims.forgotten.iter();
        let mut order = Self {
            writes: forgotten
                .map(|sequence| rows::key(partition, rows::original_sort(*sequence)))
                .map(storage::delete_in_transaction)
                .collect(),
            entries: Vec::new(),
            originals: Vec::new(),
            answers: Vec::with_capacity(messages.len()),
            now,
        };
        let mut novelties = novelties.into_iter();
        // The new messages among those that were not refused.
        let mut accepted: Answers = Vec::new();
        for message in messages {
            let answer = match message {
                Err(error) => Err(error),
                Ok((key, message)) => {
                    let answer = match novelties.next() {
                        Some(Novelty::New) => order.add(state, key, message),
                        Some(Novelty::Duplicate(original)) => Ok(SentMessage::from(original)),
                        Some(Novelty::SameAs(place)) => accepted
                            .get(place)
                            .cloned()
                            .unwrap_or_else(|| Err(QueueError::defect("a duplicate has no original"))),
                        None => Err(QueueError::defect("a message has no novelty")),
                    };
                    accepted.push(answer.clone());
                    answer
                }
            };
            order.answers.push(answer);
        }
        order
    }

    fn add(&mut self, state: &State, key: String, message: NewMessage) -> Result<SentMessage, QueueError> {
        let out = outgoing(state, message, self.now)?;
        let original = Original {
            id: out.id,
            sequence: out.sequence,
            sent: self.now,
        };
        let remembered = rows::original_row(&state.lot.partition, &key, &original);
        self.writes.extend(Outgoing::rows(out.parts, out.row));
        self.writes.push(storage::put_in_transaction(remembered));
        self.entries.push((out.sequence, out.entry));
        self.originals.push((key, original.clone()));
        Ok(SentMessage::from(original))
    }
}

/// Messages that are sent when the transaction with their rows succeeds. If this is dropped, they are not
/// sent.
///
/// As a [`Database`], it executes that transaction: otherwise clients may not write the table of queues.
#[must_use = "messages are sent by a transaction with these writes"]
pub struct Enlisted {
    /// The writes for the transaction; one row for each message, and a few more for those beyond 300 KiB.
    pub writes: Vec<TransactWriteItem>,
    entries: Vec<(MessageNumber, Entry)>,
    lot: Arc<Lot>,
    storage: Storage,
    now: Timestamp,
    /// For a FIFO queue: the right to send the messages, and what to remember of them.
    claims: Option<Claims>,
    originals: Vec<(String, Original)>,
}

impl Drop for Enlisted {
    /// Uncommitted messages were not sent: messages after them need not wait.
    fn drop(&mut self) {
        self.lot
            .vacate(self.entries.iter().map(|(sequence, entry)| (*sequence, entry)));
    }
}

impl Enlisted {
    /// Takes the writes out.
    pub fn take_writes(&mut self) -> Vec<TransactWriteItem> {
        std::mem::take(&mut self.writes)
    }

    /// Confirms that the transaction has succeeded, so that receivers see the messages.
    pub fn committed(mut self) {
        self.lot.admit(std::mem::take(&mut self.entries), self.now);
        if let Some(claims) = self.claims.take() {
            claims.sent(std::mem::take(&mut self.originals));
        }
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

/// Refuses a batch for a FIFO queue in which a message has no group, or no deduplication id.
fn check_ids(fifo: Fifo, messages: &[NewMessage]) -> Result<(), QueueError> {
    if messages.iter().any(|message| message.group.is_none()) {
        return Err(QueueError::invalid(QueueError::missing(GROUP).message()));
    }
    let has_id = |message: &NewMessage| fifo.by_content || message.deduplication_id.is_some();
    match messages.iter().all(has_id) {
        true => Ok(()),
        false => Err(no_deduplication_id()),
    }
}

/// Checks a message for a FIFO queue, and returns its deduplication key.
fn keyed(state: &State, mut message: NewMessage) -> Keyed {
    let Some(fifo) = state.meaning.fifo else {
        return Err(QueueError::defect("a standard queue is used as a FIFO queue"));
    };
    if let Some(delay) = message.delay.take()
        && !delay.is_zero()
    {
        return Err(QueueError::not_for_this_queue(delay.as_secs(), "DelaySeconds"));
    }
    if let Some(delay) = message.long_delay()? {
        return Err(QueueError::not_for_this_queue(delay.as_secs(), LONG_DELAY));
    }
    let group = message.group.clone().ok_or_else(|| QueueError::missing(GROUP))?;
    let id = match message.deduplication_id.take() {
        Some(id) => id,
        None if fifo.by_content => digest::sha256(&message.body),
        None => return Err(no_deduplication_id()),
    };
    check_token(&id, "MessageDeduplicationId")?;
    message.check(state.meaning.message_bytes_max)?;
    // Neither contains a space.
    let key = match fifo.per_group {
        true => format!("{group} {id}"),
        false => id.clone(),
    };
    message.deduplication_id = Some(id);
    Ok((key, message))
}

fn no_deduplication_id() -> QueueError {
    QueueError::invalid(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
    )
}

/// Messages that fit into one transaction, in order.
fn chunks(messages: Vec<NewMessage>) -> Vec<Vec<NewMessage>> {
    let mut chunks: Vec<Vec<NewMessage>> = Vec::new();
    let mut bytes = 0;
    for message in messages {
        let size = message.size_bytes();
        match chunks.last_mut() {
            Some(last) if last.len() < FIFO_MESSAGES_MAX && bytes + size <= FIFO_BYTES_MAX => {
                bytes += size;
                last.push(message);
            }
            _ => {
                bytes = size;
                chunks.push(vec![message]);
            }
        }
    }
    chunks
}

fn outgoing(state: &State, message: NewMessage, now: Timestamp) -> Result<Outgoing, QueueError> {
    message.check(state.meaning.message_bytes_max)?;
    if let (Some(id), false) = (&message.deduplication_id, state.lot.is_fifo) {
        return Err(QueueError::not_for_this_queue(id, "MessageDeduplicationId"));
    }
    let id = ids::uuid();
    let group = message.group.as_deref().map(Arc::from);
    let (stored, parts) = Stored::new(message, id.clone(), now, state.meaning.delay)?;
    let sequence = state.lot.reserve(now, group.as_ref());
    let (row, entry) = stored.into_row(&state.lot.partition, sequence);
    Ok(Outgoing {
        id,
        sequence,
        entry,
        row,
        parts,
    })
}
