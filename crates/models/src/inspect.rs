//! Checks existing rows against the model, one by one.

use trestle_api::{Database, Error, Scan};
use trestle_binding::TableRows;
use trestle_binding::rows::Inspection;
use trestle_item::Item;

use crate::call::call;
use crate::watcher::{Watcher, go_on};

/// Reads every row of a table.
pub(super) fn inspect(
    mut inspection: Inspection<'_>,
    table: &str,
    database: &dyn Database,
    watcher: &mut dyn Watcher,
) -> Result<TableRows, Error> {
    scan(database, table, |row| {
        inspection.look_at(row)?;
        watcher.rows("checking rows", table, inspection.looked_at());
        go_on(watcher)
    })?;
    Ok(inspection.finish())
}

/// Passes every row of a table to `each`, page by page.
fn scan(
    database: &dyn Database,
    table: &str,
    mut each: impl FnMut(&Item) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut from = None;
    loop {
        let page = call(
            database,
            Scan {
                table_name: table.to_owned(),
                exclusive_start_key: from,
                consistent_read: Some(true),
                ..Scan::default()
            },
        )?;
        for item in page.items.into_iter().flatten() {
            each(&item)?;
        }
        from = page.last_evaluated_key;
        if from.is_none() {
            return Ok(());
        }
    }
}
