//! Background work: each task reads from storage what is left to do, does a bounded part of it, and can be
//! repeated.
//!
//! Tasks: adding existing rows to new indexes, expiring items, indexing expiry after time to live was
//! enabled, finishing the deletion of tables, clearing the rows and expiry entries of dropped tables and
//! indexes, trimming change logs, splitting shards and removing expired tokens. Every change goes through the
//! committer like a client's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use trestle_api::{Error, ListTablesOutput, Response};
use trestle_env::{SeldomLog, Sleeper, Timestamp};

use crate::commit::Committer;
use crate::engine::CloseError;
use crate::held_changes::HeldCount;
use crate::layout::StreamId;
use crate::shared::Shared;
use crate::transaction::Transaction;

mod backfill;
mod dropped;
mod expire;
mod forget_tokens;
mod held_alarm;
mod held_count;
mod split_shards;
mod stale_expiry;
mod trim_streams;

/// How long the janitor sleeps at most when there was nothing to do.
const NAP: Duration = Duration::from_secs(1);

/// How much is done in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// The work that operations on tables depend on: new indexes are filled and deleted tables cleared. No
    /// row of a table changes or expires, and no change record is trimmed.
    Tables,
    /// All of it.
    Everything,
}

/// The janitor's thread.
pub(crate) struct Janitor {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    does_everything: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Janitor {
    /// Starts the thread.
    pub(crate) fn start(
        shared: Arc<Shared>,
        committer: Weak<Committer>,
        upkeep: Upkeep,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let does_everything = Arc::new(AtomicBool::new(upkeep == Upkeep::Everything));
        let worker = Worker {
            shared: Arc::clone(&shared),
            committer,
            stop: Arc::clone(&stop),
            does_everything: Arc::clone(&does_everything),
            kept_until: RefCell::default(),
            failures: SeldomLog::every(BETWEEN_FAILURES),
            next_kept_warning: Cell::default(),
            held: RefCell::default(),
            held_alarm: Cell::default(),
        };
        let thread = std::thread::Builder::new()
            .name("trestle-janitor".into())
            .spawn(move || worker.run())?;
        Ok(Self {
            shared,
            stop,
            does_everything,
            thread,
        })
    }

    /// Adds to the work from now on.
    pub(crate) fn add(&self, upkeep: Upkeep) {
        if upkeep == Upkeep::Everything {
            self.does_everything.store(true, Ordering::Release);
            self.shared.clock.signal().ring();
        }
    }

    /// Stops the thread after its current step.
    pub(crate) fn stop(self) -> Result<(), CloseError> {
        self.stop.store(true, Ordering::Release);
        self.shared.clock.signal().ring();
        self.thread.join().map_err(|_| CloseError("janitor"))
    }
}

/// The result of one step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There may be more to do at once.
    Some,
    /// Nothing is left for now.
    None,
}

/// The time between two log lines about the same failure.
const BETWEEN_FAILURES: Duration = Duration::from_secs(60);

/// One step of a task.
type Task = fn(&Worker) -> Result<Progress, Error>;

/// The tasks that always run.
const FOR_TABLES: [(&str, Task); 3] = [
    ("backfilling an index", backfill::indexes),
    ("backfilling expiry", backfill::expiry),
    ("clearing dropped tables", dropped::run),
];

/// The tasks that run with [`Upkeep::Everything`].
const FOR_ROWS: [(&str, Task); 5] = [
    ("expiring items", expire::run),
    ("clearing expiry entries", stale_expiry::run),
    ("trimming streams", trim_streams::run),
    ("splitting shards", split_shards::run),
    ("forgetting tokens", forget_tokens::run),
];

/// What the tasks work with.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    committer: Weak<Committer>,
    stop: Arc<AtomicBool>,
    does_everything: Arc<AtomicBool>,
    /// How far this pass over expiring items has come, if it skipped some.
    kept_until: RefCell<Option<Vec<u8>>>,
    failures: SeldomLog,
    /// When the warning about expired items that are kept is logged again.
    next_kept_warning: Cell<Timestamp>,
    /// The counted records of each shard that are held beyond the retention.
    held: RefCell<BTreeMap<(StreamId, u16), HeldCount>>,
    /// The last alarm about them.
    held_alarm: Cell<held_alarm::Said>,
}

impl Worker {
    fn run(self) {
        let mut sleeper = Sleeper::new(Arc::clone(&self.shared.clock));
        while !self.stop.load(Ordering::Acquire) {
            if self.round() == Progress::None {
                let deadline = self.shared.clock.now().plus(self.shared.options.expiry_interval);
                sleeper.sleep_until(deadline, NAP);
            }
        }
    }

    /// One step of every task.
    fn round(&self) -> Progress {
        let is_all = self.does_everything.load(Ordering::Acquire);
        let for_rows = FOR_ROWS.into_iter().filter(|_| is_all);
        let mut progress = Progress::None;
        for (name, task) in FOR_TABLES.into_iter().chain(for_rows) {
            match task(self) {
                Ok(Progress::Some) => progress = Progress::Some,
                Ok(Progress::None) => {}
                Err(error) => self.log(name, &error),
            }
            if self.stop.load(Ordering::Acquire) {
                return Progress::None;
            }
        }
        progress
    }

    /// A failed task runs again every second and mostly fails for the same reason, so that not every failure
    /// is logged.
    fn log(&self, task: &'static str, error: &Error) {
        if let Some(left_out) = self.failures.admit(task) {
            tracing::warn!(%error, left_out, "{task} failed; it will be tried again");
        }
    }

    /// Runs `work` in the committer and waits until it is durable. `fresh` work reads ranges from storage, so
    /// that it must not share a group with earlier writes.
    pub(crate) fn commit<W>(&self, fresh: bool, work: W) -> Result<(), Error>
    where
        W: FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static,
    {
        let Some(committer) = self.committer.upgrade() else {
            return Ok(());
        };
        // The committer answers with responses; background work has none, so any empty one will do.
        let done = |()| Response::from(ListTablesOutput::default());
        let answer = committer.submit(
            Box::new(move |transaction| work(transaction).map(done)),
            None,
            fresh,
        );
        drop(committer);
        answer.wait().map(|_| ())
    }
}
