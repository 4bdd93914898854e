//! PartiQL statements as operations on items: the common part of the three operations that run statements.

mod continuation;
mod read;

pub(crate) use read::read;

use std::sync::Arc;

use trestle_api::Error;
use trestle_partiql::{Keys, Parsed};
use trestle_writes::{StatementTable, refused_statement};

use crate::catalog::Table;
use crate::schema::KeySchema;
use crate::shared::Shared;

/// The table of a statement.
pub(crate) fn table(shared: &Shared, statement: &Parsed) -> Result<Arc<Table>, Error> {
    let catalog = shared.catalog.load();
    catalog.table(statement.table(), shared.clock.now()).cloned()
}

/// Keys in the form that PartiQL uses.
pub(crate) fn keys(schema: &KeySchema) -> Result<Keys<'_>, Error> {
    Keys::new(&schema.hash, &schema.range).map_err(refused_statement)
}

/// A table in the form that writing statements use.
pub(crate) fn written(table: &Table) -> Result<StatementTable<'_>, Error> {
    Ok(StatementTable {
        name: &table.name,
        keys: keys(&table.key)?,
        hook: table.hook.as_deref(),
    })
}
