//! Databases that models can be applied to.

use std::sync::Arc;

use trestle_api::{Database, Error};
use trestle_binding::{BindError, MigrationPlan, MigrationStatus, Report};
#[cfg(feature = "embedded")]
use trestle_embedded::Embedded;
use trestle_env::Clock;
#[cfg(feature = "remote")]
use trestle_gateway::Gateway;
use trestle_models::{ApplyOptions, Models, PlanOptions, StartOptions, Unwatched};

use crate::ApplyError;
use crate::migrate::{MigrateError, MigrationStep};

/// A database that derives keys and executes effects: one in this process, or an endpoint behind a `Gateway` (with the
/// feature `remote`), or [`AnyDatabase`](crate::AnyDatabase). `apply_to` and `migrate_to` of generated clients accept any of them.
pub trait WithModels: Database + Clone + 'static {
    /// The models that are stored with the data; if a server stores them, the error says where.
    fn models(&self) -> Result<&Models, Error>;

    /// The clock that models use.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Calls a function with the models, which may wait for the endpoint. It blocks, also in a task of a runtime with one thread.
    fn with_models<T: Send>(&self, work: impl FnOnce(&Models) -> T + Send) -> Result<T, Error> {
        self.models().map(work)
    }

    /// Applies a model: tables, keys, checks and effects. It blocks.
    fn apply_model(&self, text: &str) -> Result<Report, ApplyError> {
        self.apply_model_with(text, ApplyOptions::default())
    }

    /// The same with options: for a dry run, or to fill in existing rows that lack what the model derives. It blocks.
    fn apply_model_with(&self, text: &str, options: ApplyOptions) -> Result<Report, ApplyError> {
        let applied = self.with_models(|models| models.apply(text, options, &mut Unwatched));
        let report = applied.map_err(BindError::from)??;
        match report.is_refused() {
            true => Err(ApplyError::Refused(Box::new(report))),
            false => Ok(report),
        }
    }

    /// Removes a model. Its tables and rows remain, and its rules are no longer enforced. It blocks.
    fn remove_model(&self, name: &str) -> Result<(), ApplyError> {
        let removed = self.with_models(|models| models.remove(name));
        Ok(removed.map_err(BindError::from)??)
    }

    /// The same as [`WithModels::apply_model`] for rows that may have keys of the previous version. They move in the background. It
    /// blocks.
    fn migrate_model(&self, text: &str, options: StartOptions) -> Result<(), MigrateError> {
        let started = self.with_models(|models| models.start_migration(text, options, &mut Unwatched));
        match started.map_err(BindError::from)? {
            Ok(plan) if plan.is_refused() => Err(MigrateError::Refused(Box::new(plan))),
            Ok(_) => Ok(()),
            Err(BindError::NoModel { .. } | BindError::NothingMoves { .. } | BindError::OnTheMove { .. }) => {
                self.apply_model(text).map(drop).map_err(MigrateError::of_apply)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What a migration to a version of a model would do, or what prevents it. Changes nothing. It blocks.
    fn plan_migration(&self, text: &str) -> Result<MigrationPlan, BindError> {
        let options = PlanOptions {
            dry_run: true,
            ..PlanOptions::default()
        };
        self.with_models(|models| models.plan_migration(text, options, &mut Unwatched))?
    }

    /// Carries out a step of the migration of a model, and returns its status afterwards. It blocks.
    fn step_migration(&self, model: &str, step: MigrationStep) -> Result<MigrationStatus, BindError> {
        self.with_models(|models| step.with(models, model))?
    }

    /// Rolls back the migration of a model. A refused plan names the rows that the previous version cannot hold. It blocks.
    fn roll_back_migration(&self, model: &str) -> Result<Option<MigrationPlan>, BindError> {
        self.with_models(|models| models.roll_back_migration(Some(model), &mut Unwatched))?
    }
}

#[cfg(feature = "embedded")]
impl WithModels for Embedded {
    fn models(&self) -> Result<&Models, Error> {
        Ok(Embedded::models(self))
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        Embedded::clock(self)
    }
}

#[cfg(feature = "remote")]
impl WithModels for Gateway {
    fn models(&self) -> Result<&Models, Error> {
        Ok(Gateway::models(self))
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        Gateway::models(self).clock()
    }

    fn with_models<T: Send>(&self, work: impl FnOnce(&Models) -> T + Send) -> Result<T, Error> {
        Ok(crate::blocking::blocking(|| work(Gateway::models(self))))
    }
}
