//! The legacy parameters, as sent in requests.

use serde::{Deserialize, Serialize};
use trestle_item::AttributeValue;

/// The condition of `Expected` on one attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ExpectedAttributeValue {
    /// The one value to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<AttributeValue>,
    /// Whether the attribute must exist and equal `value`, or must not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// How to compare, instead of `exists`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison_operator: Option<ComparisonOperator>,
    /// The values to compare with, instead of `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_value_list: Option<Vec<AttributeValue>>,
}

/// The condition of `QueryFilter`, `ScanFilter` or `KeyConditions` on one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LegacyCondition {
    /// The values to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute_value_list: Option<Vec<AttributeValue>>,
    /// How to compare.
    pub comparison_operator: ComparisonOperator,
}

/// The change of one attribute by `AttributeUpdates`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AttributeValueUpdate {
    /// The value to put, add or delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<AttributeValue>,
    /// The action; `PUT` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<AttributeAction>,
}

/// Whether all conditions must hold or one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ConditionalOperator {
    /// All.
    #[default]
    And,
    /// At least one.
    Or,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs)] // The names are DynamoDB's.
pub enum ComparisonOperator {
    Eq,
    Ne,
    In,
    Le,
    Lt,
    Ge,
    Gt,
    Between,
    NotNull,
    Null,
    Contains,
    NotContains,
    BeginsWith,
}

/// The action on an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AttributeAction {
    /// Put the value.
    #[default]
    Put,
    /// Add to a number, a set or a list.
    Add,
    /// Delete the attribute, or elements of a set.
    Delete,
}

impl ComparisonOperator {
    /// The operator's name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "EQ",
            Self::Ne => "NE",
            Self::In => "IN",
            Self::Le => "LE",
            Self::Lt => "LT",
            Self::Ge => "GE",
            Self::Gt => "GT",
            Self::Between => "BETWEEN",
            Self::NotNull => "NOT_NULL",
            Self::Null => "NULL",
            Self::Contains => "CONTAINS",
            Self::NotContains => "NOT_CONTAINS",
            Self::BeginsWith => "BEGINS_WITH",
        }
    }
}
