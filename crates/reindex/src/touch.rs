//! How rows are touched: their version attribute is raised, and never lowered.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
    TouchRows, Touched, UpdateItem,
};
use trestle_item::{AttributeValue, Item};

/// A touch that is under way.
pub type TouchFuture<'a> = Pin<Box<dyn Future<Output = Result<TouchResult, Error>> + Send + 'a>>;

/// The outcome of rows that were to be touched.
#[derive(Clone, Debug, PartialEq)]
pub struct TouchResult {
    /// The outcome of each, in the order of the keys.
    pub rows: Vec<Touched>,
    /// The write units used.
    pub write_units: f64,
}

/// Something that raises the version attribute of rows.
pub trait Touch: Send + Sync {
    /// Raises the attribute of each row individually. An error means that the outcome of all of them is
    /// unknown; the call can be repeated.
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_>;

    /// Whether it supports `records_again`: the stream can have another record of an unchanged row.
    fn records_again(&self) -> bool {
        false
    }
}

/// Updates of a touch that run at the same time.
const IN_FLIGHT: usize = 32;

/// The attribute is missing or lower, and the row exists.
const CONDITION: &str = "attribute_exists(#key) AND (attribute_not_exists(#version) OR #version < :version)";

/// Touches rows of any database by conditional updates, many at the same time.
pub struct TouchByUpdate {
    database: Arc<dyn Database>,
}

impl TouchByUpdate {
    /// Touches rows of this database.
    #[must_use]
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database }
    }

    async fn touch_one(&self, update: UpdateItem, rows: &TouchRows) -> (Touched, f64) {
        match self.database.update_item(update).await {
            Ok(done) => {
                let units = done
                    .consumed_capacity
                    .and_then(|consumed| consumed.capacity_units);
                (Touched::Raised, units.unwrap_or(1.0))
            }
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => (unmet(&error, rows), 1.0),
            Err(error) => (Touched::Refused(error), 0.0),
        }
    }
}

/// The meaning of a failed condition for a row. If an endpoint does not return the row, the usual case is
/// assumed.
fn unmet(error: &Error, rows: &TouchRows) -> Touched {
    let attribute = &rows.attribute;
    let is_there = |present: &AttributeValue| match (present, AttributeValue::from(rows.version)) {
        (AttributeValue::N(present), AttributeValue::N(wanted)) => *present >= wanted,
        _ => false,
    };
    match error.item().map(|row| (row, row.get(attribute))) {
        None if rows.expected.is_empty() => Touched::AlreadyThere,
        None => Touched::Refused(Error::condition_failed(None)),
        Some((row, _)) if row.is_empty() => Touched::Gone,
        Some((_, Some(present))) if is_there(present) => Touched::AlreadyThere,
        Some((row, None | Some(AttributeValue::N(_)))) if !rows.expects(row) => {
            Touched::Refused(Error::condition_failed(None))
        }
        Some((_, Some(AttributeValue::N(_)))) => Touched::AlreadyThere,
        Some((_, Some(other))) => Touched::Refused(Error::validation(format!(
            "attribute {attribute} of the row is of type {} and not a number; remove it from the row, or choose another \
             version attribute",
            other.type_name()
        ))),
        Some((_, None)) => Touched::Gone,
    }
}

fn update(rows: &TouchRows, key: &Item) -> UpdateItem {
    let key_name = key.keys().next().cloned().unwrap_or_default();
    let names = [("#key", key_name), ("#version", rows.attribute.clone())];
    let named = |(placeholder, name): (&str, String)| (placeholder.to_owned(), name);
    let mut names: BTreeMap<String, String> = names.map(named).into_iter().collect();
    let mut values = Item::from([(":version", rows.version)]);
    let mut condition = CONDITION.to_owned();
    for (number, (name, value)) in rows.expected.iter().enumerate() {
        condition += &format!(" AND #expected{number} = :expected{number}");
        names.insert(format!("#expected{number}"), name.clone());
        values.insert(format!(":expected{number}"), value.clone());
    }
    UpdateItem {
        table_name: rows.table.clone(),
        key: key.clone(),
        update_expression: Some("SET #version = :version".to_owned()),
        condition_expression: Some(condition),
        expression_attribute_names: Some(names),
        expression_attribute_values: Some(values),
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        return_values_on_condition_check_failure: Some(ReturnValuesOnConditionCheckFailure::AllOld),
        ..UpdateItem::default()
    }
}

impl Touch for TouchByUpdate {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move {
            let updates: Vec<UpdateItem> = rows.keys.iter().map(|key| update(&rows, key)).collect();
            let touched: Vec<(Touched, f64)> = stream::iter(updates)
                .map(|update| self.touch_one(update, &rows))
                .buffered(IN_FLIGHT)
                .collect()
                .await;
            Ok(TouchResult {
                write_units: touched.iter().map(|(_, units)| units).sum(),
                rows: touched.into_iter().map(|(row, _)| row).collect(),
            })
        })
    }
}
