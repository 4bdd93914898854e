//! Changes the key layout without downtime.
//!
//! A version of a model with other keys than the applied one needs a migration. It takes effect at once: reads find rows under their old
//! or new keys, a write moves its row, and the database moves the other rows in the background. Generated clients have `migrate_to`.
//! Call it instead of `apply_to` whenever the program starts: it begins the migration, continues it, or has nothing to do.
//!
//! ```
//! use trestle::migrate::{MigrationState, Rate, StartOptions};
//! use trestle::typed::Timestamp;
//! use trestle::{Embedded, Options, Wait};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! mod shop_2 {
//!     // Orders have partitions of their own: pk is "orders/{customer}".
//!     trestle::model!("examples/shop-2.toml");
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Embedded::in_memory(Options::default())?;
//! let before = shop::Shop::apply_to(&database)?;
//! for number in 1..=100 {
//!     let placed = Timestamp::parse("2024-05-01T08:00:00.000Z")?;
//!     before.put(&shop::NewOrder { customer: "ada".into(), number, placed, cents: 1250 }).wait()?;
//! }
//!
//! // The next version of the program starts.
//! let options = StartOptions { rate: Rate::UNLIMITED, ..StartOptions::default() };
//! let (db, migration) = shop_2::Shop::migrate_to(&database, options)?;
//! assert_eq!(db.orders_of_customer("ada").collect().wait()?.len(), 100);
//!
//! let status = migration.wait()?;
//! assert_eq!((status.state, status.rows_moved), (MigrationState::Verified, 100));
//! // No program of the previous version is left: its keys are no longer needed.
//! migration.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! The guide is `docs/migrate/migrations.md`. All other calls about migrations are at [`WithModels::models`].

use trestle_binding::BindError;
use trestle_models::Models;
use trestle_typed::Model;

use crate::{ApplyError, WithModels};

pub use trestle_binding::{MigrationPlan, MigrationState, MigrationStatus, Rate};
pub use trestle_models::{PlanOptions, StartOptions};

/// Why a program's version of a model is not in effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// No row has to move, but the model could not be applied.
    #[error(transparent)]
    Apply(ApplyError),
    /// The migration was refused; nothing was changed.
    #[error("{0}")]
    Refused(Box<MigrationPlan>),
    /// The model cannot be bound to the database, or not at the moment.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl MigrateError {
    pub(crate) fn of_apply(error: ApplyError) -> Self {
        match error {
            ApplyError::Bind(error) => MigrateError::Bind(error),
            refused => MigrateError::Apply(refused),
        }
    }
}

/// Puts the program's version of a model into effect at once (`migrate_to` of generated clients). Rows move in the
/// background as long as the database is open. If no row has to move, the model is applied as `apply_to` does. Calling it
/// again continues the migration.
pub fn to<M: Model, D: WithModels>(db: &D, options: StartOptions) -> Result<Migration<D>, MigrateError> {
    db.migrate_model(M::definition().text(), options)?;
    Ok(Migration {
        db: db.clone(),
        model: M::definition().name().to_owned(),
    })
}

/// What a migration to the program's version of a model would do, or what prevents it. Changes nothing.
pub fn plan<M: Model>(db: &impl WithModels) -> Result<MigrationPlan, BindError> {
    db.plan_migration(M::definition().text())
}

/// A request to a migration under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationStep {
    /// Its state and progress.
    Look,
    /// Waiting until the sweep has ended. Rows move on this thread, too, if this process has the models.
    Sweep,
    /// Pausing the sweep; rows that are written still move.
    Pause,
    /// Resuming the sweep, at another rate if one is given.
    Resume(Option<Rate>),
    /// Finishing the migration, once it is verified.
    Finish,
}

impl MigrationStep {
    /// Carries out the step with the models of this process.
    pub(crate) fn with(self, models: &Models, model: &str) -> Result<MigrationStatus, BindError> {
        let name = Some(model);
        match self {
            MigrationStep::Look => models.migration_status(name),
            MigrationStep::Sweep => models.sweep(name, &mut |_| true),
            MigrationStep::Pause => models.pause_migration(name),
            MigrationStep::Resume(rate) => models.resume_migration(name, rate),
            MigrationStep::Finish => models.finish_migration(name),
        }
    }
}

/// The migration of one model. Rows move as long as the database is open, also when this is dropped.
#[derive(Clone, Debug)]
pub struct Migration<D> {
    db: D,
    model: String,
}

impl<D: WithModels> Migration<D> {
    /// Its state and progress; `None` if no row ever had to move.
    #[must_use]
    pub fn status(&self) -> Option<MigrationStatus> {
        self.step(MigrationStep::Look).ok()
    }

    /// Moves rows on this thread, too, and waits until all rows have moved, the migration is paused, or the remaining rows
    /// cannot move.
    pub fn wait(&self) -> Result<MigrationStatus, BindError> {
        self.step(MigrationStep::Sweep)
    }

    /// Pauses the sweep; rows that are written still move.
    pub fn pause(&self) -> Result<MigrationStatus, BindError> {
        self.step(MigrationStep::Pause)
    }

    /// Resumes the sweep, at another rate if one is given.
    pub fn resume(&self, rate: Option<Rate>) -> Result<MigrationStatus, BindError> {
        self.step(MigrationStep::Resume(rate))
    }

    /// Ends the migration once it is verified: keys of the previous version are no longer understood, and a rollback is no longer
    /// possible.
    pub fn finish(&self) -> Result<MigrationStatus, BindError> {
        self.step(MigrationStep::Finish)
    }

    /// Rolls back to the previous version, which takes effect at once; an error names the rows that it could not hold.
    pub fn roll_back(&self) -> Result<Option<MigrationPlan>, BindError> {
        self.db.roll_back_migration(&self.model)
    }

    fn step(&self, step: MigrationStep) -> Result<MigrationStatus, BindError> {
        self.db.step_migration(&self.model, step)
    }
}
