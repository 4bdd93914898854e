//! `GetRecords`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Record;

/// Reads records from a position in a shard.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetRecords {
    /// The position.
    pub shard_iterator: String,
    /// The most records.
    pub limit: Option<u32>,
}

/// Records, and the next position.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetRecordsOutput {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// The next position; absent at the end of a closed shard.
    pub next_shard_iterator: Option<String>,
}
