//! `GetItem`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::{ConsumedCapacity, ReturnConsumedCapacity};

/// Reads the item with a key.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetItem {
    /// Name or ARN of the table.
    pub table_name: String,
    /// The key.
    pub key: Item,
    /// Only these attributes (legacy).
    pub attributes_to_get: Option<Vec<String>>,
    /// Whether to see every finished write.
    pub consistent_read: Option<bool>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// Only these attributes.
    pub projection_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
}

/// The item, and the cost.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetItemOutput {
    /// The item, if there is one.
    pub item: Option<Item>,
    /// The cost.
    pub consumed_capacity: Option<ConsumedCapacity>,
}
