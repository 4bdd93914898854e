//! Calls about models and migrations, on a database in this process.

use super::collections;
use trestle_admin::{
    AccessRequest, AdminAnswer, AdminCall, AdminError, ExplainAccess, MigrationList, ModelDescriptions,
    ModelList, ModelRemoved, ModelText, RollBackMigration, RolledBack, StartMigration,
};
use trestle_binding::{MigrationPlan, ModelSummary, Rate, Report, Step};
use trestle_collection::parameters;
use trestle_embedded::{ApplyOptions, Models, PlanOptions, RepairOptions, StartOptions, Watcher};
use trestle_wire::encode_request;

/// Answers a call, and reports progress to `watcher`. Other calls need a running server.
pub(crate) fn answer(
    models: &Models,
    call: AdminCall,
    watcher: &mut dyn Watcher,
) -> Result<AdminAnswer, AdminError> {
    Ok(match call {
        AdminCall::ListModels(_) => AdminAnswer::ListModels(ModelList {
            models: models.list(),
        }),
        AdminCall::ReadModel(call) => AdminAnswer::ReadModel(ModelText {
            text: models.text(&call.name)?,
            name: call.name,
        }),
        AdminCall::DescribeModels(_) => AdminAnswer::DescribeModels(describe(models)?),
        AdminCall::ExplainAccess(call) => AdminAnswer::ExplainAccess(explain(models, call)?),
        AdminCall::ApplyModel(call) => {
            let options = ApplyOptions {
                dry_run: call.dry_run,
                fill: call.fill,
                delete_indexes: call.delete_indexes,
                adopt: call.adopt,
            };
            AdminAnswer::ApplyModel(unless_refused(models.apply(&call.text, options, watcher)?)?)
        }
        AdminCall::RepairModels(call) => {
            let options = RepairOptions {
                model: call.name,
                dry_run: call.dry_run,
            };
            let report = models.repair(&options, watcher)?;
            tracing::info!("model repair: {}", report.to_string().trim_end());
            AdminAnswer::RepairModels(report)
        }
        AdminCall::RemoveModel(call) => {
            models.remove(&call.name)?;
            AdminAnswer::RemoveModel(ModelRemoved { removed: call.name })
        }
        AdminCall::ListMigrations(call) => AdminAnswer::ListMigrations(MigrationList {
            migrations: match call.name {
                Some(name) => vec![models.migration_status(Some(&name))?],
                None => models.migrations(),
            },
        }),
        AdminCall::PlanMigration(call) => {
            let options = PlanOptions {
                dry_run: call.dry_run,
                delete_indexes: call.delete_indexes,
            };
            let plan = models.plan_migration(&call.text, options, watcher)?;
            AdminAnswer::PlanMigration(unless_impossible(plan)?)
        }
        AdminCall::StartMigration(call) => AdminAnswer::StartMigration(start(models, call, watcher)?),
        AdminCall::PauseMigration(call) => {
            AdminAnswer::PauseMigration(models.pause_migration(call.name.as_deref())?)
        }
        AdminCall::ResumeMigration(call) => {
            let rate = call.rate.as_deref().map(rate).transpose()?;
            AdminAnswer::ResumeMigration(models.resume_migration(call.name.as_deref(), rate)?)
        }
        AdminCall::FinishMigration(call) => {
            AdminAnswer::FinishMigration(models.finish_migration(call.name.as_deref())?)
        }
        AdminCall::RollBackMigration(call) => {
            AdminAnswer::RollBackMigration(roll_back(models, &call, watcher)?)
        }
        other => {
            return Err(AdminError::not_found(format!(
                "{} needs a running server: start one with `trestle serve`",
                other.info().name
            )));
        }
    })
}

fn describe(models: &Models) -> Result<ModelDescriptions, AdminError> {
    let describe = |summary: ModelSummary| {
        let model = models.model(&summary.name)?;
        serde_json::to_value(model.describe()).map_err(AdminError::failed)
    };
    let models = models.list().into_iter().map(describe);
    Ok(ModelDescriptions {
        models: models.collect::<Result<_, AdminError>>()?,
    })
}

fn explain(models: &Models, call: ExplainAccess) -> Result<AccessRequest, AdminError> {
    let model = models.model(&call.model)?;
    let given = collections::values(call.parameters)?;
    let given = parameters(&model, &call.access, given).map_err(collections::failure)?;
    let pattern = model.access(&call.access);
    let pattern = pattern
        .ok_or_else(|| AdminError::not_found(format!("there is no access pattern {}", call.access)))?;
    let bound = pattern.bind(&given);
    let request = bound
        .map_err(|refusal| AdminError::invalid(refusal.to_string()))?
        .into_request();
    Ok(AccessRequest {
        operation: request.operation().as_str().to_owned(),
        request: serde_json::from_slice(&encode_request(&request)).map_err(AdminError::failed)?,
    })
}

fn start(
    models: &Models,
    call: StartMigration,
    watcher: &mut dyn Watcher,
) -> Result<MigrationPlan, AdminError> {
    let options = StartOptions {
        rate: call.rate.as_deref().map(rate).transpose()?.unwrap_or_default(),
        finish: call.finish,
        paused: call.paused,
        delete_indexes: call.delete_indexes,
    };
    let text = call.text.map_or_else(|| models.planned_model(None), Ok)?;
    unless_impossible(models.start_migration(&text, options, watcher)?)
}

fn roll_back(
    models: &Models,
    call: &RollBackMigration,
    watcher: &mut dyn Watcher,
) -> Result<RolledBack, AdminError> {
    let name = call.name.as_deref();
    let model = models.migration_status(name)?.model;
    let plan = models.roll_back_migration(name, watcher)?;
    let plan = plan.map(unless_impossible).transpose()?;
    Ok(RolledBack {
        status: models.migration_status(Some(&model))?,
        plan: plan.map(Box::new),
    })
}

fn rate(text: &str) -> Result<Rate, AdminError> {
    text.parse()
        .map_err(|error| AdminError::invalid(format!("rate: {error}")))
}

fn unless_refused(report: Report) -> Result<Report, AdminError> {
    if !report.is_refused() {
        return Ok(report);
    }
    let message = format!("model {} was refused; nothing was changed", report.model);
    Err(AdminError::refused(message, &report))
}

fn unless_impossible(plan: MigrationPlan) -> Result<MigrationPlan, AdminError> {
    if !plan.is_refused() {
        return Ok(plan);
    }
    let what = if plan.back { "going back" } else { "the migration" };
    let message = format!(
        "{what} of model {} was refused; nothing was changed",
        plan.report.model
    );
    Err(AdminError::refused(message, &plan))
}

/// Reports progress in the log.
pub(crate) struct Log;

impl Watcher for Log {
    fn step(&mut self, step: &Step) {
        tracing::info!("model: {step}");
    }

    fn rows(&mut self, doing: &'static str, table: &str, rows: u64) {
        tracing::trace!("model: {doing} of {table}: {rows}");
    }
}
