//! The parts of an open database that close last: background work, models and the engine.

use std::sync::Arc;

use parking_lot::Mutex;
use trestle_engine::{CloseError, Engine, Upkeep};
use trestle_env::ids;

use crate::migration_log;
use crate::{Background, OpenError};
use trestle_models::{Models, Sweeper};

/// An engine with its models and background work. Fields are dropped in this order: first the sweeper ends,
/// then the janitor, then the committer.
pub(crate) struct Opened {
    sweeper: Mutex<Option<Sweeper>>,
    pub(crate) models: Arc<Models>,
    pub(crate) engine: Engine,
    /// Identifies this opening of the database.
    pub(crate) opening: String,
}

impl Opened {
    pub(crate) fn new(engine: Engine, models: Arc<Models>) -> Self {
        Self {
            sweeper: Mutex::new(None),
            models,
            engine,
            opening: format!("{}.", ids::uuid()),
        }
    }

    /// Enforces the models, then starts background work.
    pub(crate) fn begin(&self, background: Background) -> Result<(), OpenError> {
        self.models.enforce()?;
        self.keep_up(background)
    }

    /// Starts background work. *Invariant*: [`Background::Everything`] only once the models are enforced.
    pub(crate) fn keep_up(&self, background: Background) -> Result<(), OpenError> {
        match background {
            Background::Nothing => {}
            Background::Tables => self.engine.start_janitor(Upkeep::Tables)?,
            Background::Everything => {
                self.engine.start_janitor(Upkeep::Everything)?;
                self.sweep()?;
            }
        }
        Ok(())
    }

    /// Continues migrations that are under way, and later ones.
    fn sweep(&self) -> std::io::Result<()> {
        let mut sweeper = self.sweeper.lock();
        if sweeper.is_none() {
            migration_log::under_way(&self.models);
            *sweeper = Some(Sweeper::start(Arc::clone(&self.models), migration_log::changed)?);
        }
        Ok(())
    }

    /// Ends background work, then the engine.
    pub(crate) fn close(&self) -> Result<(), CloseError> {
        drop(self.sweeper.lock().take());
        self.engine.close()
    }
}
