//! The only writer. One thread takes waiting requests, runs each against the newest state, and hands the store **one**
//! batch for all of them: one fsync acknowledges the group.
//!
//! Running writes one after another is what makes conditions, counters and transactions serialisable without a lock.
//! A request's work is microseconds of computation; what takes long is the fsync, and that is shared. Requests that
//! arrive meanwhile form the next group, so different items never wait longer than one group.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use futures_channel::oneshot;
use trestle_api::{Error, Response};
use trestle_store::{Batch, ReadPurpose, Space};

use crate::catalog::{Catalog, Stats, Table};
use crate::completion::Completion;
use crate::image::Image;
use crate::meta;
use crate::shared::Shared;
use crate::transaction::Transaction;

/// How many requests one commit may carry: bounds the time until the first of them is answered.
const GROUP_JOBS_MAX: usize = 256;
/// How many bytes one commit may carry.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The work of a request when its turn comes: it reads and stages writes, or refuses and stages nothing.
pub(crate) type Work = Box<dyn FnOnce(&mut Transaction<'_>) -> Result<Response, Error> + Send>;

/// A request in the committer.
struct Job {
    work: Work,
    reply: oneshot::Sender<Result<Response, Error>>,
    /// Held until the response is sent: marks the items of a running transaction.
    hold: Option<crate::conflicts::Hold>,
    /// Whether the work reads ranges from storage: earlier writes must be committed before it runs.
    fresh: bool,
    /// What its reads are counted for.
    purpose: ReadPurpose,
}

/// The handle to the committer's thread.
#[derive(Debug)]
pub(crate) struct Committer {
    jobs: parking_lot::Mutex<Option<Sender<Job>>>,
    /// How many requests were submitted.
    handed_in: AtomicU64,
}

impl Committer {
    /// Starts the thread. It ends when the committer is closed and all accepted requests are answered.
    pub(crate) fn start(shared: Arc<Shared>) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, incoming) = channel();
        let thread = std::thread::Builder::new()
            .name("trestle-commit".into())
            .spawn(move || Group::new(shared).run(&incoming))?;
        Ok((
            Self {
                jobs: parking_lot::Mutex::new(Some(jobs)),
                handed_in: AtomicU64::new(0),
            },
            thread,
        ))
    }

    /// Queues `work`; the response is sent when the outcome is durable. Its reads are counted for the same
    /// purpose as those of this thread.
    pub(crate) fn submit(&self, work: Work, hold: Option<crate::conflicts::Hold>, fresh: bool) -> Completion {
        let (reply, answer) = oneshot::channel();
        self.handed_in.fetch_add(1, Ordering::Relaxed);
        if let Some(jobs) = &*self.jobs.lock() {
            // A closed queue drops the reply; the receiver reports a stopped engine.
            let _ = jobs.send(Job {
                work,
                reply,
                hold,
                fresh,
                purpose: ReadPurpose::of_this_thread(),
            });
        }
        Completion::Waiting(answer)
    }

    /// How many writes were submitted, finished or not.
    pub(crate) fn handed_in(&self) -> u64 {
        self.handed_in.load(Ordering::Relaxed)
    }

    /// Accepts no more requests; those already accepted are still answered.
    pub(crate) fn close(&self) {
        self.jobs.lock().take();
    }
}

/// Runs a request's work. A panic in it must not stop the database: its writes are dropped and the client
/// gets an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::internal(
            "the request failed in an unexpected way; the log has details",
        ))
    })
}

/// The change of counts by one group: the shared counts of a table or index, items, bytes.
type StatsDelta = (Arc<Stats>, i64, i64);

/// The requests of one commit and what they staged together.
pub(crate) struct Group {
    pub(crate) shared: Arc<Shared>,
    /// The catalog as of the staged requests.
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) batch: Batch,
    /// Bytes in the batch.
    pub(crate) bytes: usize,
    /// Items as of the staged requests; `None` for a deleted one. Storage still has the state before the
    /// group.
    pub(crate) items: HashMap<Vec<u8>, Option<Arc<Image>>>,
    pub(crate) stats: Vec<StatsDelta>,
    /// Tables whose counts changed.
    pub(crate) touched: Vec<Arc<Table>>,
    pub(crate) counters: meta::Counters,
    answered: Vec<Answered>,
}

/// A job whose work is done and whose response waits for the commit.
struct Answered {
    reply: oneshot::Sender<Result<Response, Error>>,
    hold: Option<crate::conflicts::Hold>,
    result: Result<Response, Error>,
}

impl Group {
    fn new(shared: Arc<Shared>) -> Self {
        let catalog = shared.catalog.load_full();
        let counters = shared.counters_at_start;
        Self {
            shared,
            catalog,
            batch: Batch::new(),
            bytes: 0,
            items: HashMap::new(),
            stats: Vec::new(),
            touched: Vec::new(),
            counters,
            answered: Vec::new(),
        }
    }

    fn run(mut self, incoming: &Receiver<Job>) {
        loop {
            match incoming.recv() {
                Ok(job) => self.take(job),
                Err(_) => return,
            }
            while self.answered.len() < GROUP_JOBS_MAX && self.bytes < GROUP_BYTES_MAX {
                match incoming.try_recv() {
                    Ok(job) => self.take(job),
                    Err(_) => break,
                }
            }
            self.commit();
        }
    }

    /// Runs one request and keeps what it staged, or drops it if the request is refused.
    fn take(&mut self, job: Job) {
        if job.fresh {
            self.commit();
        }
        let shared = Arc::clone(&self.shared);
        let mut transaction = Transaction::new(self);
        let work = || caught(|| (job.work)(&mut transaction));
        let result = shared.double_reads.during(job.purpose, work);
        if result.is_ok() {
            transaction.keep();
        }
        self.answered.push(Answered {
            reply: job.reply,
            hold: job.hold,
            result,
        });
    }

    /// Makes the group durable, then answers all its requests.
    fn commit(&mut self) {
        let outcome = if self.batch.is_empty() {
            Ok(())
        } else {
            self.write()
        };
        match &outcome {
            Ok(()) => self.publish(),
            Err(error) => {
                tracing::error!(%error, "commit failed: nothing of the group was stored");
                self.catalog = self.shared.catalog.load_full();
            }
        }
        self.bytes = 0;
        self.items.clear();
        self.stats.clear();
        self.touched.clear();
        for Answered { reply, hold, result } in self.answered.drain(..) {
            let answer = match &outcome {
                Err(error) if result.is_ok() => Err(Error::internal(error.to_string())),
                _ => result,
            };
            drop(hold);
            // A client that has disconnected is not an error: its write is durable nevertheless.
            let _ = reply.send(answer);
        }
    }

    fn write(&mut self) -> Result<(), trestle_store::StoreError> {
        let mut batch = std::mem::take(&mut self.batch);
        self.touched.sort_unstable_by_key(|table| table.id);
        self.touched.dedup_by_key(|table| table.id);
        for touched in &self.touched {
            // The catalog's current version: the group may have changed or dropped the table.
            if let Some(table) = self
                .catalog
                .tables
                .get(&touched.name)
                .filter(|table| table.id == touched.id)
            {
                batch.put(
                    Space::Meta,
                    meta::stats_key(table.id),
                    meta::stats_row(table, &self.stats),
                );
            }
        }
        batch.put(Space::Meta, meta::COUNTERS_KEY.to_vec(), self.counters.encode());
        self.shared.store.commit(batch)
    }

    /// Whether a row was added that the hook treats as a task for background work.
    fn begins_work(&self) -> bool {
        let Some(hook) = &self.catalog.hook else {
            return false;
        };
        let mut work = self.touched.iter().filter(|table| hook.is_work(&table.name));
        work.any(|table| {
            let mut counts = self.stats.iter();
            counts.any(|(stats, items, _)| *items > 0 && Arc::ptr_eq(stats, &table.stats))
        })
    }

    /// Publishes the new catalog and counts, and wakes readers that wait for changes.
    fn publish(&mut self) {
        for (stats, items, bytes) in &self.stats {
            stats.add(*items, *bytes);
        }
        if !Arc::ptr_eq(&self.catalog, &self.shared.catalog.load()) {
            self.shared.catalog.store(self.catalog.clone());
            // After a new index or a dropped table the janitor need not wait for its next round.
            self.shared.clock.signal().ring();
        } else if self.begins_work() {
            self.shared.clock.signal().ring();
        }
        let newest = self.counters.sequence;
        if self.shared.last_sequence.swap(newest, Ordering::AcqRel) != newest {
            self.shared.changes.ring();
        }
    }
}
