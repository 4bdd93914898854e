//! `DescribeTable`.

use trestle_api::{DescribeTable, DescribeTableOutput, Error};

use crate::catalog::table_name;
use crate::describe;
use crate::shared::Shared;

pub(crate) fn run(shared: &Shared, request: &DescribeTable) -> Result<DescribeTableOutput, Error> {
    let catalog = shared.catalog.load();
    let name = table_name(&request.table_name);
    let table = catalog
        .tables
        .get(name)
        .ok_or_else(|| Error::table_not_found(name))?;
    Ok(DescribeTableOutput {
        table: Box::new(describe::table(table, &catalog, shared.clock.now())),
    })
}
