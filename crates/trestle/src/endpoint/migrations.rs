//! Migrations that a Trestle server or a gateway carries out: this process only sends administration calls.

use std::time::Duration;

use trestle_admin::{
    AdminError, FinishMigration, ListMigrations, PauseMigration, PlanMigration, ResumeMigration,
    RollBackMigration, StartMigration,
};
use trestle_api::Error;
use trestle_binding::{BindError, MigrationPlan, MigrationStatus, Rate};
use trestle_models::StartOptions;

use super::server::ModelServer;
use crate::migrate::{MigrateError, MigrationStep};

/// The time between two checks of a sweep.
const LOOK: Duration = Duration::from_millis(100);

impl ModelServer {
    /// Lets the server start a migration. It blocks, as all functions here.
    pub(super) fn start_migration(&self, text: &str, options: StartOptions) -> Result<(), MigrateError> {
        let call = StartMigration {
            text: Some(text.to_owned()),
            rate: Some(rate_text(options.rate)),
            finish: options.finish,
            paused: options.paused,
            delete_indexes: options.delete_indexes,
        };
        match self.ask(call) {
            Ok(_) => Ok(()),
            Err(error) => Err(match error.found() {
                Some(plan) => MigrateError::Refused(Box::new(plan)),
                None => failure(error).into(),
            }),
        }
    }

    /// The status of all migrations, or of that of one model.
    pub(super) fn migrations(&self, model: Option<&str>) -> Result<Vec<MigrationStatus>, BindError> {
        let name = model.map(str::to_owned);
        let list = self.ask(ListMigrations { name }).map_err(failure)?;
        Ok(list.migrations)
    }

    pub(super) fn plan_migration(&self, text: &str) -> Result<MigrationPlan, BindError> {
        let planned = self.ask(PlanMigration {
            text: text.to_owned(),
            dry_run: true,
            delete_indexes: false,
        });
        planned.or_else(|error| error.found().ok_or_else(|| failure(error)))
    }

    pub(super) fn step_migration(
        &self,
        model: &str,
        step: MigrationStep,
    ) -> Result<MigrationStatus, BindError> {
        let name = Some(model.to_owned());
        let asked = match step {
            MigrationStep::Look => return self.migration(model),
            MigrationStep::Sweep => return self.until_at_rest(model),
            MigrationStep::Pause => self.ask(PauseMigration { name }),
            MigrationStep::Resume(rate) => self.ask(ResumeMigration {
                name,
                rate: rate.map(rate_text),
            }),
            MigrationStep::Finish => self.ask(FinishMigration { name }),
        };
        asked.map_err(failure)
    }

    pub(super) fn roll_back_migration(&self, model: &str) -> Result<Option<MigrationPlan>, BindError> {
        let name = Some(model.to_owned());
        match self.ask(RollBackMigration { name }) {
            Ok(rolled_back) => Ok(rolled_back.plan.map(|plan| *plan)),
            Err(error) => error.found().map(Some).ok_or_else(|| failure(error)),
        }
    }

    fn migration(&self, model: &str) -> Result<MigrationStatus, BindError> {
        let first = self.migrations(Some(model))?.into_iter().next();
        first.ok_or_else(|| Error::internal(format!("the answer has no migration of model {model}")).into())
    }

    fn until_at_rest(&self, model: &str) -> Result<MigrationStatus, BindError> {
        loop {
            let status = self.migration(model)?;
            if status.is_at_rest() {
                return Ok(status);
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn failure(error: AdminError) -> BindError {
    Error::from(error).into()
}

/// The rate as the administration parses it.
fn rate_text(rate: Rate) -> String {
    match rate.limit() {
        Some(rows) => rows.to_string(),
        None => rate.to_string(),
    }
}
