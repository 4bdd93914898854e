//! `CreateTable`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::{BillingMode, CreateTable, CreateTableOutput, Error, is_own_table, table_name};

use crate::catalog::{Index, Scope, State, Stats, Table, Throughput};
use crate::completion::Completion;
use crate::definition::{self, Definitions, IndexDefinition};
use crate::layout::{IndexId, TableId};
use crate::schema::KeySchema;
use crate::transaction::Transaction;
use crate::{Engine, describe, ops};

pub(crate) fn run(engine: &Engine, request: CreateTable) -> Completion {
    match check(&request) {
        Ok(plan) => ops::write(engine, move |transaction| create(transaction, request, plan)),
        Err(error) => Completion::Ready(Err(error)),
    }
}

/// The keys of a request whose definitions are consistent.
struct Plan {
    key: KeySchema,
    index_keys: Vec<KeySchema>,
}

fn check(request: &CreateTable) -> Result<Plan, Error> {
    definition::refuse_unsupported(&[
        ("GlobalTableSourceArn", request.global_table_source_arn.is_some()),
        (
            "GlobalTableSettingsReplicationMode",
            request.global_table_settings_replication_mode.is_some(),
        ),
        ("VectorIndexes", request.vector_indexes.is_some()),
    ])?;
    let mode = request.billing_mode.unwrap_or_default();
    definition::check_throughput(mode, request.provisioned_throughput.as_ref())?;
    for (given, what) in [
        (
            request.global_secondary_indexes.as_ref().map(Vec::len),
            "GlobalSecondaryIndexes",
        ),
        (
            request.local_secondary_indexes.as_ref().map(Vec::len),
            "LocalSecondaryIndexes",
        ),
    ] {
        if given == Some(0) {
            return Err(Error::invalid_parameter(format!("List of {what} is empty")));
        }
    }
    let definitions = Definitions::new(&request.attribute_definitions)?;
    let key = definition::table_key(&request.key_schema, &definitions)?;
    let indexes = index_definitions(request);
    let index_keys = definition::indexes(&key, &indexes, &definitions)?;
    for index in request.global_secondary_indexes.iter().flatten() {
        definition::check_index_throughput(mode, &index.index_name, index.provisioned_throughput.as_ref())?;
    }
    let keys = request
        .key_schema
        .iter()
        .chain(indexes.iter().flat_map(|index| index.key_schema));
    definitions.all_used(keys, !indexes.is_empty())?;
    if let Some(stream) = &request.stream_specification {
        check_stream(stream)?;
    }
    super::tag_resource::check_tags(request.tags.as_deref().unwrap_or_default())?;
    Ok(Plan { key, index_keys })
}

fn index_definitions(request: &CreateTable) -> Vec<IndexDefinition<'_>> {
    let local = request
        .local_secondary_indexes
        .iter()
        .flatten()
        .map(|index| IndexDefinition {
            name: &index.index_name,
            scope: Scope::Local,
            key_schema: &index.key_schema,
            projection: &index.projection,
        });
    let global = request
        .global_secondary_indexes
        .iter()
        .flatten()
        .map(|index| IndexDefinition {
            name: &index.index_name,
            scope: Scope::Global,
            key_schema: &index.key_schema,
            projection: &index.projection,
        });
    local.chain(global).collect()
}

fn check_stream(stream: &trestle_api::StreamSpecification) -> Result<(), Error> {
    match (stream.stream_enabled, stream.stream_view_type) {
        (true, None) => Err(Error::invalid_parameter(
            "Table is being created with a stream enabled, UpdateViewType is required",
        )),
        (false, Some(_)) => Err(Error::invalid_parameter(
            "Table is being created with a stream disabled, UpdateViewType should not be specified",
        )),
        _ => Ok(()),
    }
}

fn create(
    transaction: &mut Transaction<'_>,
    request: CreateTable,
    plan: Plan,
) -> Result<CreateTableOutput, Error> {
    let name = table_name(&request.table_name).to_owned();
    if transaction.catalog().tables.contains_key(&name) {
        return Err(Error::table_exists(name));
    }
    let now = transaction.now();
    let options = transaction.shared().options.clone();
    let indexes = indexes(transaction, &request, plan.index_keys);
    let billing_mode = request.billing_mode.unwrap_or_default();
    // The delay is for applications that test how they wait for a table; Trestle's own tables have none.
    let delay = match is_own_table(&name) {
        true => Duration::ZERO,
        false => options.create_table_delay,
    };
    let mut table = Table {
        id: TableId(transaction.next_id()),
        arn: format!(
            "arn:aws:dynamodb:{}:{}:table/{name}",
            options.region, options.account
        ),
        uuid: trestle_env::ids::uuid(),
        name,
        created: now,
        key: plan.key,
        attribute_definitions: request.attribute_definitions,
        indexes,
        billing_mode,
        on_demand_since: (billing_mode == BillingMode::PayPerRequest).then_some(now),
        throughput: throughput(request.provisioned_throughput.as_ref()),
        on_demand_throughput: request.on_demand_throughput,
        warm_throughput: request.warm_throughput,
        table_class: request.table_class,
        sse: request.sse_specification,
        pause: None,
        deletion_protection: request.deletion_protection_enabled.unwrap_or(false),
        stream: None,
        ttl: None,
        tags: request
            .tags
            .into_iter()
            .flatten()
            .map(|tag| (tag.key, tag.value))
            .collect::<BTreeMap<_, _>>(),
        resource_policy: request.resource_policy,
        state: State::creating(now, delay),
        hook: None,
        former: None,
        windows: Arc::default(),
        swept: Arc::default(),
        stats: Arc::default(),
    };
    if let Some(view) = request
        .stream_specification
        .filter(|s| s.stream_enabled)
        .and_then(|s| s.stream_view_type)
    {
        super::update_table::enable_stream(transaction, &mut table, view)?;
    }
    let table = transaction.put_table(table)?;
    // The response always says CREATING, even if the table is usable at once: clients are written to wait.
    let mut description = describe::table(&table, transaction.catalog(), now);
    description.table_status = trestle_api::TableStatus::Creating;
    for index in description.global_secondary_indexes.iter_mut().flatten() {
        index.index_status = Some(trestle_api::IndexStatus::Creating);
    }
    Ok(CreateTableOutput {
        table_description: Box::new(description),
    })
}

fn indexes(
    transaction: &mut Transaction<'_>,
    request: &CreateTable,
    keys: Vec<KeySchema>,
) -> Vec<Arc<Index>> {
    let mut made = Vec::with_capacity(keys.len());
    for (definition, key) in index_definitions(request).into_iter().zip(keys) {
        let settings = request
            .global_secondary_indexes
            .iter()
            .flatten()
            .find(|index| definition.scope == Scope::Global && index.index_name == definition.name);
        made.push(Arc::new(Index {
            id: IndexId(transaction.next_id()),
            name: definition.name.to_owned(),
            scope: definition.scope,
            key,
            projection: definition.projection.clone(),
            throughput: throughput(settings.and_then(|index| index.provisioned_throughput.as_ref())),
            on_demand_throughput: settings.and_then(|index| index.on_demand_throughput),
            warm_throughput: settings.and_then(|index| index.warm_throughput),
            state: State::Active,
            backfill_from: None,
            stats: Arc::<Stats>::default(),
        }));
    }
    made
}

/// The throughput of a new table or index.
pub(crate) fn throughput(given: Option<&trestle_api::ProvisionedThroughput>) -> Throughput {
    given.map_or_else(Throughput::default, |given| Throughput {
        read: given.read_capacity_units,
        write: given.write_capacity_units,
        ..Throughput::default()
    })
}
