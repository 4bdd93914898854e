//! `BatchWriteItem`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::{ConsumedCapacity, ItemCollectionMetrics, ReturnConsumedCapacity, ReturnItemCollectionMetrics};

/// Writes and removes several items, not atomically.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchWriteItem {
    /// Writes by table name or ARN.
    pub request_items: BTreeMap<String, Vec<WriteRequest>>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// Whether to report the item collections' sizes.
    pub return_item_collection_metrics: Option<ReturnItemCollectionMetrics>,
}

/// One write: exactly one member is given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct WriteRequest {
    /// Write an item.
    pub put_request: Option<PutRequest>,
    /// Remove an item.
    pub delete_request: Option<DeleteRequest>,
}

/// An item to write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PutRequest {
    /// The item, key included.
    pub item: Item,
}

/// An item to remove.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteRequest {
    /// The key.
    pub key: Item,
}

/// The writes there was no room for, and the cost.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BatchWriteItemOutput {
    /// The writes to request again; empty when all were processed.
    pub unprocessed_items: BTreeMap<String, Vec<WriteRequest>>,
    /// The item collections' sizes by table.
    pub item_collection_metrics: Option<BTreeMap<String, Vec<ItemCollectionMetrics>>>,
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}
