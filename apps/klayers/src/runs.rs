//! Runs on record: one at a time, by command, and inside a server by schedule and by call.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::task::JoinSet;
use trestle::typed::{EpochSeconds, Timestamp};
use trestle::{AttributeValue, Database};

use crate::{App, Error, Files, Force, Progress, Summary};

/// The rows of runs, made from `runs.toml`.
#[allow(missing_docs, reason = "the model file describes them")]
pub mod model {
    trestle::model!("runs.toml");
}
use model::{NewRun, Run};

/// The table of runs, on any database.
pub type RunsDb = model::Runs<Arc<dyn Database>>;

/// How long a run is remembered.
const KEPT: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);
/// Failures that are stored of a run, and runs that are shown.
const SHOWN: u32 = 20;
/// How often the schedule looks at the clock.
const LOOK: Duration = Duration::from_secs(1);

/// Runs of one process.
pub struct Runs {
    app: App,
    files: Files,
    db: RunsDb,
    every: Option<Duration>,
    /// Held by the run that is under way.
    turn: Arc<Mutex<()>>,
    current: watch::Sender<Option<(Timestamp, Progress)>>,
    tasks: std::sync::Mutex<JoinSet<()>>,
}

impl Runs {
    /// Runs of this application, with the lists of these files; by schedule, if there is one.
    #[must_use]
    pub fn new(app: App, files: Files, db: RunsDb, every: Option<Duration>) -> Arc<Self> {
        let runs = Arc::new(Self {
            app,
            files,
            db,
            every,
            turn: Arc::default(),
            current: watch::Sender::new(None),
            tasks: std::sync::Mutex::default(),
        });
        if let Some(every) = every {
            runs.tasks().spawn(Arc::clone(&runs).follow_schedule(every));
        }
        runs
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run, and says when it began; `None` if one is under way. The run is listed when this returns.
    pub async fn begin(self: &Arc<Self>, force: Force) -> Option<Timestamp> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok()?;
        let run = self.opened().await;
        let started = run.started.clone();
        self.tasks().spawn(Arc::clone(self).follow(run, force, turn));
        Some(started)
    }

    /// Runs once, to the end. Tells of every package.
    pub async fn run(&self, force: Force, tell: impl FnMut(&Progress)) -> Summary {
        let _turn = self.turn.lock().await;
        self.recorded(self.opened().await, force, tell).await
    }

    /// A run that begins now.
    async fn opened(&self) -> Run {
        let started = self.app.db.now();
        let run = Run {
            ex_dt: Some(EpochSeconds::from(started.moment().plus(KEPT))),
            ..NewRun { started }.into()
        };
        self.remember(&run).await;
        run
    }

    /// Ends what is under way. A run that is cut off is made up for by the next one.
    pub async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks());
        tasks.shutdown().await;
    }

    /// A run that was missed or cut off while no server was there begins at once.
    async fn follow_schedule(self: Arc<Self>, every: Duration) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.app.db.now().moment();
            match self.next(every).await.map(|next| next.moment() <= now) {
                // There is none to begin while one is under way.
                Ok(true) => drop(self.begin(Force::default()).await),
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "the schedule cannot read the last run"),
            }
        }
    }

    /// When the next run is due.
    async fn next(&self, every: Duration) -> Result<Timestamp, Error> {
        let newest = self.recent(1).await?.pop();
        Ok(match newest {
            Some(run) if run.ended.is_some() => run.started.moment().plus(every).into(),
            _ => Timestamp::from_millis(0),
        })
    }

    async fn recent(&self, most: u32) -> Result<Vec<Run>, Error> {
        Ok(self.db.runs().page_size(most).page().await?.rows)
    }

    /// A run in the background, of which the log and requests tell how far it is.
    async fn follow(self: Arc<Self>, run: Run, force: Force, turn: OwnedMutexGuard<()>) {
        let started = run.started.clone();
        let tell = |progress: &Progress| {
            tracing::info!(done = progress.done, of = progress.of, "{}", progress.package);
            let current = (started.clone(), progress.clone());
            self.current.send_replace(Some(current));
        };
        self.recorded(run, force, tell).await;
        self.current.send_replace(None);
        drop(turn);
    }

    /// Runs, and records what it came to.
    async fn recorded(&self, mut run: Run, force: Force, tell: impl FnMut(&Progress)) -> Summary {
        let done = match self.app.load_config(&self.files).await {
            Ok(_) => self.app.run(force, tell).await,
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
        run.failed = Some(failed.cloned().map(AttributeValue::S).collect());
        run.ended = Some(ended);
        self.remember(&run).await;
        done
    }

    /// The run counts, whether or not it can be remembered.
    async fn remember(&self, run: &Run) {
        if let Err(error) = self.db.put(run).await {
            tracing::error!(%error, "a run was not recorded");
        }
    }

    /// The run that is under way, those before, and when the next one is due.
    pub async fn shown(&self) -> Result<Value, Error> {
        let current = self.current.borrow().clone();
        let mut shown = json!({"runs": self.recent(SHOWN).await?});
        if let Some((started, progress)) = current {
            shown["current"] = json!(progress);
            shown["current"]["started"] = json!(started.as_str());
        }
        if let Some(every) = self.every {
            shown["next"] = json!(self.next(every).await?.as_str());
        }
        Ok(shown)
    }
}
