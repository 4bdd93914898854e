//! The parameters from before expressions existed: `Expected`, `QueryFilter`, `ScanFilter`, `KeyConditions`,
//! `AttributeUpdates` and `AttributesToGet`.
//!
//! They are parsed into the same [`Condition`](crate::Condition), [`KeyCondition`](crate::KeyCondition),
//! [`Update`](crate::Update) and [`Projection`](crate::Projection) as expressions, so that no other crate
//! knows which of the two a request used, except for the number of key conditions.

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

/// Refuses invalid attribute names. In expressions, such names are possible only in placeholders, which are
/// checked there.
fn check_names<'n>(mut names: impl Iterator<Item = &'n String>) -> Result<(), ExprError> {
    match names.find_map(|name| name_problem(name)) {
        Some(problem) => Err(ExprError::new(problem)),
        None => Ok(()),
    }
}
