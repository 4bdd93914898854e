//! `UpdateTable`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, OnDemandThroughput, ProvisionedThroughput,
    SSESpecification, StreamSpecification, TableClass, TableDescription, WarmThroughput,
};
use crate::Unsupported;

/// Changes a table's settings, its stream, or one of its global indexes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UpdateTable {
    /// Types of the attributes used in keys, when an index is added.
    pub attribute_definitions: Option<Vec<AttributeDefinition>>,
    /// Name or ARN of the table.
    pub table_name: String,
    /// How it is billed.
    pub billing_mode: Option<BillingMode>,
    /// Units to reserve.
    pub provisioned_throughput: Option<ProvisionedThroughput>,
    /// Changes to its global indexes.
    pub global_secondary_index_updates: Option<Vec<GlobalSecondaryIndexUpdate>>,
    /// What its stream shows.
    pub stream_specification: Option<StreamSpecification>,
    /// How to encrypt it.
    #[serde(rename = "SSESpecification")]
    pub sse_specification: Option<SSESpecification>,
    /// Its storage class.
    pub table_class: Option<TableClass>,
    /// Whether deleting it is refused.
    pub deletion_protection_enabled: Option<bool>,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// The throughput it should be able to take at once.
    pub warm_throughput: Option<WarmThroughput>,
    /// Global tables are not supported.
    pub replica_updates: Option<Unsupported>,
    /// Global tables are not supported.
    pub multi_region_consistency: Option<Unsupported>,
    /// Global tables are not supported.
    pub global_table_witness_updates: Option<Unsupported>,
    /// Global tables are not supported.
    pub global_table_settings_replication_mode: Option<Unsupported>,
    /// Global tables are not supported.
    pub disassociation_protection_enabled: Option<Unsupported>,
    /// Vector indexes are not supported.
    pub vector_index_updates: Option<Unsupported>,
}

/// One change to one global index: exactly one member is given.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GlobalSecondaryIndexUpdate {
    /// Change its throughput.
    pub update: Option<UpdateGlobalSecondaryIndexAction>,
    /// Add it. The same shape as in `CreateTable`.
    pub create: Option<GlobalSecondaryIndex>,
    /// Remove it.
    pub delete: Option<DeleteGlobalSecondaryIndexAction>,
}

/// New throughput for a global index.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UpdateGlobalSecondaryIndexAction {
    /// Which index.
    pub index_name: String,
    /// Units to reserve.
    pub provisioned_throughput: Option<ProvisionedThroughput>,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// The throughput it should be able to take at once.
    pub warm_throughput: Option<WarmThroughput>,
}

/// A global index to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteGlobalSecondaryIndexAction {
    /// Which index.
    pub index_name: String,
}

/// The table while it is being changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateTableOutput {
    /// Its state, usually `UPDATING`.
    pub table_description: Box<TableDescription>,
}
