//! Whoever is asked about migrations in this process: the server's admin call, and commands on a directory.

use super::call::refused;
use crate::model::keeper::{Keeper, Log};
use serde_json::json;
use trestle_binding::{BindError, MigrationPlan, MigrationStatus, Rate};
use trestle_embedded::{PlanOptions, StartOptions, Watcher};
use trestle_model::Problem;
use trestle_server::{MigrationCall, MigrationFigures, MigrationKeeper, ModelAnswer};

impl Keeper {
    /// Answers while somebody watches.
    pub(crate) fn migrate_watched(&self, call: MigrationCall, watcher: &mut dyn Watcher) -> ModelAnswer {
        let answered = match call {
            MigrationCall::Status { name: None } => Ok(ModelAnswer::Done(
                json!({ "migrations": self.models().migrations() }).to_string(),
            )),
            MigrationCall::Status { name } => self
                .models()
                .migration_status(name.as_deref())
                .map(|status| ModelAnswer::Done(json!({ "migrations": [status] }).to_string())),
            MigrationCall::Plan {
                text,
                dry_run,
                delete_indexes,
            } => {
                let options = PlanOptions {
                    dry_run,
                    delete_indexes,
                };
                let plan = self.models().plan_migration(&text, options, watcher);
                plan.map(|plan| planned(&plan))
            }
            MigrationCall::Start {
                text,
                rate,
                finish,
                paused,
                delete_indexes,
            } => {
                let rate = match rate.map_or(Ok(Rate::default()), |rate| rate.parse()) {
                    Ok(rate) => rate,
                    Err(error) => return ModelAnswer::Failed(format!("rate: {error}")),
                };
                let options = StartOptions {
                    rate,
                    finish,
                    paused,
                    delete_indexes,
                };
                let text = text.map_or_else(|| self.models().planned_model(None), Ok);
                let plan = text.and_then(|text| self.models().start_migration(&text, options, watcher));
                plan.map(|plan| planned(&plan))
            }
            MigrationCall::Pause { name } => self.models().pause_migration(name.as_deref()).map(status),
            MigrationCall::Resume { name, rate } => {
                let rate = match rate.map(|rate| rate.parse()).transpose() {
                    Ok(rate) => rate,
                    Err(error) => return ModelAnswer::Failed(format!("rate: {error}")),
                };
                self.models().resume_migration(name.as_deref(), rate).map(status)
            }
            MigrationCall::Finish { name } => self.models().finish_migration(name.as_deref()).map(status),
            MigrationCall::Rollback { name } => self.roll_back(name.as_deref(), watcher),
        };
        answered.unwrap_or_else(|error| failed(&error))
    }

    fn roll_back(&self, name: Option<&str>, watcher: &mut dyn Watcher) -> Result<ModelAnswer, BindError> {
        let model = self.models().migration_status(name)?.model;
        Ok(match self.models().roll_back_migration(name, watcher)? {
            Some(plan) => planned(&plan),
            None => status(self.models().migration_status(Some(&model))?),
        })
    }
}

impl MigrationKeeper for Keeper {
    fn answer(&self, call: MigrationCall) -> ModelAnswer {
        self.migrate_watched(call, &mut Log)
    }

    fn figures(&self) -> Vec<MigrationFigures> {
        let migrations = self.models().migrations().into_iter();
        migrations
            .map(|status| MigrationFigures {
                model: status.model,
                state: status.state.as_str(),
                rows_moved: status.rows_moved,
                rows_remaining: status.rows_remaining,
                rows_stuck: status.stuck.rows,
                double_reads: status.double_reads,
            })
            .collect()
    }
}

fn planned(plan: &MigrationPlan) -> ModelAnswer {
    let json = json!(plan).to_string();
    if plan.is_refused() {
        ModelAnswer::Refused(json)
    } else {
        ModelAnswer::Done(json)
    }
}

fn status(status: MigrationStatus) -> ModelAnswer {
    ModelAnswer::Done(json!({ "migrations": [status] }).to_string())
}

fn failed(error: &BindError) -> ModelAnswer {
    match error {
        BindError::Unsound(problems) => {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            ModelAnswer::Unsound(lines.join("\n"))
        }
        BindError::NoModel { .. } | BindError::NoMigration { .. } => ModelAnswer::Unknown(error.to_string()),
        BindError::OnTheMove { .. } | BindError::NothingMoves { .. } | BindError::NotNow { .. } => {
            ModelAnswer::Refused(refused(error))
        }
        other => ModelAnswer::Failed(other.to_string()),
    }
}
