//! `CreateTable`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, LocalSecondaryIndex,
    OnDemandThroughput, ProvisionedThroughput, SSESpecification, StreamSpecification, TableClass,
    TableDescription, WarmThroughput,
};
use crate::{Tag, Unsupported};

/// Creates a table.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CreateTable {
    /// Types of the attributes used in keys.
    #[serde(default)]
    pub attribute_definitions: Vec<AttributeDefinition>,
    /// Name or ARN of the new table.
    pub table_name: String,
    /// Its key.
    #[serde(default)]
    pub key_schema: Vec<KeySchemaElement>,
    /// Its local indexes; they cannot be changed later.
    pub local_secondary_indexes: Option<Vec<LocalSecondaryIndex>>,
    /// Its global indexes.
    pub global_secondary_indexes: Option<Vec<GlobalSecondaryIndex>>,
    /// How it is billed.
    pub billing_mode: Option<BillingMode>,
    /// Units to reserve.
    pub provisioned_throughput: Option<ProvisionedThroughput>,
    /// What its stream shows.
    pub stream_specification: Option<StreamSpecification>,
    /// How to encrypt it.
    #[serde(rename = "SSESpecification")]
    pub sse_specification: Option<SSESpecification>,
    /// Labels.
    pub tags: Option<Vec<Tag>>,
    /// Its storage class.
    pub table_class: Option<TableClass>,
    /// Whether deleting it is refused.
    pub deletion_protection_enabled: Option<bool>,
    /// The throughput it should be able to take at once.
    pub warm_throughput: Option<WarmThroughput>,
    /// Who may use it, as a JSON document.
    pub resource_policy: Option<String>,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// Global tables are not supported.
    pub global_table_source_arn: Option<Unsupported>,
    /// Global tables are not supported.
    pub global_table_settings_replication_mode: Option<Unsupported>,
    /// Vector indexes are not supported.
    pub vector_indexes: Option<Unsupported>,
}

/// The new table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CreateTableOutput {
    /// Its state, usually `CREATING`. Boxed so that answers about items stay small.
    pub table_description: Box<TableDescription>,
}
