//! `TransactGetItems`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::{
    CancellationReason, Error, ErrorKind, Get, ItemResponse, TransactGetItems, TransactGetItemsOutput,
};
use trestle_expr::{Parameters, Placeholders, Projection};
use trestle_item::{codec, size};
use trestle_store::Space;

use crate::capacity::{Consumed, Read, Units};
use crate::catalog::Table;
use crate::shared::{Shared, internal};
use crate::{expressions, transact};

pub(crate) fn run(shared: &Shared, request: &TransactGetItems) -> Result<TransactGetItemsOutput, Error> {
    let projections: Vec<Option<Projection>> = request
        .transact_items
        .iter()
        .map(|item| projection(&item.get))
        .collect::<Result<_, _>>()?;
    let places = place(shared, request)?;
    let taken: Vec<bool> = places
        .iter()
        .map(|(_, place)| shared.conflicts.has(place))
        .collect();
    if taken.contains(&true) {
        return Err(transact::conflict(&taken));
    }
    // One snapshot: all items as of one moment.
    let snapshot = shared.store.snapshot();
    let mut output = TransactGetItemsOutput::default();
    let mut consumed: BTreeMap<String, (Arc<Table>, Consumed)> = BTreeMap::new();
    for ((table, place), projection) in places.iter().zip(&projections) {
        let item = match snapshot.get(Space::Items, place).map_err(internal)? {
            Some(bytes) => Some(codec::decode(&bytes).map_err(internal)?),
            None => None,
        };
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

/// A table and a storage key.
type Place = (Arc<Table>, Vec<u8>);

/// The tables and storage keys of all items.
fn place(shared: &Shared, request: &TransactGetItems) -> Result<Vec<Place>, Error> {
    let now = shared.clock.now();
    let catalog = shared.catalog.load();
    let mut places = Vec::with_capacity(request.transact_items.len());
    let mut reasons = Vec::with_capacity(request.transact_items.len());
    let mut seen = HashSet::new();
    for item in &request.transact_items {
        let table = catalog.table(&item.get.table_name, now)?;
        match table.item_key(&item.get.key) {
            Ok(key) => {
                let place = key.in_table(table.id);
                if !seen.insert(place.clone()) {
                    return Err(Error::validation(
                        "Transaction request cannot include multiple operations on one item",
                    ));
                }
                places.push((Arc::clone(table), place));
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
