//! The step with a migration: the keys of orders change while they are read and written through both gateways.

use super::steps::{Hitch, Stage, delete, of, order, put, row, rows, set};
use serde_json::json;
use std::time::Duration;
use trestle_api::OperationName;
use trestle_binding::{MigrationPlan, MigrationState, Rate};
use trestle_embedded::{StartOptions, Unwatched};
use trestle_item::AttributeValue;

/// The maximum time until a hundred rows have moved and both gateways have read that state.
const MOVED_MAX: Duration = Duration::from_secs(60);
/// The model.
const NAME: &str = "check";
const FORMER: &str = "order#";
const OWN: &str = "sale#";

pub(super) fn migrations(stage: &Stage) -> Result<(), Hitch> {
    let text = stage.text.replace(FORMER, OWN);
    let models = stage.embedded.models();
    started(&models.start_migration(&text, StartOptions::default(), &mut Unwatched)?)?;
    models.sweep(None, &mut |_| true)?;
    let [first, second] = &stage.gateways;
    let paused = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    started(&second.models().start_migration(&text, paused, &mut Unwatched)?)?;
    if former_rows(stage)? == 0 {
        return Err(Hitch::Failed("no row lies under its former key".to_owned()));
    }
    // Some of these rows are still under their former keys. These writes move them.
    let one = |number: usize| row("order", &[("order", &number.to_string())]);
    stage.all([
        of(
            OperationName::GetItem,
            json!({"Key": one(100), "ConsistentRead": true}),
        )?,
        set(one(101), "price", json!({"N": "9"}))?,
        delete(one(102))?,
        put(order(103, "south"))?,
        put(order(400, "north"))?,
        of(
            OperationName::GetItem,
            json!({"Key": one(101), "ConsistentRead": true}),
        )?,
        delete(one(400))?,
    ])?;
    first.models().resume_migration(None, Some(Rate::UNLIMITED))?;
    await_state(stage, MigrationState::Verified)?;
    if former_rows(stage)? != 0 {
        return Err(Hitch::Failed("a row was left under its former key".to_owned()));
    }
    second.models().finish_migration(None)?;
    models.finish_migration(None)?;
    await_state(stage, MigrationState::Done)?;
    stage.all([set(one(104), "price", json!({"N": "8"}))?, delete(one(105))?])?;
    match stage.is_exact()? {
        true => Ok(()),
        false => Err(Hitch::Failed(
            "an audit finds faults after the migration".to_owned(),
        )),
    }
}

fn started(plan: &MigrationPlan) -> Result<(), Hitch> {
    match plan.is_refused() {
        true => Err(Hitch::Failed(plan.to_string())),
        false => Ok(()),
    }
}

/// Waits until both gateways report this state of the migration.
fn await_state(stage: &Stage, state: MigrationState) -> Result<(), Hitch> {
    let what = format!("the migration was not {state:?} at both gateways");
    stage.wait_until(MOVED_MAX, &what, || {
        let mut is_so = true;
        for gateway in &stage.gateways {
            is_so &= gateway.models().migration_status(Some(NAME))?.state == state;
        }
        Ok(is_so)
    })
}

/// The number of rows of the table that are under former keys.
fn former_rows(stage: &Stage) -> Result<usize, Hitch> {
    let rows = rows(&*stage.scratch)?;
    let keys = rows
        .iter()
        .filter_map(|row| row.get("pk").and_then(AttributeValue::as_s));
    Ok(keys.filter(|pk| pk.starts_with(FORMER)).count())
}
