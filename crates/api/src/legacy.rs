//! The parameters that came before expressions; still accepted.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::AttributeValue;

// Moves to `trestle_expr::legacy`, whose names these are.

/// What an attribute is expected to be before a write.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ExpectedAttributeValue {
    /// The value to equal.
    pub value: Option<AttributeValue>,
    /// Whether it has to exist.
    pub exists: Option<bool>,
    /// How to compare.
    pub comparison_operator: Option<ComparisonOperator>,
    /// What to compare with.
    pub attribute_value_list: Option<Vec<AttributeValue>>,
}

/// A comparison in `KeyConditions`, `QueryFilter` or `ScanFilter`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LegacyCondition {
    /// What to compare with.
    pub attribute_value_list: Option<Vec<AttributeValue>>,
    /// How to compare.
    pub comparison_operator: ComparisonOperator,
}

/// A change to one attribute.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AttributeValueUpdate {
    /// The operand.
    pub value: Option<AttributeValue>,
    /// What to do with it.
    pub action: Option<AttributeAction>,
}

wire_enum! {
    /// How several conditions combine.
    pub enum ConditionalOperator {
        /// All must hold.
        And = "AND",
        /// One must hold.
        Or = "OR",
    }
}

wire_enum! {
    /// How a change is made.
    pub enum AttributeAction {
        /// Set.
        Put = "PUT",
        /// Add to a number or a set.
        Add = "ADD",
        /// Remove, or remove from a set.
        Delete = "DELETE",
    }
}

wire_enum! {
    /// A comparison.
    pub enum ComparisonOperator {
        /// Equal.
        Eq = "EQ",
        /// Not equal.
        Ne = "NE",
        /// One of.
        In = "IN",
        /// At most.
        Le = "LE",
        /// Less than.
        Lt = "LT",
        /// At least.
        Ge = "GE",
        /// Greater than.
        Gt = "GT",
        /// Between two, inclusive.
        Between = "BETWEEN",
        /// Exists.
        NotNull = "NOT_NULL",
        /// Does not exist.
        Null = "NULL",
        /// Has a part or member.
        Contains = "CONTAINS",
        /// Lacks a part or member.
        NotContains = "NOT_CONTAINS",
        /// Starts with.
        BeginsWith = "BEGINS_WITH",
    }
}
