//! The messages of a queue since it was created or last purged: their place, and their state in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OnceCell};
use trestle_env::Timestamp;

use crate::attempts::Attempts;
use crate::duplicates::{self, Duplicates};
use crate::error::QueueError;
use crate::finish::in_background;
use crate::handle::Handle;
use crate::index::{Counts, Entry, Index, Look, MessageNumber, Taken, Wanted};
use crate::name;
use crate::rows::{self, Row};
use crate::storage::{self, Storage};

/// The messages of a queue since it was created or last purged.
pub(crate) struct Lot {
    /// The queue's name.
    pub(crate) name: String,
    /// The queue's id.
    pub(crate) queue: u64,
    pub(crate) generation: u32,
    pub(crate) partition: String,
    loaded: OnceCell<()>,
    index: Mutex<Index>,
    /// Whether the queue is a FIFO queue; see [`crate::groups`].
    pub(crate) is_fifo: bool,
    pub(crate) duplicates: Mutex<Duplicates>,
    attempts: Mutex<Attempts>,
    /// Wakes waiting receivers when there may be a message.
    pub(crate) arrivals: Notify,
    /// The latest time until which a receiver waits, or waited, in milliseconds: messages due later need not
    /// wake it.
    patience: AtomicU64,
    /// The queue was purged or deleted: these messages are being deleted.
    closed: AtomicBool,
}

impl std::fmt::Debug for Lot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lot")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn empty_index(is_fifo: bool) -> Index {
    if is_fifo {
        Index::of_groups()
    } else {
        Index::default()
    }
}

impl Lot {
    pub(crate) fn new(name: String, queue: u64, generation: u32) -> Self {
        let is_fifo = name::is_fifo(&name);
        Self {
            name,
            queue,
            generation,
            partition: rows::messages(queue, generation),
            loaded: OnceCell::new(),
            index: Mutex::new(empty_index(is_fifo)),
            is_fifo,
            duplicates: Mutex::default(),
            attempts: Mutex::default(),
            arrivals: Notify::new(),
            patience: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Reads the messages' state from the table, once.
    pub(crate) async fn load(&self, storage: &Storage, now: Timestamp) -> Result<(), QueueError> {
        self.loaded
            .get_or_try_init(|| async {
                let mut index = empty_index(self.is_fifo);
                let mut orphans = Vec::new();
                let mut duplicates = Duplicates::default();
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
                                    // The time of the last reception is not stored; this estimate allows the
                                    // timeout to be extended.
                                    entry.last_received = due;
                                }
                                // The content of a message that no longer exists.
                                _ => orphans.push(rows::key(&self.partition, rows::state_sort(sequence))),
                            },
                            Row::Original { original, .. } if duplicates::is_over(&original, now) => {
                                orphans
                                    .push(rows::key(&self.partition, rows::original_sort(original.sequence)));
                            }
                            Row::Original { key, original } => duplicates.add(key, original),
                        }
                        Ok(())
                    })
                    .await?;
                if let Some((sequence, entry)) = last {
                    index.add(sequence, entry);
                }
                *self.index.lock() = index;
                *self.duplicates.lock() = duplicates;
                storage
                    .write(orphans.into_iter().map(storage::delete).collect())
                    .await
            })
            .await
            .copied()
    }

    /// The number of a message sent now. Its place is [vacated](Lot::vacate) if it is not sent after all.
    pub(crate) fn reserve(&self, now: Timestamp, group: Option<&Arc<str>>) -> MessageNumber {
        self.index.lock().reserve(now, group)
    }

    /// Removes the places of messages that were not sent, or no longer exist.
    pub(crate) fn vacate<'a>(&self, places: impl IntoIterator<Item = (MessageNumber, &'a Entry)>) {
        if !self.is_fifo {
            return;
        }
        let mut opened = 0;
        {
            let mut index = self.index.lock();
            for (sequence, entry) in places {
                opened += usize::from(index.vacate(sequence, entry.group.as_ref()));
            }
        }
        self.wake(opened, Timestamp::MAX);
    }

    /// [`Lot::vacate`], for messages that were removed.
    pub(crate) fn vacate_taken(&self, taken: &[Taken]) {
        self.vacate(taken.iter().map(|taken| (taken.sequence, &taken.entry)));
    }

    /// Stores the messages of a receive attempt.
    pub(crate) fn note_attempt(&self, id: &str, taken: &[Taken], now: Timestamp) {
        self.attempts.lock().note(id, taken, now);
    }

    /// The messages of a repeated attempt; see [`Attempts::repeat`].
    pub(crate) fn repeat_attempt(&self, id: &str, now: Timestamp, due: Timestamp) -> Option<Vec<Taken>> {
        let mut attempts = self.attempts.lock();
        attempts.repeat(id, &mut self.index.lock(), now, due)
    }

    /// Whether a handle of a FIFO queue is no longer valid: its message exists, and can be or was received
    /// again.
    pub(crate) fn has_expired(&self, handle: Handle) -> bool {
        let index = self.index.lock();
        let entry = index.get(handle.sequence);
        self.is_fifo
            && entry.is_some_and(|entry| {
                entry.receives != handle.receives || !index.is_in_flight(handle.sequence)
            })
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

    /// Makes due messages ready and takes some of them.
    pub(crate) fn look(&self, now: Timestamp, wanted: Wanted) -> Look {
        let look = self.index.lock().take(now, wanted);
        if let Some(taken) = look.taken.first() {
            self.wake(0, taken.entry.due);
        }
        look
    }

    /// Makes due messages ready, and deletes expired ones.
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
                // Messages left behind are found expired again when the queue is next loaded.
                if let Err(error) = storage.write(storage::deletes(&lot.partition, &expired)).await {
                    tracing::warn!(%error, "expired messages could not be deleted");
                }
            })
            .await;
        }
        counts
    }

    /// Removes the message of a handle, if the handle is its newest.
    pub(crate) fn remove(&self, handle: Handle) -> Option<Taken> {
        let mut index = self.index.lock();
        let newest = index.get(handle.sequence)?.receives == handle.receives;
        if handle.generation != self.generation || !newest {
            return None;
        }
        let sequence = handle.sequence;
        index.remove(sequence).map(|entry| Taken { sequence, entry })
    }

    /// Removes ready messages, none of them sent after `last`.
    pub(crate) fn withdraw(&self, max: usize, last: MessageNumber) -> Vec<Taken> {
        self.index.lock().withdraw(max, last)
    }

    /// Puts removed messages back.
    pub(crate) fn restore(&self, taken: Vec<Taken>, now: Timestamp) {
        let entries = taken.into_iter().map(|taken| (taken.sequence, taken.entry));
        self.admit(entries.collect(), now);
    }

    /// Works on the index.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Index) -> T) -> T {
        work(&mut self.index.lock())
    }

    /// Notes until when a receiver waits.
    pub(crate) fn wait_until(&self, deadline: Timestamp) {
        self.patience.fetch_max(deadline.as_millis(), Ordering::SeqCst);
    }

    /// Wakes one waiter for each ready message, and all if a message becomes ready before they stop waiting.
    pub(crate) fn wake(&self, ready: usize, earliest: Timestamp) {
        for _ in 0..ready {
            self.arrivals.notify_one();
        }
        if earliest.as_millis() < self.patience.load(Ordering::SeqCst) {
            self.arrivals.notify_waiters();
        }
    }
}
