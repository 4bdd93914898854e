//! Key conditions: which part of a table or index a query reads.

mod parse;
mod resolve;

use trestle_item::{AttributeValue, ScalarType};

use crate::{Condition, ExprError, Kind, Placeholders};

/// What a key cannot answer.
pub(crate) const NOT_SUPPORTED: &str = "Query key condition not supported";

/// Conditions on key attributes, at most one on each, all of which hold.
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
    /// What it must be.
    pub op: KeyOp,
}

/// What a key attribute must be.
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

/// A key condition as a key schema sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySelection {
    /// One value for each hash attribute.
    pub hash: Vec<AttributeValue>,
    /// Values for the first range attributes, which must equal them.
    pub range_equal: Vec<AttributeValue>,
    /// What the range attribute after those must be. Never [`KeyOp::Eq`].
    pub range_last: Option<KeyOp>,
}

impl KeyCondition {
    /// Reads a `KeyConditionExpression`.
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Self, ExprError> {
        let condition = Condition::parse(Kind::KeyCondition, text, placeholders)?;
        parse::key_condition(condition).map_err(|ExprError(problem)| Kind::KeyCondition.invalid(problem))
    }

    /// Finds each key attribute's condition. A query needs all hash attributes, and range attributes from the
    /// first on without a gap, of which only the last may ask for more than equality.
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
