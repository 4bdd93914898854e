//! The messages of a queue since it was made or last purged: where they lie, and what memory knows of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OnceCell};
use trestle_env::Timestamp;

use crate::error::QueueError;
use crate::finish::in_background;
use crate::handle::Handle;
use crate::index::{Counts, Entry, Index, Look, MessageNumber, Taken, Wanted};
use crate::rows::{self, Row};
use crate::storage::{self, Storage};

/// The messages of a queue since it was made or last purged.
pub(crate) struct Lot {
    /// The queue's name.
    pub(crate) name: String,
    /// The queue's id.
    pub(crate) queue: u64,
    pub(crate) generation: u32,
    pub(crate) partition: String,
    loaded: OnceCell<()>,
    index: Mutex<Index>,
    /// Rings when there may be something for a waiting receiver.
    pub(crate) arrivals: Notify,
    /// The time until which a receiver waits, or waited, in milliseconds: what is due later need not wake it.
    patience: AtomicU64,
    /// The queue was purged or deleted: whatever lies here is being swept away.
    closed: AtomicBool,
}

impl Lot {
    pub(crate) fn new(name: String, queue: u64, generation: u32) -> Self {
        Self {
            name,
            queue,
            generation,
            partition: rows::messages(queue, generation),
            loaded: OnceCell::new(),
            index: Mutex::default(),
            arrivals: Notify::new(),
            patience: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Reads what the table knows, once.
    pub(crate) async fn load(&self, storage: &Storage) -> Result<(), QueueError> {
        self.loaded
            .get_or_try_init(|| async {
                let mut index = Index::default();
                let mut orphans = Vec::new();
                let mut last: Option<(MessageNumber, Entry)> = None;
                storage
                    .each(&self.partition, |item| {
                        match Row::read(&item)? {
                            Row::Message(sequence, entry) => {
                                if let Some((sequence, entry)) = last.replace((sequence, entry)) {
                                    index.add(sequence, entry);
                                }
                            }
                            Row::State {
                                sequence,
                                due,
                                receives,
                                first_received,
                            } => match &mut last {
                                Some((of, entry)) if *of == sequence => {
                                    entry.due = due;
                                    entry.receives = receives;
                                    entry.first_received = first_received;
                                    // When it was last received is not stored; this errs on the side of letting it be
                                    // extended.
                                    entry.last_received = due;
                                }
                                // Of a message that is gone.
                                _ => orphans.push(rows::key(&self.partition, rows::state_sort(sequence))),
                            },
                        }
                        Ok(())
                    })
                    .await?;
                if let Some((sequence, entry)) = last {
                    index.add(sequence, entry);
                }
                *self.index.lock() = index;
                storage
                    .write(orphans.into_iter().map(storage::delete).collect())
                    .await
            })
            .await
            .copied()
    }

    /// The number of a message sent now.
    pub(crate) fn next_number(&self, now: Timestamp) -> MessageNumber {
        self.index.lock().next_number(now)
    }

    /// Refuses later calls. Called before the sweep, so that the sweep finds every row of earlier calls.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.arrivals.notify_waiters();
    }

    /// Adds messages that were just stored; if the queue was purged meanwhile, deletes them again.
    pub(crate) async fn arrive(
        &self,
        messages: Vec<(MessageNumber, Entry)>,
        now: Timestamp,
        storage: &Storage,
    ) -> Result<(), QueueError> {
        if !self.closed.load(Ordering::SeqCst) {
            self.admit(messages, now);
            return Ok(());
        }
        let taken = messages
            .into_iter()
            .map(|(sequence, entry)| Taken { sequence, entry });
        let taken: Vec<Taken> = taken.collect();
        storage.write(storage::deletes(&self.partition, &taken)).await
    }

    /// Adds messages that are stored, and wakes those who wait for them.
    pub(crate) fn admit(&self, messages: Vec<(MessageNumber, Entry)>, now: Timestamp) {
        let (mut ready, mut earliest) = (0, Timestamp::MAX);
        {
            let mut index = self.index.lock();
            for (sequence, entry) in messages {
                ready += usize::from(entry.due <= now);
                if entry.due > now {
                    earliest = earliest.min(entry.due);
                }
                index.add(sequence, entry);
            }
        }
        self.wake(ready, earliest);
    }

    /// Makes ready what is due and takes some of it.
    pub(crate) fn look(&self, now: Timestamp, wanted: Wanted) -> Look {
        let look = self.index.lock().take(now, wanted);
        if let Some(taken) = look.taken.first() {
            self.wake(0, taken.entry.due);
        }
        look
    }

    /// Makes ready what is due, and deletes what was kept long enough.
    pub(crate) async fn advance(
        self: &Arc<Self>,
        now: Timestamp,
        retention: Duration,
        storage: &Storage,
    ) -> Counts {
        let (expired, counts) = {
            let mut index = self.index.lock();
            (index.advance(now, retention), index.counts())
        };
        if !expired.is_empty() {
            let (lot, storage) = (Arc::clone(self), storage.clone());
            in_background(async move {
                // Whatever stays behind is found expired again when the queue is next loaded.
                if let Err(error) = storage.write(storage::deletes(&lot.partition, &expired)).await {
                    tracing::warn!(%error, "expired messages could not be deleted");
                }
            })
            .await;
        }
        counts
    }

    /// Takes the message of a handle out, if the handle is its newest.
    pub(crate) fn remove(&self, handle: Handle) -> Option<Taken> {
        let mut index = self.index.lock();
        let newest = index.get(handle.sequence)?.receives == handle.receives;
        if handle.generation != self.generation || !newest {
            return None;
        }
        let sequence = handle.sequence;
        index.remove(sequence).map(|entry| Taken { sequence, entry })
    }

    /// Takes ready messages out, none of them sent after `last`.
    pub(crate) fn withdraw(&self, max: usize, last: MessageNumber) -> Vec<Taken> {
        self.index.lock().withdraw(max, last)
    }

    /// Puts back what was taken out.
    pub(crate) fn restore(&self, taken: Vec<Taken>, now: Timestamp) {
        let entries = taken.into_iter().map(|taken| (taken.sequence, taken.entry));
        self.admit(entries.collect(), now);
    }

    /// Works on the index.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Index) -> T) -> T {
        work(&mut self.index.lock())
    }

    /// Notes that a receiver waits until then.
    pub(crate) fn wait_until(&self, deadline: Timestamp) {
        self.patience.fetch_max(deadline.as_millis(), Ordering::SeqCst);
    }

    /// Wakes one waiter for each ready message, and all if something becomes ready before they give up.
    pub(crate) fn wake(&self, ready: usize, earliest: Timestamp) {
        for _ in 0..ready {
            self.arrivals.notify_one();
        }
        if earliest.as_millis() < self.patience.load(Ordering::SeqCst) {
            self.arrivals.notify_waiters();
        }
    }
}
