//! Processing all reindexes of a database in the background, as a server does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::job::ReindexState;
use crate::{Reindex, ReindexError, Reindexer};

/// The pause before a reindex that cannot continue is tried again. It is real time, because the reindex waits
/// for a route or for a disk.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// Reindexes listed at once.
const PAGE: u32 = 100;

/// Processes running reindexes in the background of a process. A clone is cheap and another handle to the
/// same workers.
#[derive(Clone)]
pub struct ReindexWorkers {
    shared: Arc<Shared>,
}

struct Shared {
    reindexer: Reindexer,
    runtime: Handle,
    state: Mutex<WorkersState>,
}

#[derive(Default)]
struct WorkersState {
    is_stopped: bool,
    /// By the name of the reindex.
    at_work: BTreeMap<String, Working>,
}

struct Working {
    task: JoinHandle<()>,
    /// The error that stops it at present.
    error: Option<String>,
}

impl ReindexWorkers {
    /// Workers that have nothing to do yet; they run on this runtime.
    #[must_use]
    pub fn new(reindexer: Reindexer, runtime: Handle) -> Self {
        let state = Mutex::default();
        Self {
            shared: Arc::new(Shared {
                reindexer,
                runtime,
                state,
            }),
        }
    }

    /// The reindexes that are being processed.
    #[must_use]
    pub fn reindexer(&self) -> &Reindexer {
        &self.shared.reindexer
    }

    /// Continues all reindexes that were running when the previous process ended, and returns them. An
    /// interrupted start is finished; one by ids, which was not acknowledged, is removed. Only for a database
    /// without other workers: call it before others can start a reindex.
    pub async fn resume(&self) -> Result<Vec<Reindex>, ReindexError> {
        let (mut resumed, mut after) = (Vec::new(), None);
        loop {
            let (jobs, next) = self.reindexer().list_page(after.as_deref(), PAGE).await?;
            for job in jobs {
                match job.state {
                    ReindexState::Preparing | ReindexState::Running => {
                        match self.reindexer().ready(&job.name).await {
                            Ok(job) => {
                                self.work_on(&job.name);
                                resumed.push(job);
                            }
                            Err(ReindexError::Refused(why)) => tracing::warn!("{why}"),
                            Err(error) => return Err(error),
                        }
                    }
                    ReindexState::Paused | ReindexState::Cancelled | ReindexState::Done => {}
                }
            }
            after = next;
            if after.is_none() {
                return Ok(resumed);
            }
        }
    }

    /// Processes a reindex in the background until it is done, paused or cancelled. If it is already being
    /// processed, nothing changes.
    pub fn work_on(&self, name: &str) {
        let mut state = self.shared.state.lock();
        if state.is_stopped || state.at_work.contains_key(name) {
            return;
        }
        let (workers, of) = (self.clone(), name.to_owned());
        let task = self.shared.runtime.spawn(async move { workers.run(&of).await });
        let error = None;
        state.at_work.insert(name.to_owned(), Working { task, error });
    }

    /// Why a reindex cannot continue, if it cannot. It is retried.
    #[must_use]
    pub fn error(&self, name: &str) -> Option<String> {
        self.shared.state.lock().at_work.get(name)?.error.clone()
    }

    /// Stops all work after the current pages, and starts no more. Running reindexes continue at the next
    /// [`resume`](Self::resume).
    pub async fn stop(&self) {
        let ended = {
            let mut state = self.shared.state.lock();
            state.is_stopped = true;
            std::mem::take(&mut state.at_work)
        };
        for working in ended.into_values() {
            working.task.abort();
            // It stops at its next wait; the cancellation is not an error.
            let _ = working.task.await;
        }
    }

    async fn run(&self, name: &str) {
        loop {
            match self.reindexer().work(name).await {
                Ok(job) => tracing::info!("reindex {name} is {}", job.state.name()),
                Err(ReindexError::Unknown(_)) => {}
                Err(error) => {
                    tracing::warn!("reindex {name} cannot continue and is tried again: {error}");
                    self.note(name, error.to_string());
                    tokio::time::sleep(TRY_AGAIN).await;
                    continue;
                }
            }
            self.shared.state.lock().at_work.remove(name);
            // Rows may have been added after the end of the work and before this: then no other task
            // processes them.
            match self.reindexer().get(name).await {
                Ok(job) if job.state == ReindexState::Running => self.work_on(name),
                _ => {}
            }
            return;
        }
    }

    fn note(&self, name: &str, error: String) {
        if let Some(working) = self.shared.state.lock().at_work.get_mut(name) {
            working.error = Some(error);
        }
    }
}
