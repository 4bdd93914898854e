//! `DescribeTable`.

use trestle_api::{DescribeTable, DescribeTableOutput, Error, table_name};

use crate::describe;
use crate::horizon::Horizon;
use crate::shared::Shared;

pub(crate) fn run(shared: &Shared, request: &DescribeTable) -> Result<DescribeTableOutput, Error> {
    let catalog = shared.catalog.load();
    let name = table_name(&request.table_name);
    let table = catalog
        .tables
        .get(name)
        .ok_or_else(|| Error::table_not_found(name))?;
    let mut description = describe::table(table, &catalog, shared.clock.now());
    let oldest = shared.oldest_shown(Horizon::Retention);
    let stream = table.stream.and_then(|id| catalog.streams.get(&id));
    if stream.is_some_and(|stream| !stream.is_shown_since(oldest)) {
        // The stream exists only for routes.
        description.latest_stream_label = None;
        description.latest_stream_arn = None;
    }
    Ok(DescribeTableOutput {
        table: Box::new(description),
    })
}
