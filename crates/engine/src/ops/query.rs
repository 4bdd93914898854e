//! `Query`.

use std::borrow::Cow;
use std::sync::Arc;

use trestle_api::{Error, Query, QueryOutput, ReturnConsumedCapacity, Select};
use trestle_env::Timestamp;
use trestle_expr::{
    Condition, KeyCondition, KeySelection, Kind, Parameters, Placeholders, Projection, legacy,
};
use trestle_item::{AttributeValue, Item};
use trestle_store::{Direction, Snapshot};

use crate::catalog::{Catalog, Index, Table};
use crate::range::{self, Range};
use crate::select::{self, Reading, SelectedPage, Showing};
use crate::shared::Shared;

/// A query with parsed expressions, not checked against the table yet.
pub(crate) struct Asked<'a> {
    pub(crate) table: &'a str,
    pub(crate) index: Option<&'a str>,
    pub(crate) key: Cow<'a, KeyCondition>,
    /// Whether the key condition was given as `KeyConditions`.
    pub(crate) legacy: bool,
    pub(crate) filter: Option<Cow<'a, Condition>>,
    pub(crate) projection: Option<Projection>,
    pub(crate) select: Option<Select>,
    pub(crate) forward: bool,
    pub(crate) limit: Option<u32>,
    pub(crate) start: Option<Item>,
    pub(crate) consistent: Option<bool>,
    pub(crate) capacity: Option<ReturnConsumedCapacity>,
}

pub(crate) fn run(shared: &Shared, request: &Query) -> Result<QueryOutput, Error> {
    let asked = parse(request)?;
    let answer =
        shared.in_one_layout(|catalog| asked.read(&*shared.store.snapshot(), catalog, shared.clock.now()))?;
    Ok(QueryOutput {
        items: answer.items,
        count: answer.count,
        scanned_count: answer.scanned_count,
        last_evaluated_key: answer.last_evaluated_key,
        consumed_capacity: answer.consumed_capacity,
    })
}

impl Asked<'_> {
    /// One page of what the query selects in `snapshot`.
    pub(crate) fn read(
        &self,
        snapshot: &dyn Snapshot,
        catalog: &Catalog,
        now: Timestamp,
    ) -> Result<SelectedPage, Error> {
        let table = catalog.table(self.table, now)?;
        let index = select::index(table, self.index, self.consistent, now)?;
        let key = index.map_or(&table.key, |index| &index.key);
        if self.legacy {
            legacy::check_key_conditions(&self.key, &key.hash, &key.range)?;
        }
        let mut selection = self.key.resolve(&key.hash, &key.range)?;
        if index.is_none() {
            selection = select::in_present_layout(table, selection)?;
        }
        let filter = self.filter.as_deref();
        check_filter(filter, table, index.map(|index| &**index))?;
        let shown = select::shown(table, index, self.select, self.projection.clone())?;
        let mut page = Reading {
            table,
            index,
            range: self.range(table, index, &selection)?,
            selection: Some(&selection),
            direction: if self.forward {
                Direction::Forward
            } else {
                Direction::Reverse
            },
            limit: self.limit,
            filter,
            shown,
            consistent: self.consistent,
            capacity: self.capacity,
            partitions: 1,
        }
        .read(snapshot)?;
        if is_one_row(table, index) {
            page.last_evaluated_key = None;
        }
        Ok(page)
    }

    /// The remaining part of the table or index to read.
    fn range(
        &self,
        table: &Table,
        index: Option<&Arc<Index>>,
        selection: &KeySelection,
    ) -> Result<Range, Error> {
        let range = match index {
            Some(index) => range::in_index(index.id, selection),
            None => range::in_table(table.id, selection),
        }
        .ok_or_else(|| Error::internal("a checked key has no place"))?;
        let Some(start) = &self.start else {
            return Ok(range);
        };
        let start = select::bookmark(table, index, selection, start)?;
        let position = select::position(table, index, &start)?;
        if is_one_row(table, index) {
            return Err(no_more_rows(&start));
        }
        if !range.contains(&position) {
            return Err(Error::validation(
                "The provided starting key is outside query boundaries based on provided conditions",
            ));
        }
        Ok(range.after(position, self.forward))
    }
}

/// Whether a partition has at most one row, after which nothing can follow.
fn is_one_row(table: &Table, index: Option<&Arc<Index>>) -> bool {
    index.is_none() && table.key.range.is_empty()
}

/// A query of one row has no start key: DynamoDB never returns one.
fn no_more_rows(start: &Item) -> Error {
    let shown: Vec<String> = start
        .iter()
        .map(|(name, value)| format!("{name}=AttributeValue: {{{}}}", shown_in_text(value)))
        .collect();
    Error::validation(format!(
        "The provided exclusive start key is invalid: ExclusiveStartKey: {{{}}}",
        shown.join(", ")
    ))
}

fn shown_in_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("S:{text}"),
        AttributeValue::N(number) => format!("N:{number}"),
        other => format!("{}:…", other.type_name()),
    }
}

/// Parses a request, as far as that is possible without its table.
fn parse(request: &Query) -> Result<Asked<'_>, Error> {
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
            // Allowed together with other expressions.
            (
                "KeyConditions",
                request.key_conditions.is_some() && request.key_condition_expression.is_some(),
            ),
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
        table: &request.table_name,
        index: request.index_name.as_deref(),
        key: Cow::Owned(key),
        legacy: request.key_condition_expression.is_none(),
        filter: filter.map(Cow::Owned),
        projection,
        select: request.select,
        forward: request.scan_index_forward != Some(false),
        limit: request.limit,
        start: request.exclusive_start_key.clone(),
        consistent: request.consistent_read,
        capacity: request.return_consumed_capacity,
    })
}

/// Refuses a filter on key attributes, and one on attributes that the index does not project.
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
