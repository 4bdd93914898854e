//! Receiving messages, and waiting for them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use trestle_env::{Alarm, Timestamp};

use crate::definition::State;
use crate::error::{ErrorCode, QueueError};
use crate::finish::finish;
use crate::handle::Handle;
use crate::index::{MessageNumber, Taken, Wanted};
use crate::message::{Message, check_token};
use crate::queues::Queues;
use crate::storage;

/// The most messages of a queue that may be in flight.
const IN_FLIGHT_MAX: usize = 120_000;

/// How to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The most messages.
    pub max: usize,
    /// The time for which other receivers do not see them; by default the queue's visibility timeout.
    pub visibility: Option<Duration>,
    /// How long to wait for a message if there is none; by default the queue's wait time.
    pub wait: Option<Duration>,
}

impl Default for Receive {
    /// One message, with the queue's defaults.
    fn default() -> Self {
        Self {
            max: 1,
            visibility: None,
            wait: None,
        }
    }
}

impl Queues {
    /// Receives messages, oldest first; none if none arrived in time. Each is in flight until it is deleted,
    /// or until its visibility timeout has passed; then it can be received again.
    pub async fn receive(&self, queue: &str, receive: Receive) -> Result<Vec<Message>, QueueError> {
        let mut alarm = None;
        let mut deadline = None;
        loop {
            let state = self.open(queue).await?;
            let wait = receive.wait.unwrap_or(state.meaning.wait);
            let now = self.now();
            let until = *deadline.get_or_insert_with(|| now.plus(wait));
            if now >= until || self.is_closed() {
                return self.take(&state, receive, wait.is_zero()).await;
            }
            let alarm = alarm.get_or_insert_with(|| Alarm::new(Arc::clone(&self.inner().clock)));
            state.lot.wait_until(until);
            let mut arrival = pin!(state.lot.arrivals.notified());
            // Listens before it checks, so that an arrival in between is not lost.
            arrival.as_mut().enable();
            let found = self.take(&state, receive, false).await?;
            if !found.is_empty() {
                return Ok(found);
            }
            let next = state.lot.with(|index| index.next_due()).unwrap_or(Timestamp::MAX);
            tokio::select! {
                () = arrival => {}
                _ = alarm.until(until.min(next)) => {}
            }
        }
    }

    /// [`Queues::receive`] from a FIFO queue, for a receiver that may have to repeat its attempt because it
    /// did not get the answer. Within five minutes the same attempt gets the same messages with the same
    /// handles and a new visibility timeout, unless one of them was deleted, changed or received again.
    pub async fn receive_attempt(
        &self,
        queue: &str,
        receive: Receive,
        attempt: &str,
    ) -> Result<Vec<Message>, QueueError> {
        check_token(attempt, "ReceiveRequestAttemptId")?;
        let state = self.open(queue).await?;
        if !state.lot.is_fifo {
            return Err(QueueError::not_for_this_queue(attempt, "ReceiveRequestAttemptId"));
        }
        let (now, retention) = (self.now(), state.meaning.retention);
        state.lot.advance(now, retention, &self.inner().storage).await;
        let due = now.plus(receive.visibility.unwrap_or(state.meaning.visibility));
        if let Some(taken) = state.lot.repeat_attempt(attempt, now, due) {
            return self.hand_out(&state, taken).await;
        }
        let messages = self.receive(queue, receive).await?;
        let mut taken = Vec::with_capacity(messages.len());
        for message in &messages {
            let handle = Handle::decode(&message.receipt_handle, state.definition.id)?;
            let entry = state.lot.with(|index| index.get(handle.sequence).cloned());
            let sequence = handle.sequence;
            taken.extend(entry.map(|entry| Taken { sequence, entry }));
        }
        state.lot.note_attempt(attempt, &taken, self.now());
        Ok(messages)
    }

    /// The messages that are ready now.
    async fn take(
        &self,
        state: &Arc<State>,
        receive: Receive,
        strict: bool,
    ) -> Result<Vec<Message>, QueueError> {
        loop {
            let now = self.now();
            let counts = state
                .lot
                .advance(now, state.meaning.retention, &self.inner().storage)
                .await;
            if counts.in_flight >= IN_FLIGHT_MAX {
                return match strict {
                    true => Err(QueueError::new(
                        ErrorCode::OverLimit,
                        format!("The maximum number of in flight messages is reached: {IN_FLIGHT_MAX}."),
                    )),
                    false => Ok(Vec::new()),
                };
            }
            let dead_letters = self.dead_letters(state);
            let wanted = Wanted {
                max: receive.max,
                visibility: receive.visibility.unwrap_or(state.meaning.visibility),
                receives_max: dead_letters.as_ref().map(|redrive| redrive.receives_max),
            };
            let look = state.lot.look(now, wanted);
            if let Some(redrive) = dead_letters
                && !look.dead.is_empty()
            {
                let moved = self.bury(state, &redrive.target, look.dead, None).await;
                if look.taken.is_empty() {
                    moved?;
                    continue;
                }
            }
            return match look.taken.is_empty() {
                true => Ok(Vec::new()),
                false => self.hand_out(state, look.taken).await,
            };
        }
    }

    /// Reads messages that are in flight now, and stores that they are.
    async fn hand_out(&self, state: &Arc<State>, mut taken: Vec<Taken>) -> Result<Vec<Message>, QueueError> {
        let messages = match self.read(state, &mut taken).await {
            Ok(messages) => messages,
            Err(error) => {
                // They were not delivered: they are ready again immediately.
                let now = self.now();
                for taken in &taken {
                    state.lot.with(|index| index.reschedule(taken.sequence, now));
                }
                state.lot.wake(taken.len(), Timestamp::MAX);
                return Err(error);
            }
        };
        let (storage, partition) = (self.inner().storage.clone(), state.lot.partition.clone());
        // The caller does not wait for this: if a crash undoes it, the messages only become visible earlier.
        finish(async move {
            let noted = match taken.as_slice() {
                [one] => {
                    let row = crate::rows::state_row(&partition, one.sequence, &one.entry);
                    storage.put(row).await
                }
                several => storage.write(storage::states(&partition, several)).await,
            };
            if let Err(error) = noted {
                tracing::warn!(%error, "the reception of a message could not be noted");
            }
        })
        .begin()
        .await;
        Ok(messages)
    }

    async fn read(&self, state: &State, taken: &mut Vec<Taken>) -> Result<Vec<Message>, QueueError> {
        let sequences: Vec<MessageNumber> = taken.iter().map(|taken| taken.sequence).collect();
        let storage = &self.inner().storage;
        let lot = &state.lot;
        let rows = storage.read(&lot.partition, &sequences).await?;
        let mut messages = Vec::with_capacity(rows.len());
        let mut gone = Vec::new();
        for (one, row) in taken.iter().zip(rows) {
            let Some(mut stored) = row else {
                gone.push(one.sequence);
                continue;
            };
            let content = storage.content(&mut stored).await?;
            let handle = Handle {
                queue: lot.queue,
                generation: lot.generation,
                sequence: one.sequence,
                receives: one.entry.receives,
            };
            messages.push(stored.into_message(content, &one.entry, handle)?);
        }
        if !gone.is_empty() {
            // Purged meanwhile.
            taken.retain(|taken| !gone.contains(&taken.sequence));
            lot.with(|index| {
                for sequence in gone {
                    let entry = index.remove(sequence);
                    index.vacate(sequence, entry.and_then(|entry| entry.group).as_ref());
                }
            });
        }
        Ok(messages)
    }
}
