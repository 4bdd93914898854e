//! `UpdateTable`: throughput, billing, indexes, stream, protection.

use std::sync::Arc;

use trestle_api as api;
use trestle_api::{
    BillingMode, Error, GlobalSecondaryIndexUpdate, UpdateTable, UpdateTableOutput, table_name,
};
use trestle_env::Timestamp;

use super::create_table::throughput;
use crate::catalog::{Index, Scope, State, Stream, Table, Throughput};
use crate::completion::Completion;
use crate::definition::{self, Definitions, IndexDefinition};
use crate::layout::{IndexId, StreamId};
use crate::shards::Written;
use crate::transaction::Transaction;
use crate::{Engine, describe, ops};

pub(crate) fn run(engine: &Engine, request: UpdateTable) -> Completion {
    match check(&request) {
        Ok(()) => ops::write(engine, move |transaction| update(transaction, request)),
        Err(error) => Completion::Ready(Err(error)),
    }
}

fn check(request: &UpdateTable) -> Result<(), Error> {
    definition::refuse_unsupported(&[
        ("ReplicaUpdates", request.replica_updates.is_some()),
        (
            "MultiRegionConsistency",
            request.multi_region_consistency.is_some(),
        ),
        (
            "GlobalTableWitnessUpdates",
            request.global_table_witness_updates.is_some(),
        ),
        (
            "GlobalTableSettingsReplicationMode",
            request.global_table_settings_replication_mode.is_some(),
        ),
        (
            "DisassociationProtectionEnabled",
            request.disassociation_protection_enabled.is_some(),
        ),
        ("VectorIndexUpdates", request.vector_index_updates.is_some()),
    ])?;
    let updates = request.global_secondary_index_updates.as_deref();
    let nothing = request.provisioned_throughput.is_none()
        && request.billing_mode.is_none()
        && request.stream_specification.is_none()
        && updates.is_none_or(<[_]>::is_empty)
        && request.sse_specification.is_none()
        && request.table_class.is_none()
        && request.deletion_protection_enabled.is_none()
        && request.on_demand_throughput.is_none()
        && request.warm_throughput.is_none();
    if nothing {
        return Err(Error::validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, \
             SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, \
             DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required",
        ));
    }
    if request.billing_mode == Some(BillingMode::PayPerRequest) {
        definition::check_throughput(
            BillingMode::PayPerRequest,
            request.provisioned_throughput.as_ref(),
        )?;
    }
    match updates {
        Some([]) => Err(Error::invalid_parameter(
            "List of GlobalSecondaryIndexUpdates is empty",
        )),
        Some(updates) => {
            let defines = request
                .attribute_definitions
                .as_ref()
                .is_some_and(|given| !given.is_empty());
            check_index_updates(updates, defines)
        }
        None => Ok(()),
    }
}

/// Checks the changes of indexes in a request. `defines` says whether it defines attributes.
fn check_index_updates(updates: &[GlobalSecondaryIndexUpdate], defines: bool) -> Result<(), Error> {
    let mut named = Vec::new();
    let mut creations_and_deletions = 0;
    for update in updates {
        let name = match (&update.create, &update.update, &update.delete) {
            (Some(create), None, None) => &create.index_name,
            (None, Some(update), None) => &update.index_name,
            (None, None, Some(delete)) => &delete.index_name,
            (None, None, None) => {
                return Err(Error::invalid_parameter(
                    "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
                     GlobalSecondaryIndexUpdate.Delete must not be null",
                ));
            }
            _ => {
                return Err(Error::invalid_parameter(
                    "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
                ));
            }
        };
        if named.contains(&name) {
            return Err(Error::invalid_parameter(format!(
                "Only one global secondary index update per index is allowed simultaneously. Index: {name}"
            )));
        }
        if update.create.is_some() && !defines {
            return Err(Error::invalid_parameter(format!(
                "AttributeDefinitions is not specified for index: {name}"
            )));
        }
        named.push(name);
        creations_and_deletions += usize::from(update.update.is_none());
    }
    if creations_and_deletions > 1 {
        return Err(Error::limit_exceeded(
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ));
    }
    Ok(())
}

fn update(transaction: &mut Transaction<'_>, request: UpdateTable) -> Result<UpdateTableOutput, Error> {
    let name = table_name(&request.table_name);
    let now = transaction.now();
    let current = transaction
        .catalog()
        .tables
        .get(name)
        .ok_or_else(|| Error::table_not_found(name))?;
    match current.state.at(now) {
        State::Active if current.indexes.iter().any(|index| !index.serves(now)) => {
            return Err(in_use(name, "being updated"));
        }
        State::Active => {}
        State::Creating(_) => return Err(in_use(name, "being created")),
        State::Updating(_) => return Err(in_use(name, "being updated")),
        State::Deleting(_) => return Err(in_use(name, "being deleted")),
    }
    let mut table = Table::clone(current);
    update_billing(&mut table, &request, now)?;
    if let Some(specification) = &request.stream_specification {
        update_stream(transaction, &mut table, specification)?;
    }
    for change in request.global_secondary_index_updates.iter().flatten() {
        update_index(transaction, &mut table, &request, change)?;
    }
    table.sse = request.sse_specification.or(table.sse);
    table.table_class = request.table_class.or(table.table_class);
    table.on_demand_throughput = request.on_demand_throughput.or(table.on_demand_throughput);
    table.warm_throughput = request.warm_throughput.or(table.warm_throughput);
    table.deletion_protection = request
        .deletion_protection_enabled
        .unwrap_or(table.deletion_protection);
    table.state = State::updating(now, transaction.shared().options.update_table_delay);
    let table = transaction.put_table(table)?;
    let mut description = describe::table(&table, transaction.catalog(), now);
    description.table_status = api::TableStatus::Updating;
    Ok(UpdateTableOutput {
        table_description: Box::new(description),
    })
}

fn in_use(name: &str, why: &str) -> Error {
    Error::resource_in_use(format!("Table is {why}: {name}"))
}

fn update_billing(table: &mut Table, request: &UpdateTable, now: Timestamp) -> Result<(), Error> {
    if let Some(mode) = request.billing_mode.filter(|mode| *mode != table.billing_mode) {
        if mode == BillingMode::Provisioned && request.provisioned_throughput.is_none() {
            return Err(Error::invalid_parameter(
                "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
            ));
        }
        table.billing_mode = mode;
        if mode == BillingMode::PayPerRequest {
            table.on_demand_since = Some(now);
            table.throughput = Throughput::default();
            for index in &mut table.indexes {
                Arc::make_mut(index).throughput = Throughput::default();
            }
        }
    }
    let Some(wanted) = &request.provisioned_throughput else {
        return Ok(());
    };
    definition::check_throughput(table.billing_mode, Some(wanted))?;
    let current = &table.throughput;
    if current.read == wanted.read_capacity_units && current.write == wanted.write_capacity_units {
        return Err(Error::validation(format!(
            "The provisioned throughput for the table will not change. The requested value equals the current value. \
             Current ReadCapacityUnits provisioned for the table: {}. Requested ReadCapacityUnits: {}. \
             Current WriteCapacityUnits provisioned for the table: {}. Requested WriteCapacityUnits: {}. \
             Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
            current.read, wanted.read_capacity_units, current.write, wanted.write_capacity_units
        )));
    }
    change_throughput(&mut table.throughput, wanted, now);
    Ok(())
}

fn change_throughput(current: &mut Throughput, wanted: &api::ProvisionedThroughput, now: Timestamp) {
    if wanted.read_capacity_units > current.read || wanted.write_capacity_units > current.write {
        current.increased = Some(now);
    }
    if wanted.read_capacity_units < current.read || wanted.write_capacity_units < current.write {
        current.decreased = Some(now);
        current.decreases_today += 1;
    }
    current.read = wanted.read_capacity_units;
    current.write = wanted.write_capacity_units;
}

fn update_stream(
    transaction: &mut Transaction<'_>,
    table: &mut Table,
    wanted: &api::StreamSpecification,
) -> Result<(), Error> {
    let current = table
        .stream
        .and_then(|id| transaction.catalog().streams.get(&id))
        .filter(|s| s.is_enabled())
        .cloned();
    match (wanted.stream_enabled, wanted.stream_view_type, current) {
        (true, _, Some(_)) => Err(Error::validation(format!(
            "Table already has an enabled stream: TableName: {}",
            table.name
        ))),
        (false, _, None) => Err(Error::validation(format!(
            "Table has no stream to disable: TableName: {}",
            table.name
        ))),
        (true, None, None) => Err(Error::invalid_parameter(
            "If stream is being enabled then UpdateViewType is required",
        )),
        (false, Some(_), Some(_)) => Err(Error::invalid_parameter(
            "If stream is being disabled, then UpdateViewType must not be specified",
        )),
        (true, Some(view), None) => enable_stream(transaction, table, view),
        (false, None, Some(stream)) => {
            let closed = Some((transaction.now(), transaction.sequence()));
            transaction.put_stream(Stream {
                closed,
                ..Stream::clone(&stream)
            })
        }
    }
}

/// Begins a new stream for the table.
pub(crate) fn enable_stream(
    transaction: &mut Transaction<'_>,
    table: &mut Table,
    view: api::StreamViewType,
) -> Result<(), Error> {
    let id = StreamId(transaction.next_id());
    let (created, label, arn) = stream_name(transaction, table);
    let mut stream = Stream {
        id,
        table: table.id,
        table_name: table.name.clone(),
        arn,
        label,
        view,
        key: table.key.clone(),
        shards: transaction.shared().options.stream_shards.max(1),
        created,
        first_sequence: transaction.sequence(),
        closed: None,
        children: Vec::new(),
        trimmed: Vec::new(),
        written: Written::default(),
    };
    stream.count_bytes();
    transaction.put_stream(stream)?;
    table.stream = Some(id);
    Ok(())
}

/// When the stream begins, its label and its ARN. A stream is named by its time, so a stream that begins in
/// the same millisecond as another one of the table, or of a dropped table of that name, gets a later, unique
/// time.
fn stream_name(transaction: &Transaction<'_>, table: &Table) -> (Timestamp, String, String) {
    let mut created = transaction.now();
    loop {
        let label = trestle_env::iso_8601_millis(created);
        let arn = format!("{}/stream/{label}", table.arn);
        if transaction
            .catalog()
            .streams
            .values()
            .all(|other| other.arn != arn)
        {
            return (created, label, arn);
        }
        created = created.plus(std::time::Duration::from_millis(1));
    }
}

fn update_index(
    transaction: &mut Transaction<'_>,
    table: &mut Table,
    request: &UpdateTable,
    change: &GlobalSecondaryIndexUpdate,
) -> Result<(), Error> {
    if let Some(wanted) = &change.create {
        return create_index(transaction, table, request, wanted);
    }
    if let Some(wanted) = &change.delete {
        let at = global_position(table, &wanted.index_name, "delete")?;
        let index = table.indexes.remove(at);
        transaction.drop_index(&index);
        forget_unused_definitions(table);
    }
    if let Some(wanted) = &change.update {
        let now = transaction.now();
        let at = global_position(table, &wanted.index_name, "update")?;
        if let Some(index) = table.indexes.get_mut(at) {
            let index = Arc::make_mut(index);
            if let Some(wanted) = &wanted.provisioned_throughput {
                change_throughput(&mut index.throughput, wanted, now);
            }
            index.on_demand_throughput = wanted.on_demand_throughput.or(index.on_demand_throughput);
            index.warm_throughput = wanted.warm_throughput.or(index.warm_throughput);
        }
    }
    Ok(())
}

fn global_position(table: &Table, name: &str, action: &str) -> Result<usize, Error> {
    let position = table.indexes.iter().position(|index| index.name == name);
    match position.and_then(|at| Some((at, table.indexes.get(at)?.scope))) {
        Some((at, Scope::Global)) => Ok(at),
        Some((_, Scope::Local)) => Err(Error::validation(format!(
            "Cannot {action} an index that is not a GlobalSecondaryIndex: {name}"
        ))),
        None => {
            let text = format!(
                "Requested resource not found: Index {name} for table {}",
                table.name
            );
            Err(Error::new(api::ErrorKind::ResourceNotFound, text))
        }
    }
}

/// Removes the attribute definitions that only a removed index used.
fn forget_unused_definitions(table: &mut Table) {
    let (key, indexes) = (&table.key, &table.indexes);
    table.attribute_definitions.retain(|definition| {
        key.contains(&definition.attribute_name)
            || indexes
                .iter()
                .any(|index| index.key.contains(&definition.attribute_name))
    });
}

fn create_index(
    transaction: &mut Transaction<'_>,
    table: &mut Table,
    request: &UpdateTable,
    wanted: &api::GlobalSecondaryIndex,
) -> Result<(), Error> {
    if table.index(&wanted.index_name).is_some() {
        return Err(Error::validation(
            "Attempting to create an index which already exists",
        ));
    }
    definition::check_global_count(table.global().count() + 1)?;
    let definition = IndexDefinition {
        name: &wanted.index_name,
        scope: Scope::Global,
        key_schema: &wanted.key_schema,
        projection: &wanted.projection,
    };
    // Existing definitions of the table do not count: the request must define the keys of the index.
    let given = request.attribute_definitions.as_deref().unwrap_or_default();
    let key = definition::index_key(&table.key, &definition, &Definitions::new(given)?)?;
    let existing = table.indexes.iter().map(|index| &index.key);
    definition::check_redefinition(&key, std::iter::once(&table.key).chain(existing))?;
    definition::check_index_throughput(
        table.billing_mode,
        &wanted.index_name,
        wanted.provisioned_throughput.as_ref(),
    )?;
    table.indexes.push(Arc::new(Index {
        id: IndexId(transaction.next_id()),
        name: wanted.index_name.clone(),
        scope: Scope::Global,
        key,
        projection: wanted.projection.clone(),
        throughput: throughput(wanted.provisioned_throughput.as_ref()),
        on_demand_throughput: wanted.on_demand_throughput,
        warm_throughput: wanted.warm_throughput,
        state: State::creating(transaction.now(), transaction.shared().options.update_table_delay),
        backfill_from: Some(Vec::new()),
        stats: Arc::default(),
    }));
    let known = |name: &str| {
        table
            .attribute_definitions
            .iter()
            .any(|known| known.attribute_name == name)
    };
    let added: Vec<_> = given
        .iter()
        .filter(|definition| !known(&definition.attribute_name))
        .cloned()
        .collect();
    table.attribute_definitions.extend(added);
    forget_unused_definitions(table);
    Ok(())
}
