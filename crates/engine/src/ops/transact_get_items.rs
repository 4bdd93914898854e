//! `TransactGetItems`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::{
    CancellationReason, Error, ErrorKind, Get, ItemResponse, TransactGetItems, TransactGetItemsOutput,
};
use trestle_env::Timestamp;
use trestle_expr::{Parameters, Placeholders, Projection};
use trestle_item::size;

use crate::capacity::{Consumed, Read, Units};
use crate::catalog::{Catalog, Table};
use crate::layout::ItemKey;
use crate::shared::Shared;
use crate::{expressions, former};

pub(crate) fn run(shared: &Shared, request: &TransactGetItems) -> Result<TransactGetItemsOutput, Error> {
    let projections: Vec<Option<Projection>> = request
        .transact_items
        .iter()
        .map(|item| projection(&item.get))
        .collect::<Result<_, _>>()?;
    shared.in_one_layout(|catalog| read(shared, catalog, request, &projections))
}

fn read(
    shared: &Shared,
    catalog: &Catalog,
    request: &TransactGetItems,
    projections: &[Option<Projection>],
) -> Result<TransactGetItemsOutput, Error> {
    let places = place(catalog, shared.clock.now(), request)?;
    // One snapshot for all items. A transaction that is being written is not visible yet, so there is no
    // conflict with it; DynamoDB, which has no snapshots, may cancel the request.
    let snapshot = shared.store.snapshot();
    let mut output = TransactGetItemsOutput::default();
    let mut consumed: BTreeMap<String, (Arc<Table>, Consumed)> = BTreeMap::new();
    for ((table, key), projection) in places.iter().zip(projections) {
        let item = former::find_in(&*snapshot, table, key)?;
        let units = Read::Transactional.units(item.as_ref().map_or(0, size::of_item));
        let entry = consumed
            .entry(table.name.clone())
            .or_insert_with(|| (Arc::clone(table), Consumed::default()));
        entry.1.add(Consumed::table(units));
        let item = match projection {
            Some(wanted) => item.map(|item| wanted.apply(&item)),
            None => item,
        };
        output.responses.push(ItemResponse { item });
    }
    let reports: Vec<_> = consumed
        .values()
        .filter_map(|(table, used)| used.report_as(table, request.return_consumed_capacity, Units::Read))
        .collect();
    output.consumed_capacity = (!reports.is_empty()).then_some(reports);
    Ok(output)
}

/// A table and an item's key in it.
type TableKey = (Arc<Table>, ItemKey);

/// The tables and keys of all items.
fn place(catalog: &Catalog, now: Timestamp, request: &TransactGetItems) -> Result<Vec<TableKey>, Error> {
    let mut places = Vec::with_capacity(request.transact_items.len());
    let mut reasons = Vec::with_capacity(request.transact_items.len());
    let mut seen = HashSet::new();
    for item in &request.transact_items {
        let table = catalog.table(&item.get.table_name, now)?;
        match table.item_key(&item.get.key) {
            Ok(key) => {
                if !seen.insert(key.in_table(table.id)) {
                    return Err(Error::validation(
                        "Transaction request cannot include multiple operations on one item",
                    ));
                }
                places.push((Arc::clone(table), key));
                reasons.push(CancellationReason::none());
            }
            Err(error) if error.kind() == ErrorKind::Validation => {
                reasons.push(CancellationReason::validation(error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    if places.len() < reasons.len() {
        return Err(Error::transaction_canceled(reasons));
    }
    Ok(places)
}

fn projection(get: &Get) -> Result<Option<Projection>, Error> {
    Parameters {
        expressions: &[("ProjectionExpression", get.projection_expression.is_some())],
        legacy: &[],
        names: get.expression_attribute_names.is_some(),
        values: false,
    }
    .check()?;
    let mut placeholders = Placeholders::new(get.expression_attribute_names.as_ref(), None);
    placeholders.check_syntax()?;
    let projection = expressions::projection(get.projection_expression.as_deref(), None, &mut placeholders)?;
    placeholders.finish()?;
    Ok(projection)
}
