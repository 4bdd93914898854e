//! `Query`.

use trestle_api::{Error, Query, QueryOutput};
use trestle_env::Timestamp;
use trestle_expr::{Condition, KeyCondition, Kind, Parameters, Placeholders, Projection, legacy};
use trestle_store::{Direction, Snapshot};

use crate::catalog::{Catalog, Index, Table};
use crate::range;
use crate::select::{self, Reading, Showing};
use crate::shared::Shared;

/// What a query asks, as far as it is known without the table.
struct Asked {
    key: KeyCondition,
    filter: Option<Condition>,
    projection: Option<Projection>,
}

pub(crate) fn run(shared: &Shared, request: &Query) -> Result<QueryOutput, Error> {
    shared.in_one_layout(|catalog| read(&*shared.store.snapshot(), catalog, shared.clock.now(), request))
}

/// One page of what the query selects in `snapshot`.
pub(crate) fn read(
    snapshot: &dyn Snapshot,
    catalog: &Catalog,
    now: Timestamp,
    request: &Query,
) -> Result<QueryOutput, Error> {
    let asked = check(request)?;
    let table = catalog.table(&request.table_name, now)?;
    let index = select::index(table, request.index_name.as_deref(), request.consistent_read, now)?;
    let key = index.map_or(&table.key, |index| &index.key);
    let mut selection = asked.key.resolve(&key.hash, &key.range)?;
    if index.is_none() {
        selection = select::in_present_layout(table, selection)?;
    }
    check_filter(asked.filter.as_ref(), table, index.map(|index| &**index))?;
    let shown = select::shown(table, index, request.select, asked.projection)?;

    let invalid = || Error::validation("The provided starting key is invalid");
    let mut range = match index {
        Some(index) => range::in_index(index.id, &selection),
        None => range::in_table(table.id, &selection),
    }
    .ok_or_else(|| Error::internal("a checked key has no place"))?;
    let forward = request.scan_index_forward != Some(false);
    if let Some(start) = &request.exclusive_start_key {
        let start = select::bookmark(table, index, &selection, start)?;
        let position = select::position(table, index, &start).ok_or_else(invalid)?;
        if !range.contains(&position) {
            return Err(Error::validation(
                "The provided starting key is outside query boundaries based on provided conditions",
            ));
        }
        range = range.after(position, forward);
    }
    let answer = Reading {
        table,
        index,
        range,
        selection: Some(&selection),
        direction: if forward {
            Direction::Forward
        } else {
            Direction::Reverse
        },
        limit: request.limit,
        filter: asked.filter,
        shown,
        consistent: request.consistent_read,
        capacity: request.return_consumed_capacity,
    }
    .read(snapshot)?;
    Ok(QueryOutput {
        items: answer.items,
        count: answer.count,
        scanned_count: answer.scanned_count,
        last_evaluated_key: answer.last_evaluated_key,
        consumed_capacity: answer.consumed_capacity,
    })
}

fn check(request: &Query) -> Result<Asked, Error> {
    Parameters {
        expressions: &[
            ("ProjectionExpression", request.projection_expression.is_some()),
            ("FilterExpression", request.filter_expression.is_some()),
            (
                "KeyConditionExpression",
                request.key_condition_expression.is_some(),
            ),
        ],
        legacy: &[
            ("AttributesToGet", request.attributes_to_get.is_some()),
            ("QueryFilter", request.query_filter.is_some()),
            ("ConditionalOperator", request.conditional_operator.is_some()),
            ("KeyConditions", request.key_conditions.is_some()),
        ],
        names: request.expression_attribute_names.is_some(),
        values: request.expression_attribute_values.is_some(),
    }
    .check()?;
    let mut placeholders = Placeholders::new(
        request.expression_attribute_names.as_ref(),
        request.expression_attribute_values.as_ref(),
    );
    placeholders.check_syntax()?;
    let filter = match &request.filter_expression {
        Some(text) => Some(Condition::parse(Kind::Filter, text, &mut placeholders)?),
        None => legacy::filter(request.query_filter.as_ref(), request.conditional_operator)?,
    };
    let key = match (&request.key_condition_expression, &request.key_conditions) {
        (Some(text), _) => KeyCondition::parse(text, &mut placeholders)?,
        (None, Some(conditions)) => legacy::key_conditions(conditions)?,
        (None, None) => {
            return Err(Error::validation(
                "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
            ));
        }
    };
    let projection = Showing {
        select: request.select,
        index: request.index_name.as_deref(),
        expression: request.projection_expression.as_deref(),
        attributes: request.attributes_to_get.as_ref(),
    }
    .parse(placeholders)?;
    Ok(Asked {
        key,
        filter,
        projection,
    })
}

/// A filter is for what the key condition cannot say.
fn check_filter(filter: Option<&Condition>, table: &Table, index: Option<&Index>) -> Result<(), Error> {
    let key = index.map_or(&table.key, |index| &index.key);
    for name in filter.into_iter().flat_map(Condition::attributes) {
        if key.contains(name) {
            return Err(Error::validation(format!(
                "Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}"
            )));
        }
    }
    let Some(index) = index else { return Ok(()) };
    let mut beyond: Vec<&str> = filter
        .into_iter()
        .flat_map(Condition::attributes)
        .filter(|name| !index.projects(table, name))
        .collect();
    if beyond.is_empty() {
        return Ok(());
    }
    beyond.sort_unstable();
    beyond.dedup();
    Err(Error::invalid_parameter(format!(
        "Secondary index {} does not project one or more filter attributes: [{}]",
        index.name,
        beyond.join(", ")
    )))
}
