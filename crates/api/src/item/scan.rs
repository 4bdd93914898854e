//! `Scan`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::{Item, Items, Map};

use super::Select;
use crate::{ConditionalOperator, ConsumedCapacity, LegacyCondition, ReturnConsumedCapacity};

/// Reads every item of a table or index, page by page.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Scan {
    /// Name or ARN of the table.
    pub table_name: String,
    /// Read this index instead of the table.
    pub index_name: Option<String>,
    /// Only these attributes (legacy).
    pub attributes_to_get: Option<Vec<String>>,
    /// The most items to look at.
    pub limit: Option<u32>,
    /// Which attributes to show, or only the count.
    pub select: Option<Select>,
    /// Which of the items found (legacy).
    pub scan_filter: Option<BTreeMap<String, LegacyCondition>>,
    /// How the filters combine (legacy).
    pub conditional_operator: Option<ConditionalOperator>,
    /// Where the previous page ended.
    pub exclusive_start_key: Option<Item>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// How many workers share the scan.
    pub total_segments: Option<u32>,
    /// Which of them this is, from 0.
    pub segment: Option<u32>,
    /// Only these attributes.
    pub projection_expression: Option<String>,
    /// Which of the items found.
    pub filter_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
    /// Whether to see every finished write.
    pub consistent_read: Option<bool>,
}

/// A page of items.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScanOutput {
    /// The items; absent when only the count was asked for.
    pub items: Option<Items>,
    /// How many items passed the filter.
    pub count: u32,
    /// How many items were looked at.
    pub scanned_count: u32,
    /// Where this page ended, if there may be more.
    pub last_evaluated_key: Option<Item>,
    /// The cost.
    pub consumed_capacity: Option<ConsumedCapacity>,
}
