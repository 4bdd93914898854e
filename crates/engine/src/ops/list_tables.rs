//! `ListTables`.

use std::ops::Bound;

use trestle_api::{Error, ListTables, ListTablesOutput, is_own_table};

use crate::shared::Shared;

/// Names on a page, unless fewer are asked for.
const NAMES_MAX: usize = 100;

pub(crate) fn run(shared: &Shared, request: &ListTables) -> Result<ListTablesOutput, Error> {
    let catalog = shared.catalog.load();
    let start = match request.exclusive_start_table_name.as_deref() {
        Some(name) => Bound::Excluded(name),
        None => Bound::Unbounded,
    };
    let limit = request.limit.map_or(NAMES_MAX, |limit| limit as usize);
    let mut names = catalog
        .tables
        .range::<str, _>((start, Bound::Unbounded))
        .map(|(name, _)| name)
        .filter(|name| !is_own_table(name))
        .cloned();
    let table_names: Vec<String> = names.by_ref().take(limit).collect();
    let last_evaluated_table_name = names.next().and_then(|_| table_names.last().cloned());
    Ok(ListTablesOutput {
        table_names,
        last_evaluated_table_name,
    })
}
