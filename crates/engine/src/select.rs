//! What Query and Scan share: which index, which attributes, where to go on, and the answer's parts.

use std::sync::Arc;

use trestle_api::{ConsumedCapacity, Error, ReturnConsumedCapacity, Select};
use trestle_expr::Projection;
use trestle_item::Item;

use crate::capacity::{Consumed, Read};
use crate::catalog::{Index, Scope, Table};
use crate::layout::{self, ItemKey};
use crate::page::Page;

/// What attributes a page shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) projection: Option<Projection>,
    pub(crate) fetch: bool,
    pub(crate) count_only: bool,
}

/// Refuses a `Select` that contradicts the projection; both are known before the table is.
pub(crate) fn check_select(
    select: Option<Select>,
    indexed: bool,
    expression: bool,
    attributes: bool,
) -> Result<(), Error> {
    let named = if expression {
        "ProjectionExpression"
    } else {
        "AttributesToGet"
    };
    match select {
        Some(Select::AllProjectedAttributes) if !indexed => Err(Error::invalid_parameter(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        )),
        Some(Select::SpecificAttributes) if !expression && !attributes => Err(Error::invalid_parameter(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        )),
        Some(select @ (Select::AllAttributes | Select::AllProjectedAttributes | Select::Count))
            if expression || attributes =>
        {
            Err(Error::validation(format!(
                "Cannot specify the {named} when choosing to get {select}"
            )))
        }
        _ => Ok(()),
    }
}

/// The index that a read names.
pub(crate) fn index<'a>(
    table: &'a Table,
    name: Option<&str>,
    consistent: Option<bool>,
    now: trestle_env::Timestamp,
) -> Result<Option<&'a Arc<Index>>, Error> {
    let Some(name) = name else { return Ok(None) };
    let index = table
        .index(name)
        .filter(|index| !matches!(index.state, crate::catalog::State::Deleting(_)));
    let index = index
        .ok_or_else(|| Error::validation(format!("The table does not have the specified index: {name}")))?;
    if index.scope == Scope::Global && consistent == Some(true) {
        return Err(Error::validation(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    if !index.serves(now) {
        return Err(Error::validation(format!(
            "Cannot read from backfilling global secondary index: {name}"
        )));
    }
    Ok(Some(index))
}

/// Which attributes are shown, once the index is known.
pub(crate) fn shown(
    table: &Table,
    index: Option<&Arc<Index>>,
    select: Option<Select>,
    projection: Option<Projection>,
) -> Result<Shown, Error> {
    let count_only = select == Some(Select::Count);
    let Some(index) = index.filter(|index| !index.projects_all()) else {
        return Ok(Shown {
            projection,
            fetch: false,
            count_only,
        });
    };
    let beyond: Vec<String> = projection
        .iter()
        .flat_map(Projection::attributes)
        .filter(|name| !index.projects(table, name))
        .map(str::to_owned)
        .collect();
    let wants_all = select == Some(Select::AllAttributes);
    match index.scope {
        Scope::Local => Ok(Shown {
            projection,
            fetch: wants_all || !beyond.is_empty(),
            count_only,
        }),
        Scope::Global if wants_all => Err(Error::invalid_parameter(format!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type \
             is not ALL",
            index.name
        ))),
        Scope::Global if !beyond.is_empty() => Err(Error::invalid_parameter(format!(
            "Global secondary index {} does not project {}",
            index.name,
            format_args!("[{}]", beyond.join(", "))
        ))),
        Scope::Global => Ok(Shown {
            projection,
            fetch: false,
            count_only,
        }),
    }
}

/// The storage key that an `ExclusiveStartKey` stands for, or `None` if it is not one of this source.
pub(crate) fn position(table: &Table, index: Option<&Arc<Index>>, start: &Item) -> Option<Vec<u8>> {
    let expected = table
        .key
        .attributes()
        .chain(index.into_iter().flat_map(|index| index.key.attributes()))
        .map(|part| part.name.as_str())
        .collect::<std::collections::BTreeSet<_>>();
    if start.len() != expected.len() || !expected.iter().all(|name| start.contains_key(name)) {
        return None;
    }
    let typed = |part: &trestle_expr::KeyAttribute| {
        start
            .get(&part.name)
            .is_some_and(|value| value.scalar_type() == Some(part.kind))
    };
    if !table.key.attributes().all(typed) {
        return None;
    }
    let item_key = ItemKey::of(&table.key, start)?;
    match index {
        Some(index) => layout::index_row(index.id, &index.key, start, &item_key),
        None => Some(item_key.in_table(table.id)),
    }
}

/// What reading the page cost.
pub(crate) fn consumed(
    table: &Table,
    index: Option<&Arc<Index>>,
    page: &Page,
    consistent: Option<bool>,
    wanted: Option<ReturnConsumedCapacity>,
) -> Option<ConsumedCapacity> {
    let read = Read::consistent(consistent);
    let units = read.units(page.bytes);
    let consumed = match index {
        Some(index) => Consumed::index(index, units, page.fetched_units(read)),
        None => Consumed::table(units),
    };
    consumed.report(table, wanted)
}
