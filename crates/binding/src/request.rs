//! An access pattern with its parameters, as a request that any database answers.

use trestle_api::{GetItem, Query, Request, Scan};
use trestle_expr::{Condition, KeyCondition};
use trestle_model::Bound;

/// The one request of a bound access pattern.
#[must_use]
pub fn request(bound: &Bound) -> Request {
    match bound {
        Bound::Get {
            table_name,
            key,
            consistent,
        } => Request::from(GetItem {
            table_name: table_name.clone(),
            key: key.clone(),
            consistent_read: Some(*consistent),
            ..GetItem::default()
        }),
        Bound::Query {
            table_name,
            index,
            key_condition,
            filter,
            forward,
            limit,
            consistent,
        } => Request::from(Query {
            table_name: table_name.clone(),
            index_name: index.clone(),
            scan_index_forward: Some(*forward),
            limit: *limit,
            consistent_read: Some(*consistent),
            ..conditions(key_condition, filter.as_ref())
        }),
        Bound::Scan {
            table_name,
            index,
            filter,
            limit,
            consistent,
        } => {
            let filter = filter.as_ref().map(Condition::print);
            Request::from(Scan {
                table_name: table_name.clone(),
                index_name: index.clone(),
                limit: *limit,
                consistent_read: Some(*consistent),
                expression_attribute_names: filter.as_ref().map(|printed| printed.names.clone()),
                expression_attribute_values: filter.as_ref().map(|printed| printed.values.clone()),
                filter_expression: filter.map(|printed| printed.text),
                ..Scan::default()
            })
        }
    }
}

/// A query with nothing but its conditions.
fn conditions(key_condition: &KeyCondition, filter: Option<&Condition>) -> Query {
    let mut key = key_condition.print();
    let mut filter_text = None;
    if let Some(filter) = filter {
        // Both number their placeholders from zero, so those of the filter get another letter.
        let printed = filter.print();
        let renamed = |text: &str| text.replace("#n", "#f").replace(":v", ":f");
        let names = printed.names.into_iter();
        key.names
            .extend(names.map(|(name, value)| (renamed(&name), value)));
        for (name, value) in printed.values {
            key.values.insert(renamed(&name), value);
        }
        filter_text = Some(renamed(&printed.text));
    }
    Query {
        key_condition_expression: Some(key.text),
        filter_expression: filter_text,
        expression_attribute_names: Some(key.names),
        expression_attribute_values: Some(key.values),
        ..Query::default()
    }
}
