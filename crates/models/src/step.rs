//! Taking one permitted step at a time, and waiting until the table is ready for the next.

use std::time::Duration;

use trestle_api::{
    BillingMode, Database, DeleteGlobalSecondaryIndexAction, Error, ErrorKind, GlobalSecondaryIndexUpdate,
    IndexStatus, ProvisionedThroughput, TableDescription, TableStatus, TimeToLiveSpecification, UpdateTable,
    UpdateTimeToLive, Wait,
};
use trestle_binding::Step;
use trestle_binding::schema;
use trestle_model::{Model, Table};

use crate::call::call;
use crate::describe::describe;
use crate::watcher::{Unwatched, Watcher, go_on};
use crate::work::planned_table;
use crate::write_isolation::isolate;

const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// Building an index of a large table takes long; a table that never becomes ready must not take forever.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Takes one step of a plan. Other steps than those of tables are taken elsewhere.
pub(crate) fn take(database: &dyn Database, model: &Model, step: &Step) -> Result<(), Error> {
    let (name, request) = match step {
        Step::StoreModel { .. } | Step::FillIn { .. } | Step::MoveRows { .. } => return Ok(()),
        Step::CreateTable { table } => {
            let wanted = planned_table(model, table)?;
            let created = call(database, schema::create_table(wanted))?;
            isolate(database, &created.table_description.table_arn).wait()?;
            return wait(database, table);
        }
        Step::EnableTimeToLive { table, attribute } => {
            wait(database, table)?;
            let request = UpdateTimeToLive {
                table_name: table.clone(),
                time_to_live_specification: TimeToLiveSpecification {
                    enabled: true,
                    attribute_name: attribute.clone(),
                },
            };
            call(database, request)?;
            return wait(database, table);
        }
        Step::CreateIndex { table, index } => (table, create_index(database, model, table, index)?),
        Step::DeleteIndex { table, index } => (table, delete_index(table, index)),
        Step::EnableStream { table, .. } => (table, enable_stream(planned_table(model, table)?)),
    };
    wait(database, name)?;
    call(database, request)?;
    wait(database, name)
}

fn create_index(
    database: &dyn Database,
    model: &Model,
    table: &str,
    index: &str,
) -> Result<UpdateTable, Error> {
    let found = planned_table(model, table)?.index(index);
    let index = found.ok_or_else(|| Error::defect(format_args!("the plan has an unknown index {index}")))?;
    let throughput = describe(database, table)?.and_then(|there| reserved(&there));
    Ok(UpdateTable {
        table_name: table.to_owned(),
        attribute_definitions: Some(schema::definitions(index.key.attributes())),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            create: Some(schema::global_index(index, throughput)),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTable::default()
    })
}

/// The throughput that a table reserves, if any; its new index needs the same.
fn reserved(there: &TableDescription) -> Option<ProvisionedThroughput> {
    let billing = there.billing_mode_summary.as_ref();
    if billing.is_some_and(|summary| summary.billing_mode == BillingMode::PayPerRequest) {
        return None;
    }
    Some(ProvisionedThroughput {
        read_capacity_units: there.provisioned_throughput.read_capacity_units.max(1),
        write_capacity_units: there.provisioned_throughput.write_capacity_units.max(1),
    })
}

fn delete_index(table: &str, index: &str) -> UpdateTable {
    UpdateTable {
        table_name: table.to_owned(),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            delete: Some(DeleteGlobalSecondaryIndexAction {
                index_name: index.to_owned(),
            }),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTable::default()
    }
}

fn enable_stream(table: &Table) -> UpdateTable {
    UpdateTable {
        table_name: table.table_name().to_owned(),
        stream_specification: table.stream().map(schema::stream),
        ..UpdateTable::default()
    }
}

/// Waits until the table and all its indexes are ready.
pub(crate) fn wait(database: &dyn Database, table: &str) -> Result<(), Error> {
    wait_watched(database, table, &Unwatched)
}

/// Like [`wait`], but the watcher can stop the work.
pub(crate) fn wait_watched(database: &dyn Database, table: &str, watcher: &dyn Watcher) -> Result<(), Error> {
    let (mut pause, mut waited) = (FIRST_WAIT, Duration::ZERO);
    loop {
        let there = describe(database, table)?.ok_or_else(|| Error::table_not_found(table))?;
        if is_ready(&there) {
            return Ok(());
        }
        if waited >= PATIENCE {
            return Err(Error::new(
                ErrorKind::ResourceInUse,
                format!(
                    "Table {table} is not ACTIVE after {} minutes; apply the model again when it is",
                    PATIENCE.as_secs() / 60
                ),
            ));
        }
        go_on(watcher)?;
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(LONGEST_WAIT);
    }
}

fn is_ready(there: &TableDescription) -> bool {
    let mut indexes = there.global_secondary_indexes.iter().flatten();
    there.table_status == TableStatus::Active
        && indexes.all(|index| {
            index
                .index_status
                .is_none_or(|status| status == IndexStatus::Active)
        })
}
