//! Opening an engine, and its single entry point for requests.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use trestle_api::{Database, Error, Operation, Request, ResponseFuture};
use trestle_env::{Clock, Signal, SystemClock, Timestamp};
use trestle_store::{MemoryStore, Store, StoreError};

use crate::commit::{Committer, Work};
use crate::completion::Completion;
use crate::conflicts::Hold;
use crate::held_changes::HeldChanges;
use crate::holds::HoldSource;
use crate::horizon::Horizon;
use crate::janitor::{Janitor, Upkeep};
use crate::options::Options;
use crate::shared::Shared;

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The store refused; its message says what to do.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row that the engine needs cannot be read.
    #[error(
        "row {0} of space meta cannot be read, although it matches its checksum: another program wrote it, or memory is \
         faulty. Run `trestle verify` on the directory, then restore a backup with `trestle restore` (docs/operate/backup.md)"
    )]
    Damaged(String),
    /// The system could not start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl OpenError {
    /// The row with this key, and why.
    pub(crate) fn damaged(key: &[u8], why: impl std::fmt::Display) -> Self {
        Self::Damaged(format!("{} ({why})", key.escape_ascii()))
    }
}

/// A thread of the database panicked before it was closed. All acknowledged writes are stored.
#[derive(Debug, thiserror::Error)]
#[error("the {0} thread panicked")]
pub struct CloseError(pub(crate) &'static str);

/// The embedded database. Cloning it is cheap and gives another handle to the same database, which closes
/// with the last handle.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    /// Dropped first: the threads end when their work is done.
    running: Mutex<Option<Running>>,
    committer: Arc<Committer>,
}

struct Running {
    /// `None` until background work begins.
    janitor: Option<Janitor>,
    committer: JoinHandle<()>,
}

impl Engine {
    /// A database in memory, dropped with its last handle.
    pub fn in_memory(options: Options) -> Result<Self, OpenError> {
        Self::on(
            Arc::new(MemoryStore::new()),
            Arc::new(SystemClock::new()),
            options,
        )
    }

    /// A database on any store and clock.
    pub fn on(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> Result<Self, OpenError> {
        let engine = Self::load(store, clock, options)?;
        engine.start_janitor(Upkeep::Everything)?;
        Ok(engine)
    }

    /// A database on any store and clock that answers requests and does no background work: no row expires
    /// before [`Engine::start_janitor`]. Install the hook before that.
    pub fn load(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::load(store, clock, options)?);
        let (committer, thread) = Committer::start(Arc::clone(&shared))?;
        let committer = Arc::new(committer);
        let running = Mutex::new(Some(Running {
            janitor: None,
            committer: thread,
        }));
        Ok(Self {
            inner: Arc::new(Inner {
                shared,
                running,
                committer,
            }),
        })
    }

    /// Starts background work, or adds to it. Background work that has been started is never reduced.
    pub fn start_janitor(&self, upkeep: Upkeep) -> Result<(), OpenError> {
        let mut running = self.inner.running.lock();
        let Some(running) = running.as_mut() else {
            return Ok(());
        };
        if let Some(janitor) = &running.janitor {
            janitor.add(upkeep);
            return Ok(());
        }
        let committer = Arc::downgrade(&self.inner.committer);
        let janitor = Janitor::start(Arc::clone(self.shared()), committer, upkeep)?;
        running.janitor = Some(janitor);
        Ok(())
    }

    /// Stops background work, then the committer once every accepted write is answered. Later writes are
    /// refused. The store stays open until the last handle is dropped. Repeating the call has no effect.
    pub fn close(&self) -> Result<(), CloseError> {
        self.inner.close()
    }

    /// Starts a request. Reads are answered at once, writes when they are durable.
    pub fn start(&self, request: Request) -> Completion {
        crate::ops::run(self, request, Horizon::Retention)
    }

    /// Like [`Engine::start`], for the routes of this database: it also reads change records that are older
    /// than the retention and still stored.
    pub fn start_for_routes(&self, request: Request) -> Completion {
        crate::ops::run(self, request, Horizon::Held)
    }

    /// How much is kept beyond the retention because routes need it, as of the janitor's last check.
    pub fn held_changes(&self) -> Arc<HeldChanges> {
        self.shared().held.read()
    }

    /// Routes must give up change records before this time, because they take more space than
    /// [`Options::held_changes_bytes_max`] allows. They are trimmed when the stored positions of all routes
    /// have passed them.
    pub fn changes_given_up_before(&self) -> Timestamp {
        self.shared().held.given_up_before()
    }

    /// Sets the source that is asked before change records are trimmed. Call it once, before
    /// [`Engine::start_janitor`].
    pub fn hold_changes(&self, source: Arc<dyn HoldSource>) {
        let is_first = self.shared().hold_source.set(source).is_ok();
        debug_assert!(is_first, "what holds changes is known from the beginning");
    }

    /// Runs one operation and waits for it.
    pub fn run<O: Operation>(&self, operation: O) -> Result<O::Output, Error> {
        let response = self.start(operation.into_request()).wait()?;
        O::from_response(response).ok_or_else(|| Error::internal("the answer is of another operation"))
    }

    /// A bell that rings after every commit that recorded changes in a stream. It carries no data: a listener
    /// reads the stream.
    pub fn changes(&self) -> Arc<Signal> {
        Arc::clone(&self.shared().changes)
    }

    /// How many writes were submitted since the database was opened, including those of background work.
    /// Low-priority work uses it to detect other writers.
    pub fn writes_handed_in(&self) -> u64 {
        self.inner.committer.handed_in()
    }

    /// The clock for expiry, retention and everything else in this database.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared().clock
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Queues a write.
    pub(crate) fn submit(&self, work: Work, hold: Option<Hold>) -> Completion {
        self.inner.committer.submit(work, hold, false)
    }
}

impl Database for Engine {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.start(request).into_future())
    }
}

impl Inner {
    fn close(&self) -> Result<(), CloseError> {
        let Some(running) = self.running.lock().take() else {
            return Ok(());
        };
        let janitor = running.janitor.map_or(Ok(()), Janitor::stop);
        self.committer.close();
        running.committer.join().map_err(|_| CloseError("commit"))?;
        janitor
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!("{error}");
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
