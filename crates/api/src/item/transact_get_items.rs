//! `TransactGetItems`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::{ConsumedCapacity, ReturnConsumedCapacity};

/// Reads several items in one consistent state.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TransactGetItems {
    /// The reads.
    pub transact_items: Vec<TransactGetItem>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// One read of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TransactGetItem {
    /// The read.
    pub get: Get,
}

/// One read of a transaction.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Get {
    /// The key.
    pub key: Item,
    /// Name or ARN of the table.
    pub table_name: String,
    /// Only these attributes.
    pub projection_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
}

/// The items found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TransactGetItemsOutput {
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
    /// One answer per read, in order.
    pub responses: Vec<ItemResponse>,
}

/// The result of one read of a transaction.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ItemResponse {
    /// The item, if there is one.
    pub item: Option<Item>,
}
