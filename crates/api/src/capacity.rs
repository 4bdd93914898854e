//! The cost of a request, and the sizes of item collections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

wire_enum! {
    /// How much of the cost to report.
    pub enum ReturnConsumedCapacity {
        /// Nothing.
        None = "NONE",
        /// One sum per table.
        Total = "TOTAL",
        /// The sum, and its parts for the table and each index.
        Indexes = "INDEXES",
    }
}

wire_enum! {
    /// Whether to report the size of the item collections written to.
    pub enum ReturnItemCollectionMetrics {
        /// Do not.
        None = "NONE",
        /// Report the estimated size.
        Size = "SIZE",
    }
}

/// Capacity units one request consumed of one table.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsumedCapacity {
    /// The table, named as the request named it.
    pub table_name: Option<String>,
    /// The sum over table and indexes.
    pub capacity_units: Option<f64>,
    /// The read part of the sum; only in transactions.
    pub read_capacity_units: Option<f64>,
    /// The write part of the sum; only in transactions.
    pub write_capacity_units: Option<f64>,
    /// The table's own part.
    pub table: Option<Capacity>,
    /// The parts of the local indexes used.
    pub local_secondary_indexes: Option<BTreeMap<String, Capacity>>,
    /// The parts of the global indexes used.
    pub global_secondary_indexes: Option<BTreeMap<String, Capacity>>,
}

/// Capacity units of a table or an index.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Capacity {
    /// The read part; only in transactions.
    pub read_capacity_units: Option<f64>,
    /// The write part; only in transactions.
    pub write_capacity_units: Option<f64>,
    /// The sum.
    pub capacity_units: Option<f64>,
}

/// The size of one item collection: the items that share a partition key in a table with local indexes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ItemCollectionMetrics {
    /// The partition key's name and value.
    pub item_collection_key: Item,
    /// Lower and upper bound of the size, in gigabytes.
    #[serde(rename = "SizeEstimateRangeGB")]
    pub size_estimate_range_gb: Vec<f64>,
}
