//! `BatchExecuteStatement`: every statement on its own, all reads or all writes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::{
    BatchExecuteStatement, BatchExecuteStatementOutput, BatchStatementRequest, BatchStatementResponse,
    ConsumedCapacity, Error, ReturnConsumedCapacity,
};
use trestle_item::size;
use trestle_partiql::{Parsed, Projection, Statement};
use trestle_writes::{
    StatementShown, StatementWrite, bind_statement, check_batch_is_of_one_kind, parse_alone,
    refused_statement, write_of_statement,
};

use super::get_item;
use crate::capacity::{Consumed, Read};
use crate::catalog::Table;
use crate::completion::Completion;
use crate::layout::ItemKey;
use crate::shared::Shared;
use crate::statement;
use crate::transaction::{Actor, Transaction};
use crate::write_item::{ItemWrite, Placed};
use crate::{Engine, image, ops};

pub(crate) fn run(engine: &Engine, request: BatchExecuteStatement) -> Completion {
    let shared = engine.shared();
    let members = request.statements.iter();
    let parsed: Vec<Slot<Parsed>> = members.map(|member| parse_alone(&member.statement)).collect();
    let reads = match check_batch_is_of_one_kind(parsed.iter().flatten()) {
        Ok(reads) => reads,
        Err(error) => return Completion::Ready(Err(error)),
    };
    if reads {
        return ops::read(shared.in_one_layout(|_| {
            let members = request.statements.iter().zip(&parsed);
            let gets = members
                .map(|(member, parsed)| get(shared, member, parsed.as_ref().map_err(Error::clone)?))
                .collect();
            read(shared, gets, request.return_consumed_capacity)
        }));
    }
    let members = request.statements.iter().zip(parsed);
    let puts: Vec<Slot<Change>> = members
        .map(|(member, parsed)| change(shared, member, &parsed?))
        .collect();
    let capacity = request.return_consumed_capacity;
    match check_distinct(puts.iter().flatten().map(|change| change.placed.place())) {
        Err(error) => Completion::Ready(Err(error)),
        Ok(()) => ops::write(engine, move |transaction| Ok(write(transaction, puts, capacity))),
    }
}

/// One statement, or why it is not executed.
type Slot<T> = Result<T, Error>;

/// No item may be named twice.
fn check_distinct(places: impl Iterator<Item = Vec<u8>>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for place in places {
        if !seen.insert(place) {
            return Err(Error::validation(
                "Provided list of item keys contains duplicates",
            ));
        }
    }
    Ok(())
}

/// A statement that reads one item.
struct Get {
    table: Arc<Table>,
    key: ItemKey,
    projection: Option<Projection>,
    read: Read,
}

fn get(shared: &Shared, member: &BatchStatementRequest, parsed: &Parsed) -> Slot<Get> {
    let table = statement::table(shared, parsed)?;
    if let Some(index) = parsed.index().and_then(|name| table.index(name)) {
        statement::keys(&index.key)?;
    }
    let Statement::Select(select) = bind_statement(parsed, member.parameters.as_ref())? else {
        return Err(Error::internal("a write was taken for a read"));
    };
    let key = select
        .key(statement::keys(&table.key)?)
        .map_err(refused_statement)?;
    let key = key.ok_or_else(|| {
        Error::validation(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause.",
        )
    })?;
    Ok(Get {
        key: table.item_key(&key)?,
        table,
        projection: select.projection,
        read: Read::consistent(member.consistent_read),
    })
}

fn read(
    shared: &Shared,
    gets: Vec<Slot<Get>>,
    capacity: Option<ReturnConsumedCapacity>,
) -> Result<BatchExecuteStatementOutput, Error> {
    check_distinct(gets.iter().flatten().map(|get| get.key.in_table(get.table.id)))?;
    let mut used = Used::default();
    let mut responses = Vec::with_capacity(gets.len());
    for get in gets {
        responses.push(match get {
            Err(error) => failed(error, None),
            Ok(get) => {
                let item = get_item::item(shared, &get.table, &get.key)?;
                let units = get.read.units(item.as_ref().map_or(0, size::of_item));
                used.add(&get.table, Consumed::table(units));
                let item = match &get.projection {
                    Some(wanted) => item.map(|item| wanted.apply(&item)),
                    None => item,
                };
                BatchStatementResponse {
                    item,
                    table_name: Some(get.table.name.clone()),
                    error: None,
                }
            }
        });
    }
    Ok(BatchExecuteStatementOutput {
        responses,
        consumed_capacity: used.report(capacity),
    })
}

/// A statement that writes one item.
struct Change {
    placed: Placed,
    shown: StatementShown,
    /// Whether the item is in a running transaction.
    taken: bool,
}

fn change(shared: &Shared, member: &BatchStatementRequest, parsed: &Parsed) -> Slot<Change> {
    let table = statement::table(shared, parsed)?;
    let bound = bind_statement(parsed, member.parameters.as_ref())?;
    let show = trestle_writes::shows(member.return_values_on_condition_check_failure);
    let StatementWrite { write, shown } = write_of_statement(bound, statement::written(&table)?, show)?;
    let placed = ItemWrite::from(write).place(&shared.catalog.load(), shared)?;
    Ok(Change {
        taken: shared.conflicts.has(&placed.place()),
        placed,
        shown,
    })
}

fn write(
    transaction: &mut Transaction<'_>,
    changes: Vec<Slot<Change>>,
    capacity: Option<ReturnConsumedCapacity>,
) -> BatchExecuteStatementOutput {
    let mut used = Used::default();
    let responses = changes
        .into_iter()
        .map(|change| write_one(transaction, change, &mut used))
        .collect();
    BatchExecuteStatementOutput {
        responses,
        consumed_capacity: used.report(capacity),
    }
}

/// Runs one statement. A refused statement stages nothing, so it does not affect the others.
fn write_one(
    transaction: &mut Transaction<'_>,
    change: Slot<Change>,
    used: &mut Used,
) -> BatchStatementResponse {
    let change = match change {
        Ok(change) => change,
        Err(error) => return failed(error, None),
    };
    let name = change.placed.table().name.clone();
    if change.taken {
        return failed(Error::transaction_conflict(), Some(name));
    }
    match transaction.attempt(|transaction| change.placed.run(transaction, Actor::Client)) {
        Err(error) => failed(error, Some(name)),
        Ok(mut outcome) => {
            used.add(&outcome.table, std::mem::take(&mut outcome.consumed));
            BatchStatementResponse {
                item: change.shown.of(
                    image::item(outcome.old.as_ref()),
                    image::item(outcome.new.as_ref()),
                ),
                table_name: Some(name),
                error: None,
            }
        }
    }
}

/// An error names its table only if the statement was executed.
fn failed(error: Error, table_name: Option<String>) -> BatchStatementResponse {
    BatchStatementResponse {
        error: Some(error.into()),
        table_name,
        item: None,
    }
}

/// What the statements used, by table.
#[derive(Default)]
struct Used(BTreeMap<String, (Arc<Table>, Consumed)>);

impl Used {
    fn add(&mut self, table: &Arc<Table>, consumed: Consumed) {
        let entry = self.0.entry(table.name.clone());
        entry
            .or_insert_with(|| (Arc::clone(table), Consumed::default()))
            .1
            .add(consumed);
    }

    fn report(&self, wanted: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let reports: Vec<_> = self
            .0
            .values()
            .filter_map(|(table, consumed)| consumed.report(table, wanted))
            .collect();
        (!reports.is_empty()).then_some(reports)
    }
}
