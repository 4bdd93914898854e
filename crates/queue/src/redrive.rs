//! Dead letters: messages that were received too often move to another queue, each in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::TransactWriteItem;
use trestle_env::{Timestamp, ids};

use crate::attributes::{QueueAttributes, RETENTION, longest_retention, of_kind};
use crate::definition::State;
use crate::error::QueueError;
use crate::finish::finish;
use crate::handle::Handle;
use crate::index::{MessageNumber, Taken};
use crate::lot::Lot;
use crate::message::Message;
use crate::name;
use crate::queues::Queues;
use crate::receive::Receive;
use crate::redrive_policy::RedrivePolicy;
use crate::rows::{Content, Stored};
use crate::storage::{self, Storage};

/// Messages moved in one transaction, and about how many bytes of them.
const MESSAGES_MAX: usize = 25;
const BYTES_MAX: usize = 1024 * 1024;

/// The form in which a message arrives in the queue that it is moved to.
#[derive(Clone, Debug)]
pub(crate) enum Arrival {
    /// As a dead letter of the queue with this ARN, for a reason if one was given: its id and age stay.
    Dead { source: String, reason: Option<String> },
    /// As if sent now.
    New,
}

impl Queues {
    /// The queue for messages of this queue that were received too often; `None` if that queue no longer
    /// exists.
    pub(crate) fn dead_letters(&self, state: &State) -> Option<RedrivePolicy> {
        let redrive = state.meaning.redrive.as_ref()?;
        self.known(&redrive.target).map(|_| redrive.clone())
    }

    /// Moves dead messages; those that cannot be moved are put back.
    pub(crate) async fn bury(
        &self,
        state: &Arc<State>,
        target: &str,
        dead: Vec<Taken>,
        reason: Option<String>,
    ) -> Result<(), QueueError> {
        let target = match self.open(target).await {
            Ok(target) => target,
            Err(error) => {
                state.lot.restore(dead, self.now());
                return Err(error);
            }
        };
        let source = self.inner().settings.arn(&state.lot.name);
        let arrival = Arrival::Dead { source, reason };
        self.move_all(Arc::clone(&state.lot), Arc::clone(&target.lot), dead, arrival)
            .await
    }

    /// Creates a queue, and one called `NAME-dead` (`STEM-dead.fifo` for a FIFO queue) for messages that were
    /// received so often without success; returns the name of the latter. Both keep messages for 14 days, the
    /// maximum, unless their retention was set otherwise. An existing queue gets this limit.
    pub async fn create_with_dead_letters(
        &self,
        name: &str,
        receives_max: u32,
    ) -> Result<String, QueueError> {
        let dead = name::dead_letters(name);
        let plain = of_kind(name::is_fifo(name));
        let policy = serde_json::json!({
            "deadLetterTargetArn": self.inner().settings.arn(&dead),
            "maxReceiveCount": receives_max,
        });
        let policy = QueueAttributes::from([("RedrivePolicy".to_owned(), policy.to_string())]);
        for queue in [&dead, name] {
            self.create(queue, &plain, &BTreeMap::new()).await?;
            let set = &self.queue(queue).await?.state().definition.attributes;
            if !set.contains_key(RETENTION.name) {
                self.set_attributes(queue, &longest_retention()).await?;
            }
        }
        self.set_attributes(name, &policy).await?;
        Ok(dead)
    }

    /// The dead letters of a queue that was created with a dead-letter queue, at most so many. They stay
    /// where they are.
    pub async fn given_up(&self, name: &str, max: usize) -> Result<Vec<Message>, QueueError> {
        let at_once = Some(Duration::ZERO);
        let look = Receive {
            max,
            visibility: at_once,
            wait: at_once,
        };
        self.receive(&name::dead_letters(name), look).await
    }

    /// Moves a message in flight to the dead-letter queue now, with a reason. Returns whether it was moved;
    /// without a dead-letter queue, or with a handle that is not the newest, it stays.
    pub async fn give_up(
        &self,
        queue: &str,
        receipt_handle: &str,
        reason: impl Into<String>,
    ) -> Result<bool, QueueError> {
        let state = self.open(queue).await?;
        let handle = Handle::decode(receipt_handle, state.definition.id)?;
        let Some(redrive) = self.dead_letters(&state) else {
            return Ok(false);
        };
        let Some(taken) = state.lot.remove(handle) else {
            return Ok(false);
        };
        self.bury(&state, &redrive.target, vec![taken], Some(reason.into()))
            .await?;
        Ok(true)
    }

    /// Moves messages that were removed from `from`; those that cannot be moved are put back.
    pub(crate) async fn move_all(
        &self,
        from: Arc<Lot>,
        to: Arc<Lot>,
        mut taken: Vec<Taken>,
        arrival: Arrival,
    ) -> Result<(), QueueError> {
        let (storage, clock) = (self.inner().storage.clone(), Arc::clone(&self.inner().clock));
        finish(async move {
            while !taken.is_empty() {
                let now = clock.now();
                match move_some(&storage, &from, &to, &mut taken, &arrival, now).await {
                    Ok(()) => {}
                    Err(error) => {
                        from.restore(taken, now);
                        return Err(error);
                    }
                }
            }
            Ok(())
        })
        .await
    }
}

/// Moves as many of the messages as fit into one transaction, and removes them from the list when it has
/// succeeded.
async fn move_some(
    storage: &Storage,
    from: &Lot,
    to: &Lot,
    taken: &mut Vec<Taken>,
    arrival: &Arrival,
    now: Timestamp,
) -> Result<(), QueueError> {
    let some: Vec<MessageNumber> = taken
        .iter()
        .take(MESSAGES_MAX)
        .map(|taken| taken.sequence)
        .collect();
    let rows = storage.read(&from.partition, &some).await?;
    let mut writes: Vec<TransactWriteItem> = Vec::new();
    let (mut entries, mut moved, mut bytes) = (Vec::new(), 0, 0);
    for (one, row) in taken.iter().zip(rows) {
        if bytes > BYTES_MAX {
            break;
        }
        moved += 1;
        // A missing row was purged.
        let Some(stored) = row else { continue };
        bytes += size(&stored);
        let group = stored.group.as_deref().map(Arc::from);
        let sequence = to.reserve(now, group.as_ref());
        let arriving = arriving(stored, arrival, one.entry.receives, now);
        let (row, entry) = arriving.into_row(&to.partition, sequence);
        writes.extend(storage::withdrawal(&from.partition, one));
        writes.push(storage::put_in_transaction(row));
        entries.push((sequence, entry));
    }
    if !writes.is_empty()
        && let Err(error) = storage.transact(writes).await
    {
        to.vacate(entries.iter().map(|(sequence, entry)| (*sequence, entry)));
        return Err(error);
    }
    let moved: Vec<Taken> = taken.drain(..moved).collect();
    let arrived = to.arrive(entries, now, storage).await;
    from.vacate_taken(&moved);
    arrived
}

fn size(stored: &Stored) -> usize {
    match &stored.content {
        Content::Here { body, attributes } => body.len() + attributes.as_ref().map_or(0, String::len),
        // The pieces stay where they are.
        Content::InParts { .. } => 0,
    }
}

fn arriving(stored: Stored, arrival: &Arrival, receives: u32, now: Timestamp) -> Stored {
    match arrival {
        Arrival::Dead { source, reason } => Stored {
            due: stored.sent,
            // Messages that were not duplicates in their queue stay distinct.
            deduplication_id: stored.deduplication_id.map(|_| stored.id.clone()),
            dead_letter_source: Some(source.clone()),
            dead_letter_reason: reason.clone(),
            earlier_receives: stored.earlier_receives.saturating_add(receives),
            ..stored
        },
        Arrival::New => Stored {
            id: ids::uuid(),
            sent: now,
            kept_from: now,
            due: now,
            dead_letter_source: None,
            dead_letter_reason: None,
            earlier_receives: 0,
            ..stored
        },
    }
}
