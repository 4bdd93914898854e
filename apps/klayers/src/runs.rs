//! Recorded runs: one at a time, by command, and inside a server by schedule and by call.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use trestle::typed::{EpochSeconds, Timestamp};
use trestle::{AttributeValue, Database};

use crate::{App, Error, Files, Force, Progress, Summary};

/// The rows of runs, generated from `runs.toml`.
#[allow(missing_docs, reason = "the model file describes them")]
pub mod model {
    trestle::model!("runs.toml");
}
use model::{NewRun, Run};

/// The table of runs, on any database.
pub type RunsDb = model::Runs<Arc<dyn Database>>;

/// How long a run is kept.
const KEPT: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);
/// Failures that are stored of a run, and runs that are shown.
const SHOWN: u32 = 20;
/// The rest of an error is only in the log: the size of a row is limited, and a run that could not be
/// recorded would begin again.
const REASON_CHARS_MAX: usize = 1_000;
/// How often the schedule checks the clock.
const LOOK: Duration = Duration::from_secs(1);

/// Runs of one process.
pub struct Runs {
    pub(crate) app: App,
    pub(crate) files: Files,
    db: RunsDb,
    every: Option<Duration>,
    /// Held by the current run.
    turn: Arc<Mutex<()>>,
    current: watch::Sender<Option<(Timestamp, Progress)>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Runs {
    /// Runs of this application, with the lists of these files; by schedule, if there is one.
    #[must_use]
    pub fn new(app: App, files: Files, db: RunsDb, every: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            app,
            files,
            db,
            every,
            turn: Arc::default(),
            current: watch::Sender::new(None),
            tasks: Mutex::default(),
        })
    }

    /// Begins a run, and returns its start; `None` if one is in progress. The run is listed when this
    /// returns.
    pub async fn begin(self: &Arc<Self>, force: Force) -> Option<Timestamp> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        let run = self.opened(force).await;
        let (started, runs) = (run.started.clone(), Arc::clone(self));
        self.tasks.lock().await.spawn(async move {
            runs.recorded(run).await;
            drop(turn);
        });
        Some(started)
    }

    /// Runs once, to the end.
    pub async fn run(&self, force: Force) -> Summary {
        let _turn = self.turn.lock().await;
        self.recorded(self.opened(force).await).await
    }

    /// A run that begins now.
    async fn opened(&self, force: Force) -> Run {
        let started = self.app.db.now();
        let run = Run {
            ex_dt: Some(EpochSeconds::from(started.moment().plus(KEPT))),
            force_build: Some(force.force_build),
            force_deploy: Some(force.force_deploy),
            ..NewRun { started }.into()
        };
        self.remember(&run).await;
        run
    }

    /// Stops the current run. An interrupted run begins again at the next start.
    pub async fn stop(&self) {
        self.tasks.lock().await.shutdown().await;
    }

    /// Repeats an interrupted run, and starts those of the schedule.
    pub async fn start(self: &Arc<Self>) {
        let schedule = Arc::clone(self).follow_schedule();
        self.tasks.lock().await.spawn(schedule);
    }

    async fn follow_schedule(self: Arc<Self>) {
        loop {
            let now = self.app.db.now().moment();
            match self.next().await {
                // None can begin while one is in progress.
                Ok(Some((next, force))) if next.moment() <= now => drop(self.begin(force).await),
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => tracing::error!(%error, "the schedule cannot read the last run"),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// When the next run is due, and why: an interrupted run, or one missed while no server ran, is due
    /// immediately.
    async fn next(&self) -> Result<Option<(Timestamp, Force)>, Error> {
        let (newest, at_once) = (self.recent(1).await?.pop(), Timestamp::from_millis(0));
        let by_schedule = |at| Some((at, Force::default()));
        Ok(match (newest, self.every) {
            (Some(run), _) if run.ended.is_none() => Some((at_once, force_of(&run))),
            (Some(run), Some(every)) => by_schedule(run.started.moment().plus(every).into()),
            (None, Some(_)) => by_schedule(at_once),
            (_, None) => None,
        })
    }

    async fn recent(&self, most: u32) -> Result<Vec<Run>, Error> {
        Ok(self.db.runs().page_size(most).page().await?.rows)
    }

    /// Runs, and records the result. The log and requests show the progress.
    async fn recorded(&self, mut run: Run) -> Summary {
        let tell = |progress: &Progress| {
            if progress.done > 0 {
                tracing::info!(done = progress.done, of = progress.of, "{}", progress.package);
            }
            let current = (run.started.clone(), progress.clone());
            self.current.send_replace(Some(current));
        };
        let done = match self.app.load_config(&self.files).await {
            Ok(_) => self.app.run(force_of(&run), tell).await,
            Err(error) => Err(error),
        };
        let done = done.unwrap_or_else(|error| Summary {
            failed: vec![error.to_string()],
            ..Summary::default()
        });
        let (built, deployed, unchanged) = (done.built, done.deployed, done.unchanged);
        done.failed.iter().for_each(|failed| tracing::warn!("{failed}"));
        let (ended, failed) = (self.app.db.now(), done.failed.len());
        let took = ended.moment().since(run.started.moment());
        tracing::info!(built, deployed, unchanged, failed, ?took, "the run is over");
        (run.built, run.deployed, run.unchanged) = (built, deployed, unchanged);
        let failed = done.failed.iter().take(SHOWN as usize);
        let reason = |failed: &String| failed.chars().take(REASON_CHARS_MAX).collect();
        run.failed = Some(failed.map(reason).map(AttributeValue::S).collect());
        run.ended = Some(ended);
        self.remember(&run).await;
        self.current.send_replace(None);
        done
    }

    /// The run counts even if it cannot be recorded.
    async fn remember(&self, run: &Run) {
        if let Err(error) = self.db.put(run).await {
            tracing::error!(%error, "a run was not recorded");
        }
    }

    /// The current run, earlier ones, and when the next one is due.
    pub async fn shown(&self) -> Result<Value, Error> {
        let current = self.current.borrow().clone();
        let mut shown = json!({"runs": self.recent(SHOWN).await?});
        if let Some((started, progress)) = current {
            shown["current"] = json!(progress);
            shown["current"]["started"] = json!(started.as_str());
        } else if let Some((next, _)) = self.next().await? {
            shown["next"] = json!(next.as_str());
        }
        Ok(shown)
    }
}

fn force_of(run: &Run) -> Force {
    Force {
        force_build: run.force_build == Some(true),
        force_deploy: run.force_deploy == Some(true),
    }
}
