//! `GetShardIterator`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::EpochSeconds;

/// Asks for a place in a shard to read from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetShardIterator {
    /// Which stream.
    pub stream_arn: String,
    /// Which shard of it.
    pub shard_id: String,
    /// Which place.
    pub shard_iterator_type: ShardIteratorType,
    /// The record meant, for the types that speak of one.
    pub sequence_number: Option<String>,
    /// The time meant, for the type that speaks of one.
    pub timestamp: Option<EpochSeconds>,
}

wire_enum! {
    /// A place in a shard.
    pub enum ShardIteratorType {
        /// The oldest record kept.
        TrimHorizon = "TRIM_HORIZON",
        /// After the newest record.
        Latest = "LATEST",
        /// At a given record.
        AtSequenceNumber = "AT_SEQUENCE_NUMBER",
        /// After a given record.
        AfterSequenceNumber = "AFTER_SEQUENCE_NUMBER",
        /// The first record at or after a time.
        AtTimestamp = "AT_TIMESTAMP",
    }
}

/// A place in a shard to read from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetShardIteratorOutput {
    /// The place, for `GetRecords`.
    pub shard_iterator: Option<String>,
}
