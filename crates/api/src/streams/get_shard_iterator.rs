//! `GetShardIterator`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::EpochSeconds;

/// Requests a position in a shard.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetShardIterator {
    /// Which stream.
    pub stream_arn: String,
    /// Which shard of it.
    pub shard_id: String,
    /// The kind of position.
    pub shard_iterator_type: ShardIteratorType,
    /// The record, for the types that need one.
    pub sequence_number: Option<String>,
    /// The time, for the type that needs one.
    pub timestamp: Option<EpochSeconds>,
}

wire_enum! {
    /// The kind of a position in a shard.
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

/// A position in a shard.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetShardIteratorOutput {
    /// The position, for `GetRecords`.
    pub shard_iterator: Option<String>,
}
