//! `BatchGetItem`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::{ConsumedCapacity, ReturnConsumedCapacity};

/// Reads several items, not atomically.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchGetItem {
    /// Keys by table name or ARN.
    pub request_items: BTreeMap<String, KeysAndAttributes>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// What to read of one table.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct KeysAndAttributes {
    /// The keys.
    pub keys: Vec<Item>,
    /// Only these attributes (legacy).
    pub attributes_to_get: Option<Vec<String>>,
    /// Whether to see every finished write.
    pub consistent_read: Option<bool>,
    /// Only these attributes.
    pub projection_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
}

/// The items found, and the keys there was no room for.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BatchGetItemOutput {
    /// Items by table, named as in the request.
    pub responses: BTreeMap<String, Vec<Item>>,
    /// The keys to request again; empty when all were processed.
    pub unprocessed_keys: BTreeMap<String, KeysAndAttributes>,
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}
