//! The parameters that came before expressions: `Expected`, `QueryFilter`, `ScanFilter`, `KeyConditions`,
//! `AttributeUpdates` and `AttributesToGet`.
//!
//! They are read into the same [`Condition`](crate::Condition), [`KeyCondition`](crate::KeyCondition),
//! [`Update`](crate::Update) and [`Projection`](crate::Projection) as expressions are, so nothing behind this crate
//! knows which of the two a request used.

mod comparison;
mod conditions;
mod parameters;
mod projection;
mod updates;

pub use conditions::{expected, filter, key_conditions};
pub use parameters::{
    AttributeAction, AttributeValueUpdate, ComparisonOperator, ConditionalOperator, ExpectedAttributeValue,
    LegacyCondition,
};
pub use projection::attributes_to_get;
pub use updates::attribute_updates;
