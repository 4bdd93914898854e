//! `BatchGetItem`.

use std::collections::HashSet;

use trestle_api::{BatchGetItem, BatchGetItemOutput, Error, KeysAndAttributes};
use trestle_expr::{Parameters, Placeholders, Projection};
use trestle_item::{codec, size};

use super::get_item;
use crate::capacity::{Consumed, Read};
use crate::catalog::Catalog;
use crate::expressions;
use crate::shared::Shared;

/// Keys in one request, over all tables.
const KEYS_MAX: usize = 100;
/// Bytes in one response; the remaining keys are returned as unprocessed.
const ANSWER_BYTES_MAX: usize = 16 << 20;

pub(crate) fn run(shared: &Shared, request: BatchGetItem) -> Result<BatchGetItemOutput, Error> {
    let projections = check(&request)?;
    shared.in_one_layout(|catalog| read(shared, catalog, &request, &projections))
}

fn read(
    shared: &Shared,
    catalog: &Catalog,
    request: &BatchGetItem,
    projections: &[Option<Projection>],
) -> Result<BatchGetItemOutput, Error> {
    let now = shared.clock.now();
    let mut output = BatchGetItemOutput::default();
    let mut consumed = Vec::new();
    let mut bytes = 0;
    let mut is_full = false;
    // All keys are checked before any is read: a bad one fails the whole batch.
    let mut placed = Vec::new();
    for ((name, wanted), projection) in request.request_items.iter().zip(projections) {
        let table = catalog.table(name, now)?;
        let mut seen = HashSet::new();
        let mut keys = Vec::with_capacity(wanted.keys.len());
        for key in &wanted.keys {
            let item_key = table.item_key(key)?;
            // With a hook, different attributes can identify the same item; equal keys were refused before.
            if table.hook.is_some() && !seen.insert(item_key.clone()) {
                return Err(duplicates());
            }
            keys.push(item_key);
        }
        placed.push((name, wanted, projection, table, keys));
    }
    for (name, wanted, projection, table, keys) in placed {
        let read = Read::consistent(wanted.consistent_read);
        let mut used = Consumed::default();
        let mut unprocessed = Vec::new();
        let items = output.responses.entry(name.clone()).or_default();
        for (key, item_key) in wanted.keys.iter().zip(keys) {
            if is_full {
                unprocessed.push(key.clone());
                continue;
            }
            let item = get_item::item(shared, table, &item_key)?;
            let size = item.as_ref().map_or(0, size::of_item);
            is_full = bytes + size > ANSWER_BYTES_MAX;
            if is_full {
                unprocessed.push(key.clone());
                continue;
            }
            bytes += size;
            used.add(Consumed::table(read.units(size)));
            if let Some(item) = item {
                items.push(match projection {
                    Some(wanted) => wanted.apply(&item),
                    None => item,
                });
            }
        }
        consumed.extend(used.report(table, request.return_consumed_capacity));
        if !unprocessed.is_empty() {
            output.unprocessed_keys.insert(
                name.clone(),
                KeysAndAttributes {
                    keys: unprocessed,
                    ..wanted.clone()
                },
            );
        }
    }
    output.consumed_capacity = (!consumed.is_empty()).then_some(consumed);
    Ok(output)
}

fn check(request: &BatchGetItem) -> Result<Vec<Option<Projection>>, Error> {
    let keys: usize = request
        .request_items
        .values()
        .map(|wanted| wanted.keys.len())
        .sum();
    if keys > KEYS_MAX {
        return Err(Error::validation(
            "Too many items requested for the BatchGetItem call",
        ));
    }
    request.request_items.values().map(projection).collect()
}

fn projection(wanted: &KeysAndAttributes) -> Result<Option<Projection>, Error> {
    Parameters {
        expressions: &[("ProjectionExpression", wanted.projection_expression.is_some())],
        legacy: &[("AttributesToGet", wanted.attributes_to_get.is_some())],
        names: wanted.expression_attribute_names.is_some(),
        values: false,
    }
    .check()?;
    let mut placeholders = Placeholders::new(wanted.expression_attribute_names.as_ref(), None);
    placeholders.check_syntax()?;
    let projection = expressions::projection(
        wanted.projection_expression.as_deref(),
        wanted.attributes_to_get.as_ref(),
        &mut placeholders,
    )?;
    placeholders.finish()?;
    // Before the table is looked up. A key has one stored form, however its numbers are written.
    let distinct: HashSet<_> = wanted.keys.iter().map(codec::encode).collect();
    if distinct.len() < wanted.keys.len() {
        return Err(duplicates());
    }
    Ok(projection)
}

fn duplicates() -> Error {
    Error::validation("Provided list of item keys contains duplicates")
}
