//! The parameters that came before expressions: `Expected`, `QueryFilter`, `ScanFilter`, `KeyConditions`,
//! `AttributeUpdates` and `AttributesToGet`.
//!
//! They are read into the same [`Condition`](crate::Condition), [`KeyCondition`](crate::KeyCondition),
//! [`Update`](crate::Update) and [`Projection`](crate::Projection) as expressions are, so nothing behind this crate
//! knows which of the two a request used, but for the number of key conditions.

mod comparison;
mod conditions;
mod parameters;
mod projection;
mod updates;

use trestle_item::name_problem;

use crate::ExprError;

pub use conditions::{check_key_conditions, expected, filter, key_conditions};
pub use parameters::{
    AttributeAction, AttributeValueUpdate, ComparisonOperator, ConditionalOperator, ExpectedAttributeValue,
    LegacyCondition,
};
pub use projection::attributes_to_get;
pub use updates::attribute_updates;

/// Refuses what no attribute is called. Expressions have such names in their placeholders only, which are checked there.
fn check_names<'n>(mut names: impl Iterator<Item = &'n String>) -> Result<(), ExprError> {
    match names.find_map(|name| name_problem(name)) {
        Some(problem) => Err(ExprError::new(problem)),
        None => Ok(()),
    }
}
