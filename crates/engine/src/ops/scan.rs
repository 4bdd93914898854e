//! `Scan`.

use trestle_api::{BillingMode, Error, Scan, ScanOutput};
use trestle_expr::{Condition, Kind, Parameters, Placeholders, Projection, legacy};
use trestle_store::{Direction, Snapshot};

use crate::catalog::{Catalog, Table};
use crate::range::Range;
use crate::select::{self, Reading, Showing};
use crate::shared::Shared;

pub(crate) fn run(shared: &Shared, request: &Scan) -> Result<ScanOutput, Error> {
    shared.in_one_layout(|catalog| read(shared, catalog, request, &*shared.store.snapshot()))
}

/// Reads a page in a snapshot that is not older than the catalog.
pub(crate) fn read(
    shared: &Shared,
    catalog: &Catalog,
    request: &Scan,
    snapshot: &dyn Snapshot,
) -> Result<ScanOutput, Error> {
    let (filter, projection) = check(request)?;
    let now = shared.clock.now();
    let table = catalog.table(&request.table_name, now)?;
    let index = select::index(table, request.index_name.as_deref(), request.consistent_read, now)?;
    let shown = select::shown(table, index, request.select, projection)?;
    let owner = index.map_or(table.id.0, |index| index.id.0);
    let mut range = Range::segment(
        owner,
        request.segment.unwrap_or(0),
        request.total_segments.unwrap_or(1),
    );
    if let Some(start) = &request.exclusive_start_key {
        let start = select::scan_bookmark(table, start)?;
        let position = select::position(table, index, &start)?;
        if !range.contains(&position) {
            return Err(Error::validation(
                "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with \
                 correct Segment. TotalSegments: {total} Segment: {segment}"
                    .replace("{total}", &request.total_segments.unwrap_or(1).to_string())
                    .replace("{segment}", &request.segment.unwrap_or(0).to_string()),
            ));
        }
        range = range.after(position, true);
    }
    let answer = Reading {
        table,
        index,
        range,
        selection: None,
        direction: Direction::Forward,
        limit: request.limit,
        filter: filter.as_ref(),
        shown,
        consistent: request.consistent_read,
        capacity: request.return_consumed_capacity,
        partitions: partitions(table, request),
    }
    .read(snapshot)?;
    Ok(ScanOutput {
        items: answer.items,
        count: answer.count,
        scanned_count: answer.scanned_count,
        last_evaluated_key: answer.last_evaluated_key,
        consumed_capacity: answer.consumed_capacity,
    })
}

/// A new table on demand has four partitions, and a scan from end to end visits all of them, even if they are empty.
fn partitions(table: &Table, request: &Scan) -> u32 {
    let is_whole = request.exclusive_start_key.is_none()
        && request.total_segments.is_none_or(|total| total == 1)
        && request.index_name.is_none();
    if is_whole && table.billing_mode == BillingMode::PayPerRequest {
        4
    } else {
        1
    }
}

fn check(request: &Scan) -> Result<(Option<Condition>, Option<Projection>), Error> {
    Parameters {
        expressions: &[
            ("ProjectionExpression", request.projection_expression.is_some()),
            ("FilterExpression", request.filter_expression.is_some()),
        ],
        legacy: &[
            ("AttributesToGet", request.attributes_to_get.is_some()),
            ("ScanFilter", request.scan_filter.is_some()),
            ("ConditionalOperator", request.conditional_operator.is_some()),
        ],
        names: request.expression_attribute_names.is_some(),
        values: request.expression_attribute_values.is_some(),
    }
    .check()?;
    check_segments(request.segment, request.total_segments)?;
    let mut placeholders = Placeholders::new(
        request.expression_attribute_names.as_ref(),
        request.expression_attribute_values.as_ref(),
    );
    placeholders.check_syntax()?;
    let filter = match &request.filter_expression {
        Some(text) => Some(Condition::parse(Kind::Filter, text, &mut placeholders)?),
        None => legacy::filter(request.scan_filter.as_ref(), request.conditional_operator)?,
    };
    let projection = Showing {
        select: request.select,
        index: request.index_name.as_deref(),
        expression: request.projection_expression.as_deref(),
        attributes: request.attributes_to_get.as_ref(),
    }
    .parse(placeholders)?;
    Ok((filter, projection))
}

fn check_segments(segment: Option<u32>, total: Option<u32>) -> Result<(), Error> {
    match (segment, total) {
        (Some(_), None) => Err(Error::validation(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is \
             present",
        )),
        (None, Some(_)) => Err(Error::validation(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is \
             present",
        )),
        (Some(segment), Some(total)) if segment >= total => Err(Error::validation(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {segment} \
             is not less than TotalSegments: {total}"
        ))),
        _ => Ok(()),
    }
}
