//! `DeleteItem`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::{Item, Map};

use super::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use crate::{
    ConditionalOperator, ConsumedCapacity, ExpectedAttributeValue, ItemCollectionMetrics,
    ReturnConsumedCapacity, ReturnItemCollectionMetrics,
};

/// Removes the item with a key; succeeds if there is none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteItem {
    /// Name or ARN of the table.
    pub table_name: String,
    /// The key.
    pub key: Item,
    /// The values that attributes must have before the write (legacy).
    pub expected: Option<BTreeMap<String, ExpectedAttributeValue>>,
    /// How the expectations combine (legacy).
    pub conditional_operator: Option<ConditionalOperator>,
    /// What to show of the item removed.
    pub return_values: Option<ReturnValue>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// Whether to report the item collection's size.
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    /// The condition before the write.
    pub condition_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// What was removed, and the cost.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeleteItemOutput {
    /// The item removed, if there was one and it was asked for.
    pub attributes: Option<Item>,
    /// The cost.
    pub consumed_capacity: Option<ConsumedCapacity>,
    /// The item collection's size.
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
}
