//! What the holder of a receipt handle can do: delete the message, or change when it becomes visible again.

use std::sync::Arc;
use std::time::Duration;

use crate::error::QueueError;
use crate::finish::finish;
use crate::handle::Handle;
use crate::index::Entry;
use crate::queues::Queues;
use crate::rows;
use crate::storage;

/// The longest a message can be in flight.
const IN_FLIGHT_MAX: Duration = Duration::from_secs(43_200);

impl Queues {
    /// Deletes a message durably. A handle that is not the newest deletes nothing; that a message is already
    /// gone is not an error.
    pub async fn delete(&self, queue: &str, receipt_handle: &str) -> Result<(), QueueError> {
        let mut answers = self.delete_batch(queue, &[receipt_handle]).await?;
        let answer = answers.pop();
        answer.unwrap_or_else(|| Err(QueueError::defect("a deletion has no result")))
    }

    /// Deletes several messages.
    pub async fn delete_batch(
        &self,
        queue: &str,
        receipt_handles: &[&str],
    ) -> Result<Vec<Result<(), QueueError>>, QueueError> {
        let state = self.open(queue).await?;
        let mut taken = Vec::with_capacity(receipt_handles.len());
        let mut answers = Vec::with_capacity(receipt_handles.len());
        if state.lot.is_fifo {
            let storage = &self.inner().storage;
            state
                .lot
                .advance(self.now(), state.meaning.retention, storage)
                .await;
        }
        for text in receipt_handles {
            answers.push(Handle::decode(text, state.definition.id).and_then(|handle| {
                // Another receiver may have the message, and those after it wait for that receiver.
                if state.lot.has_expired(handle) {
                    return Err(QueueError::value(
                        text,
                        "ReceiptHandle",
                        "The receipt handle has expired.",
                    ));
                }
                taken.extend(state.lot.remove(handle));
                Ok(())
            }));
        }
        if taken.is_empty() {
            return Ok(answers);
        }
        let (storage, lot, now) = (self.inner().storage.clone(), Arc::clone(&state.lot), self.now());
        finish(async move {
            let deleted = storage.write(storage::deletes(&lot.partition, &taken)).await;
            match &deleted {
                Ok(()) => lot.vacate_taken(&taken),
                Err(_) => lot.restore(taken, now),
            }
            deleted.map(|()| answers)
        })
        .await
    }

    /// Makes a message ready after a new time, counted from now; zero means immediately. Any handle of the
    /// message is accepted, even after its visibility timeout or another reception; in a FIFO queue only the
    /// newest one, before its timeout.
    pub async fn change_visibility(
        &self,
        queue: &str,
        receipt_handle: &str,
        visibility: Duration,
    ) -> Result<(), QueueError> {
        let state = self.open(queue).await?;
        let handle = Handle::decode(receipt_handle, state.definition.id)?;
        let (storage, lot, now) = (self.inner().storage.clone(), Arc::clone(&state.lot), self.now());
        lot.advance(now, state.meaning.retention, &storage).await;
        let has_expired = lot.has_expired(handle);
        let due = now.plus(visibility);
        let (row, receives) = lot.with(|index| {
            let known = index
                .get(handle.sequence)
                .filter(|_| handle.generation == lot.generation);
            let Some(entry) = known.filter(|_| !has_expired) else {
                return Err(QueueError::value(
                    receipt_handle,
                    "ReceiptHandle",
                    "Message does not exist or is not available for visibility timeout change.",
                ));
            };
            let is_in_flight = index.is_in_flight(handle.sequence);
            if is_in_flight && due > entry.last_received.plus(IN_FLIGHT_MAX) {
                return Err(QueueError::value(
                    visibility.as_secs(),
                    "VisibilityTimeout",
                    "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
                ));
            }
            let (changed, receives) = (Entry { due, ..entry.clone() }, entry.receives);
            // A later time takes effect immediately. An earlier time must wait for the row, because the next
            // receiver of the message would write the same row, or move it to another queue.
            if due > entry.due {
                index.reschedule(handle.sequence, due);
            }
            Ok((
                rows::state_row(&lot.partition, handle.sequence, &changed),
                receives,
            ))
        })?;
        finish(async move {
            storage.put(row).await?;
            let changed = lot.with(|index| {
                // A message that was received meanwhile belongs to its new receiver.
                let same = index.get(handle.sequence)?.receives == receives;
                same.then(|| index.reschedule(handle.sequence, due)).flatten()
            });
            if changed.is_some() {
                lot.wake(usize::from(visibility.is_zero()), due);
            }
            Ok(())
        })
        .await
    }
}
