//! `TransactWriteItems`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::{Item, Map};

use super::ReturnValuesOnConditionCheckFailure;
use crate::{ConsumedCapacity, ItemCollectionMetrics, ReturnConsumedCapacity, ReturnItemCollectionMetrics};

/// Makes several writes atomically.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TransactWriteItems {
    /// The writes and checks.
    pub transact_items: Vec<TransactWriteItem>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// Whether to report the item collections' sizes.
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
    /// Identifies the request, so that repeating it has no effect.
    pub client_request_token: Option<String>,
}

/// One part of a transaction: exactly one member is given. Boxed, so that a part does not reserve space for
/// all four.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TransactWriteItem {
    /// Check an item without changing it.
    pub condition_check: Option<Box<ConditionCheck>>,
    /// Write an item.
    pub put: Option<Box<Put>>,
    /// Remove an item.
    pub delete: Option<Box<Delete>>,
    /// Change an item.
    pub update: Option<Box<Update>>,
}

/// A condition on an item the transaction does not change.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ConditionCheck {
    /// The key.
    pub key: Item,
    /// Name or ARN of the table.
    pub table_name: String,
    /// What must hold.
    pub condition_expression: String,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// An item to write.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Put {
    /// The item, key included.
    pub item: Item,
    /// Name or ARN of the table.
    pub table_name: String,
    /// The condition before the write.
    pub condition_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// An item to remove.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Delete {
    /// The key.
    pub key: Item,
    /// Name or ARN of the table.
    pub table_name: String,
    /// The condition before the write.
    pub condition_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// An item to change.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Update {
    /// The key.
    pub key: Item,
    /// The changes.
    pub update_expression: String,
    /// Name or ARN of the table.
    pub table_name: String,
    /// The condition before the write.
    pub condition_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// The cost and sizes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TransactWriteItemsOutput {
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
    /// The item collections' sizes by table.
    pub item_collection_metrics: Option<BTreeMap<String, Vec<ItemCollectionMetrics>>>,
}
