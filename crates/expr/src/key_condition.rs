//! Key conditions: which part of a table or index a query reads.

mod parse;
mod resolve;

use trestle_item::{AttributeValue, ScalarType};

use crate::{Condition, ExprError, Kind, Placeholders};

/// The error for conditions that cannot be evaluated with a key.
pub(crate) const NOT_SUPPORTED: &str = "Query key condition not supported";

/// Conditions on key attributes, at most one on each, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    /// In the order written.
    pub terms: Vec<KeyTerm>,
}

/// A condition on one key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTerm {
    /// The attribute.
    pub attribute: String,
    /// The condition on its value.
    pub op: KeyOp,
}

/// A condition on the value of a key attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOp {
    /// Equal to the value.
    Eq(AttributeValue),
    /// Less than the value.
    Lt(AttributeValue),
    /// Less than or equal to the value.
    Le(AttributeValue),
    /// Greater than the value.
    Gt(AttributeValue),
    /// Greater than or equal to the value.
    Ge(AttributeValue),
    /// Within bounds, both included.
    Between(AttributeValue, AttributeValue),
    /// Text or bytes beginning with the value.
    BeginsWith(AttributeValue),
}

/// An attribute of the key schema of a table or index.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ScalarType,
}

/// A key condition resolved with a key schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySelection {
    /// One value for each hash attribute.
    pub hash: Vec<AttributeValue>,
    /// Values for the first range attributes, which must equal them.
    pub range_equal: Vec<AttributeValue>,
    /// The condition on the next range attribute. Never [`KeyOp::Eq`].
    pub range_last: Option<KeyOp>,
}

impl KeyCondition {
    /// Parses a `KeyConditionExpression`.
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Self, ExprError> {
        let condition = Condition::parse(Kind::KeyCondition, text, placeholders)?;
        parse::key_condition(condition).map_err(|ExprError(problem)| Kind::KeyCondition.invalid(problem))
    }

    /// Finds the condition of each key attribute. A query needs all hash attributes, and range attributes
    /// from the first on without a gap, of which only the last may have a condition other than equality.
    pub fn resolve(&self, hash: &[KeyAttribute], range: &[KeyAttribute]) -> Result<KeySelection, ExprError> {
        resolve::resolve(&self.terms, hash, range)
    }
}

impl KeyOp {
    /// The value or values to compare with.
    pub fn values(&self) -> impl Iterator<Item = &AttributeValue> {
        let (first, second) = match self {
            Self::Eq(value)
            | Self::Lt(value)
            | Self::Le(value)
            | Self::Gt(value)
            | Self::Ge(value)
            | Self::BeginsWith(value) => (value, None),
            Self::Between(low, high) => (low, Some(high)),
        };
        std::iter::once(first).chain(second)
    }
}
