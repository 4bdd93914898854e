//! The tables of a model as they exist in the database.

use std::collections::BTreeMap;

use trestle_api::{Database, DescribeTable, DescribeTimeToLive, Error, ErrorKind, TableDescription, Wait};
use trestle_binding::plan::TableThere;
use trestle_model::Model;

use crate::call::call;
use crate::write_isolation::{check, write_isolation};

/// The existing tables of a model, by name.
pub(super) fn tables(database: &dyn Database, model: &Model) -> Result<BTreeMap<String, TableThere>, Error> {
    let mut there = BTreeMap::new();
    for name in model.tables().iter().map(|table| table.table_name()) {
        if let Some(description) = describe(database, name)? {
            let arn = &description.table_arn;
            let isolation = write_isolation(database, arn).wait()?;
            check(name, arn, isolation.as_deref())?;
            let asked = DescribeTimeToLive {
                table_name: name.to_owned(),
            };
            let time_to_live = call(database, asked)?.time_to_live_description;
            let table = TableThere {
                description,
                time_to_live,
            };
            there.insert(name.to_owned(), table);
        }
    }
    Ok(there)
}

/// The table, if it exists.
pub fn describe(database: &dyn Database, name: &str) -> Result<Option<TableDescription>, Error> {
    let asked = DescribeTable {
        table_name: name.to_owned(),
    };
    match call(database, asked) {
        Ok(answer) => Ok(Some(*answer.table)),
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
        Err(error) => Err(error),
    }
}
