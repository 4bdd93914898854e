//! Secondary indexes: their definition and their description.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    GlobalSecondaryIndexWarmThroughputDescription, KeySchemaElement, OnDemandThroughput,
    ProvisionedThroughput, ProvisionedThroughputDescription, WarmThroughput,
};

/// Which attributes an index carries.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Projection {
    /// All, the keys, or the keys and some.
    pub projection_type: Option<ProjectionType>,
    /// The attributes beside the keys, for `INCLUDE`.
    pub non_key_attributes: Option<Vec<String>>,
}

wire_enum! {
    /// Which attributes an index carries.
    pub enum ProjectionType {
        /// Every attribute.
        All = "ALL",
        /// The keys of table and index.
        KeysOnly = "KEYS_ONLY",
        /// The keys and some named attributes.
        Include = "INCLUDE",
    }
}

wire_enum! {
    /// The status of an index.
    pub enum IndexStatus {
        /// Being built.
        Creating = "CREATING",
        /// Being changed.
        Updating = "UPDATING",
        /// Being removed.
        Deleting = "DELETING",
        /// Ready.
        Active = "ACTIVE",
    }
}

/// Definition of an index that shares the table's partition key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LocalSecondaryIndex {
    /// Its name.
    pub index_name: String,
    /// Its key.
    pub key_schema: Vec<KeySchemaElement>,
    /// What it carries.
    pub projection: Projection,
}

/// Definition of an index with a key of its own.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GlobalSecondaryIndex {
    /// Its name.
    pub index_name: String,
    /// Its key.
    pub key_schema: Vec<KeySchemaElement>,
    /// What it carries.
    pub projection: Projection,
    /// Units to reserve.
    pub provisioned_throughput: Option<ProvisionedThroughput>,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// The throughput it should be able to take at once.
    pub warm_throughput: Option<WarmThroughput>,
}

/// State of an index that shares the table's partition key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LocalSecondaryIndexDescription {
    /// Its name.
    pub index_name: String,
    /// Its key.
    pub key_schema: Vec<KeySchemaElement>,
    /// What it carries.
    pub projection: Projection,
    /// Its size.
    pub index_size_bytes: u64,
    /// How many items it holds.
    pub item_count: u64,
    /// Its ARN.
    pub index_arn: String,
}

/// State of an index with a key of its own.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GlobalSecondaryIndexDescription {
    /// Its name.
    pub index_name: String,
    /// Its key.
    pub key_schema: Vec<KeySchemaElement>,
    /// What it carries.
    pub projection: Projection,
    /// Its status; absent once the table is being deleted.
    pub index_status: Option<IndexStatus>,
    /// Whether it is still being filled; absent when it never was.
    pub backfilling: Option<bool>,
    /// Units reserved.
    pub provisioned_throughput: ProvisionedThroughputDescription,
    /// Its size.
    pub index_size_bytes: u64,
    /// How many items it holds.
    pub item_count: u64,
    /// Its ARN.
    pub index_arn: String,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// The throughput it can take at once.
    pub warm_throughput: Option<GlobalSecondaryIndexWarmThroughputDescription>,
}
