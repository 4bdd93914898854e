//! Descriptions of tables and indexes.

use trestle_api as api;
use trestle_api::{EpochSeconds, IndexStatus, KeySchemaElement, KeyType, TableDescription, TableStatus};
use trestle_env::Timestamp;

use crate::catalog::{Catalog, Index, State, Table, Throughput};
use crate::schema::KeySchema;

/// A point in time for a response.
pub(crate) fn time(at: Timestamp) -> EpochSeconds {
    EpochSeconds::from_millis(at.as_millis())
}

/// A key schema as the API writes it.
pub(crate) fn key_schema(key: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.to_owned(),
        key_type,
    };
    let hash = key.hash.iter().map(|part| element(&part.name, KeyType::Hash));
    let range = key.range.iter().map(|part| element(&part.name, KeyType::Range));
    hash.chain(range).collect()
}

/// The description of a table as of `now`.
pub(crate) fn table(table: &Table, catalog: &Catalog, now: Timestamp) -> TableDescription {
    let (items, bytes) = table.stats.read();
    let stream = table.stream.and_then(|id| catalog.streams.get(&id));
    let on_demand = table.billing_mode == api::BillingMode::PayPerRequest;
    let local: Vec<_> = table.local().map(|index| local_index(table, index)).collect();
    let global: Vec<_> = table
        .global()
        .map(|index| global_index(table, index, now))
        .collect();
    TableDescription {
        attribute_definitions: table.attribute_definitions.clone(),
        table_name: table.name.clone(),
        key_schema: key_schema(&table.key),
        table_status: match table.state.at(now) {
            State::Creating(_) => TableStatus::Creating,
            State::Updating(_) => TableStatus::Updating,
            State::Deleting(_) => TableStatus::Deleting,
            State::Active if table.indexes.iter().any(|index| !index.serves(now)) => TableStatus::Updating,
            State::Active => TableStatus::Active,
        },
        creation_date_time: Some(time(table.created)),
        provisioned_throughput: throughput(&table.throughput),
        table_size_bytes: bytes,
        item_count: items,
        table_arn: table.arn.clone(),
        table_id: Some(table.uuid.clone()),
        billing_mode_summary: (on_demand || table.on_demand_since.is_some()).then(|| {
            api::BillingModeSummary {
                billing_mode: table.billing_mode,
                last_update_to_pay_per_request_date_time: table.on_demand_since.map(time),
            }
        }),
        local_secondary_indexes: (!local.is_empty()).then_some(local),
        global_secondary_indexes: (!global.is_empty()).then_some(global),
        stream_specification: stream.filter(|stream| stream.is_enabled()).map(|stream| {
            api::StreamSpecification {
                stream_enabled: true,
                stream_view_type: Some(stream.view),
            }
        }),
        latest_stream_label: stream.map(|stream| stream.label.clone()),
        latest_stream_arn: stream.map(|stream| stream.arn.clone()),
        sse_description: table.sse.as_ref().and_then(|sse| encryption(table, sse)),
        table_class_summary: table.table_class.map(|table_class| api::TableClassSummary {
            table_class,
            last_update_date_time: None,
        }),
        deletion_protection_enabled: Some(table.deletion_protection),
        on_demand_throughput: table.on_demand_throughput,
        warm_throughput: table.warm_throughput.map(|asked| {
            let (read, write) = warm(asked, &table.throughput, on_demand);
            api::TableWarmThroughputDescription {
                read_units_per_second: Some(read),
                write_units_per_second: Some(write),
                status: Some(TableStatus::Active),
            }
        }),
    }
}

/// The warm throughput of a table: the requested one; for a value that was not requested, the one of a new
/// table.
fn warm(asked: api::WarmThroughput, provisioned: &Throughput, on_demand: bool) -> (i64, i64) {
    let initial = match on_demand {
        true => (12_000, 4_000),
        false => (provisioned.read, provisioned.write),
    };
    (
        asked.read_units_per_second.unwrap_or(initial.0),
        asked.write_units_per_second.unwrap_or(initial.1),
    )
}

fn throughput(throughput: &Throughput) -> api::ProvisionedThroughputDescription {
    api::ProvisionedThroughputDescription {
        last_increase_date_time: throughput.increased.map(time),
        last_decrease_date_time: throughput.decreased.map(time),
        number_of_decreases_today: throughput.decreases_today,
        read_capacity_units: throughput.read,
        write_capacity_units: throughput.write,
    }
}

fn encryption(table: &Table, sse: &api::SSESpecification) -> Option<api::SSEDescription> {
    if sse.enabled != Some(true) {
        return None;
    }
    let key = sse
        .kms_master_key_id
        .clone()
        .unwrap_or_else(|| "alias/aws/dynamodb".to_owned());
    let account = table
        .arn
        .split(":table/")
        .next()
        .unwrap_or_default()
        .replace(":dynamodb:", ":kms:");
    Some(api::SSEDescription {
        status: Some(api::SSEStatus::Enabled),
        sse_type: Some(api::SSEType::Kms),
        kms_master_key_arn: Some(if key.starts_with("arn:") {
            key
        } else {
            format!("{account}:key/{key}")
        }),
        inaccessible_encryption_date_time: None,
    })
}

fn index_arn(table: &Table, index: &Index) -> String {
    format!("{}/index/{}", table.arn, index.name)
}

fn local_index(table: &Table, index: &Index) -> api::LocalSecondaryIndexDescription {
    let (items, bytes) = index.stats.read();
    api::LocalSecondaryIndexDescription {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: index.projection.clone(),
        index_size_bytes: bytes,
        item_count: items,
        index_arn: index_arn(table, index),
    }
}

fn global_index(table: &Table, index: &Index, now: Timestamp) -> api::GlobalSecondaryIndexDescription {
    let (items, bytes) = index.stats.read();
    let backfilling = index.backfill_from.is_some();
    let status = match index.state.at(now) {
        _ if backfilling => IndexStatus::Creating,
        State::Creating(_) => IndexStatus::Creating,
        State::Updating(_) => IndexStatus::Updating,
        State::Deleting(_) => IndexStatus::Deleting,
        // While the table is being created, so are its indexes.
        State::Active if matches!(table.state.at(now), State::Creating(_)) => IndexStatus::Creating,
        State::Active => IndexStatus::Active,
    };
    let on_demand = table.billing_mode == api::BillingMode::PayPerRequest;
    api::GlobalSecondaryIndexDescription {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: index.projection.clone(),
        index_status: Some(status),
        backfilling: backfilling.then_some(true),
        provisioned_throughput: throughput(&index.throughput),
        index_size_bytes: bytes,
        item_count: items,
        index_arn: index_arn(table, index),
        on_demand_throughput: index.on_demand_throughput,
        warm_throughput: index.warm_throughput.map(|asked| {
            let (read, write) = warm(asked, &index.throughput, on_demand);
            api::GlobalSecondaryIndexWarmThroughputDescription {
                read_units_per_second: Some(read),
                write_units_per_second: Some(write),
                status: Some(IndexStatus::Active),
            }
        }),
    }
}
