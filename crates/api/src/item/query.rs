//! `Query`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::{Item, Items, Map};

use crate::{ConditionalOperator, ConsumedCapacity, LegacyCondition, ReturnConsumedCapacity};

/// Reads the items under one partition key, in order of the sort key, page by page.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Query {
    /// Name or ARN of the table.
    pub table_name: String,
    /// Read this index instead of the table.
    pub index_name: Option<String>,
    /// Which attributes to show, or only the count.
    pub select: Option<Select>,
    /// Only these attributes (legacy).
    pub attributes_to_get: Option<Vec<String>>,
    /// The most items to look at.
    pub limit: Option<u32>,
    /// Whether to see every finished write.
    pub consistent_read: Option<bool>,
    /// Which keys (legacy).
    pub key_conditions: Option<BTreeMap<String, LegacyCondition>>,
    /// Which of the items found (legacy).
    pub query_filter: Option<BTreeMap<String, LegacyCondition>>,
    /// How the filters combine (legacy).
    pub conditional_operator: Option<ConditionalOperator>,
    /// Whether the sort key ascends, which is the default.
    pub scan_index_forward: Option<bool>,
    /// Where the previous page ended.
    pub exclusive_start_key: Option<Item>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// Only these attributes.
    pub projection_expression: Option<String>,
    /// Which of the items found.
    pub filter_expression: Option<String>,
    /// Which keys.
    pub key_condition_expression: Option<String>,
    /// Names for `#placeholders`.
    pub expression_attribute_names: Option<BTreeMap<String, String>>,
    /// Values for `:placeholders`.
    pub expression_attribute_values: Option<Map>,
}

wire_enum! {
    /// What a query or scan shows of the items it finds.
    pub enum Select {
        /// The whole items.
        AllAttributes = "ALL_ATTRIBUTES",
        /// The attributes that the index has.
        AllProjectedAttributes = "ALL_PROJECTED_ATTRIBUTES",
        /// The attributes named.
        SpecificAttributes = "SPECIFIC_ATTRIBUTES",
        /// Only how many there are.
        Count = "COUNT",
    }
}

/// A page of items.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct QueryOutput {
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
