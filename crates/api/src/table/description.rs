//! The description of a table.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    AttributeDefinition, BillingModeSummary, GlobalSecondaryIndexDescription, KeySchemaElement,
    LocalSecondaryIndexDescription, OnDemandThroughput, ProvisionedThroughputDescription, SSEDescription,
    StreamSpecification, TableClassSummary, TableWarmThroughputDescription,
};
use crate::EpochSeconds;

/// A table's definition and state.
///
/// `DeleteTable` answers without definitions and key schema, hence empty lists are not written.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TableDescription {
    /// Types of the attributes used in keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attribute_definitions: Vec<AttributeDefinition>,
    /// Its name.
    pub table_name: String,
    /// Its key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key_schema: Vec<KeySchemaElement>,
    /// Its status.
    pub table_status: TableStatus,
    /// When it was created.
    pub creation_date_time: Option<EpochSeconds>,
    /// Units reserved.
    pub provisioned_throughput: ProvisionedThroughputDescription,
    /// Its size without indexes.
    pub table_size_bytes: u64,
    /// How many items it holds.
    pub item_count: u64,
    /// Its ARN.
    pub table_arn: String,
    /// Its id, different from that of any other table of the same name.
    pub table_id: Option<String>,
    /// How it is billed; absent for a table that was always provisioned.
    pub billing_mode_summary: Option<BillingModeSummary>,
    /// Its local indexes.
    pub local_secondary_indexes: Option<Vec<LocalSecondaryIndexDescription>>,
    /// Its global indexes.
    pub global_secondary_indexes: Option<Vec<GlobalSecondaryIndexDescription>>,
    /// What its stream shows.
    pub stream_specification: Option<StreamSpecification>,
    /// When its newest stream was opened, as text.
    pub latest_stream_label: Option<String>,
    /// The newest stream's ARN.
    pub latest_stream_arn: Option<String>,
    /// Its encryption, as reported.
    #[serde(rename = "SSEDescription")]
    pub sse_description: Option<SSEDescription>,
    /// Its storage class, once set.
    pub table_class_summary: Option<TableClassSummary>,
    /// Whether deleting it is refused.
    pub deletion_protection_enabled: Option<bool>,
    /// The most it may use on demand.
    pub on_demand_throughput: Option<OnDemandThroughput>,
    /// The throughput it can take at once.
    pub warm_throughput: Option<TableWarmThroughputDescription>,
}

wire_enum! {
    /// The status of a table.
    pub enum TableStatus {
        /// Being created.
        Creating = "CREATING",
        /// Being changed.
        Updating = "UPDATING",
        /// Being removed.
        Deleting = "DELETING",
        /// Ready.
        Active = "ACTIVE",
        /// Its encryption key cannot be used.
        InaccessibleEncryptionCredentials = "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
        /// Being archived.
        Archiving = "ARCHIVING",
        /// Archived.
        Archived = "ARCHIVED",
        /// A replica whose replication is not allowed.
        ReplicationNotAuthorized = "REPLICATION_NOT_AUTHORIZED",
    }
}
