//! The handle for the reindexes of a database: start, process, read, control.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use trestle_api::{Database, Error};
use trestle_env::{Clock, ids};
use trestle_events::{ModelTyper, Typer};
use trestle_model::Model;

use crate::budget::Units;
use crate::handler::Handler;
use crate::job::{ReindexMode, ReindexState};
use crate::process::Process;
use crate::retry::RetryPause;
use crate::state_table::StateTable;
use crate::work_item::LiveLeases;
use crate::work_pool::WorkPool;
use crate::worker::Worker;
use crate::yielding::{LiveTraffic, Yielding};
use crate::{Reindex, ReindexError, ReindexHost, RowLetter, Touch};

/// The parts of a [`Reindexer`].
#[derive(Clone)]
pub struct ReindexSetup {
    /// The database with the rows.
    pub database: Arc<dyn Database>,
    /// The database with the state of reindexes.
    pub state: Arc<dyn Database>,
    /// In which table.
    pub state_table: String,
    /// The clock of leases, budgets and waits.
    pub clock: Arc<dyn Clock>,
    /// How rows are touched.
    pub touch: Arc<dyn Touch>,
    /// The targets of rows, and the models.
    pub host: Arc<dyn ReindexHost>,
    /// The measure of live traffic; without one, slow answers indicate it.
    pub traffic: Option<Arc<dyn LiveTraffic>>,
    /// How long a worker without a sign of life keeps its work item.
    pub lease: Duration,
    /// The pause of a row after its first failed attempt; each further pause is twice as long.
    pub first_pause: Duration,
    /// The longest wait.
    pub longest_pause: Duration,
}

impl ReindexSetup {
    /// The state table in the embedded engine.
    pub const OWN_TABLE: &str = "_trestle.reindex";
    /// The state table at an endpoint, by default.
    pub const REMOTE_TABLE: &str = "trestle-reindex";
    /// How long a worker without a sign of life keeps its work item, by default.
    pub const LEASE: Duration = Duration::from_secs(30);
    /// The first pause of a row, by default.
    pub const FIRST_PAUSE: Duration = Duration::from_millis(50);
    /// The longest pause, by default.
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(5);
}

/// The reindexes of a database. A clone is cheap and another handle to the same ones.
#[derive(Clone)]
pub struct Reindexer {
    pub(crate) setup: Arc<ReindexSetup>,
    pub(crate) state: Arc<StateTable>,
    /// The prefix of the names of processes that can be working now, if known.
    opening: Option<Arc<str>>,
}

impl Reindexer {
    /// The reindexes in this state table.
    #[must_use]
    pub fn new(setup: ReindexSetup) -> Self {
        let state = StateTable::new(Arc::clone(&setup.state), setup.state_table.clone());
        Self {
            setup: Arc::new(setup),
            state: Arc::new(state),
            opening: None,
        }
    }

    /// The same for a database that only one process at a time can have open. `opening` is the unique name of
    /// this opening: leases of others are invalid, because their processes have ended.
    #[must_use]
    pub fn of_opening(self, opening: impl Into<Arc<str>>) -> Self {
        Self {
            opening: Some(opening.into()),
            ..self
        }
    }

    /// The leases that hold now.
    pub(crate) fn live_leases(&self) -> LiveLeases {
        LiveLeases {
            now: self.setup.clock.now(),
            opening: self.opening.clone(),
        }
    }

    /// Wakes the workers of this process to check for changes.
    pub(crate) fn wake(&self) {
        self.setup.clock.signal().ring();
    }

    /// Works on a reindex in this process until it is done, paused or cancelled. Any number of processes can
    /// do so at the same time. Dropping the future stops the workers; others take over their work items when
    /// the leases end.
    pub async fn work(&self, name: &str) -> Result<Reindex, ReindexError> {
        let job = self.ready(name).await?;
        if job.state != ReindexState::Running {
            return Ok(job);
        }
        let process = Arc::new(self.process(&job)?);
        self.note_work(name).await?;
        process.be_known(&job).await?;
        let mut workers = JoinSet::new();
        for number in 0..job.workers.max(1) as usize {
            let process = Arc::clone(&process);
            let worker = Worker {
                process,
                number,
                progress: Mutex::default(),
            };
            workers.spawn(async move { worker.run().await });
        }
        let worked = tokio::select! {
            worked = all(workers) => worked,
            error = process.keep_known(&job) => Err(error.into()),
        };
        process.leave().await?;
        worked?;
        Ok(self.state.job(name).await?.job)
    }

    fn process(&self, job: &Reindex) -> Result<Process, ReindexError> {
        let setup = &self.setup;
        let handler = match &job.mode {
            ReindexMode::Touch { .. } => Handler::Touch(Arc::clone(&setup.touch)),
            ReindexMode::Send { route } => {
                let sender = setup.host.sender(route).map_err(ReindexError::Refused)?;
                Handler::Send(Arc::new(sender))
            }
        };
        Ok(Process {
            id: format!("{}{}", self.opening.as_deref().unwrap_or_default(), ids::uuid()),
            name: job.name.clone(),
            database: Arc::clone(&setup.database),
            state: Arc::clone(&self.state),
            clock: Arc::clone(&setup.clock),
            handler,
            typer: self.typer(job)?,
            reads: Units::new(Arc::clone(&setup.clock), job.budget.read_units),
            writes: Units::new(Arc::clone(&setup.clock), job.budget.write_units),
            yielding: Yielding::new(job.budget.yields, setup.traffic.clone()),
            pause: RetryPause {
                clock: Arc::clone(&setup.clock),
                first: setup.first_pause,
                longest: setup.longest_pause,
            },
            lease: setup.lease,
            opening: self.opening.clone(),
            pool: WorkPool::default(),
        })
    }

    /// Distinguishes the entities of rows, if the scope needs it.
    pub(crate) fn typer(&self, job: &Reindex) -> Result<Option<Arc<dyn Typer>>, ReindexError> {
        let Some(filter) = &job.entities else {
            return Ok(None);
        };
        if let Some(typer) = self.setup.host.typer() {
            return Ok(Some(typer));
        }
        let model = trestle_model::load(&filter.model).model;
        let model = model
            .ok_or_else(|| ReindexError::defect("the model that a reindex was started with does not load"))?;
        Ok(Some(Arc::new(ModelTyper::new([Arc::new(model)]))))
    }

    /// The model of a table, if known here.
    #[must_use]
    pub fn model(&self, table: &str) -> Option<Arc<Model>> {
        self.setup.host.model(table).map(|(model, _)| model)
    }

    /// A reindex.
    pub async fn get(&self, name: &str) -> Result<Reindex, ReindexError> {
        Ok(self.state.job(name).await?.job)
    }

    /// All reindexes, by name.
    pub async fn list(&self) -> Result<Vec<Reindex>, ReindexError> {
        Ok(self.state.jobs().await?)
    }

    /// Some of them, after a name, and the name after which the next ones are.
    pub async fn list_page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<Reindex>, Option<String>), ReindexError> {
        Ok(self.state.jobs_page(after, Some(limit)).await?)
    }

    /// The one that holds a table: it is being started, running or paused, and no other can be started there.
    pub async fn of_table(&self, table: &str) -> Result<Option<Reindex>, ReindexError> {
        let jobs = self.state.jobs_on_tables().await?;
        let has_it = |job: &Reindex| job.table == table && !job.state.is_over();
        Ok(jobs.into_iter().find(has_it))
    }

    /// Those that workers process: at most one per table.
    pub async fn running(&self) -> Result<Vec<Reindex>, ReindexError> {
        let jobs = self.state.jobs_on_tables().await?;
        let is_running = |job: &Reindex| job.state == ReindexState::Running;
        Ok(jobs.into_iter().filter(is_running).collect())
    }

    /// Pauses a reindex; its workers stop after their current pages.
    pub async fn pause(&self, name: &str) -> Result<Reindex, ReindexError> {
        self.steer(name, ReindexState::Paused).await
    }

    /// Resumes a paused reindex. A process must be working on it.
    pub async fn resume(&self, name: &str) -> Result<Reindex, ReindexError> {
        self.steer(name, ReindexState::Running).await
    }

    async fn steer(&self, name: &str, to: ReindexState) -> Result<Reindex, ReindexError> {
        let change = |job: &mut Reindex| {
            if !matches!(job.state, ReindexState::Running | ReindexState::Paused) {
                return Err(ReindexError::refused(format!(
                    "reindex {name} is {}; start another one",
                    job.state.name()
                )));
            }
            Ok(std::mem::replace(&mut job.state, to) != to)
        };
        let job = self.state.change_job(name, change).await?;
        self.wake();
        Ok(job)
    }

    /// Cancels a reindex. Finished rows stay.
    pub async fn cancel(&self, name: &str) -> Result<Reindex, ReindexError> {
        let now = self.setup.clock.now().as_millis();
        let change = |job: &mut Reindex| {
            if job.state == ReindexState::Done {
                return Err(ReindexError::refused(format!("reindex {name} is done already")));
            }
            job.ended_at.get_or_insert(now);
            Ok(std::mem::replace(&mut job.state, ReindexState::Cancelled) != ReindexState::Cancelled)
        };
        let job = self.state.change_job(name, change).await?;
        self.state.give_table_back(&job).await?;
        self.wake();
        Ok(job)
    }

    /// A page of the dead letters, and where the next page begins.
    pub async fn dead_letters(
        &self,
        name: &str,
        after: Option<&str>,
    ) -> Result<(Vec<RowLetter>, Option<String>), ReindexError> {
        self.dead_letters_page(name, after, None).await
    }

    /// The same with at most so many rows.
    pub async fn dead_letters_page(
        &self,
        name: &str,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(Vec<RowLetter>, Option<String>), ReindexError> {
        self.get(name).await?;
        Ok(self.state.letters(name, after, limit).await?)
    }

    /// Drops the dead letters; returns their number.
    pub async fn drop_dead_letters(&self, name: &str) -> Result<u64, ReindexError> {
        let mut dropped = 0;
        loop {
            let (letters, _) = self.dead_letters(name, None).await?;
            if letters.is_empty() {
                return Ok(dropped);
            }
            for letter in &letters {
                self.state.drop_letter(name, &letter.key).await?;
                dropped += 1;
            }
        }
    }
}

/// Waits for all workers. The first error stops them all.
async fn all(mut workers: JoinSet<Result<(), ReindexError>>) -> Result<(), ReindexError> {
    while let Some(ended) = workers.join_next().await {
        ended.map_err(|error| Error::defect(format!("a worker of a reindex ended: {error}")))??;
    }
    Ok(())
}
