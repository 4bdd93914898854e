//! `DescribeStream`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{EpochSeconds, KeySchemaElement, StreamViewType};

/// Asks for a stream's state and shards, page by page.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DescribeStream {
    /// Which stream.
    pub stream_arn: String,
    /// The most shards on a page.
    pub limit: Option<u32>,
    /// Where the previous page ended.
    pub exclusive_start_shard_id: Option<String>,
    /// Only some shards.
    pub shard_filter: Option<ShardFilter>,
}

/// Which shards to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ShardFilter {
    /// By what to choose.
    #[serde(rename = "Type")]
    pub filter_type: Option<ShardFilterType>,
    /// Whose children to list.
    pub shard_id: Option<String>,
}

wire_enum! {
    /// By what to choose shards.
    pub enum ShardFilterType {
        /// The children of one shard.
        ChildShards = "CHILD_SHARDS",
    }
}

/// A stream's state and shards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeStreamOutput {
    /// The stream.
    pub stream_description: Box<StreamDescription>,
}

/// A stream's state and shards.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StreamDescription {
    /// Its ARN.
    pub stream_arn: String,
    /// When it was opened, as text.
    pub stream_label: String,
    /// Whether it is open.
    pub stream_status: StreamStatus,
    /// What its records show.
    pub stream_view_type: StreamViewType,
    /// When it was opened.
    pub creation_request_date_time: Option<EpochSeconds>,
    /// The table it belongs to.
    pub table_name: String,
    /// That table's key.
    pub key_schema: Vec<KeySchemaElement>,
    /// The shards of this page.
    pub shards: Vec<Shard>,
    /// Where this page ended, if there are more.
    pub last_evaluated_shard_id: Option<String>,
}

wire_enum! {
    /// Whether a stream is open.
    pub enum StreamStatus {
        /// Being opened.
        Enabling = "ENABLING",
        /// Open.
        Enabled = "ENABLED",
        /// Being closed.
        Disabling = "DISABLING",
        /// Closed; its records can still be read for a while.
        Disabled = "DISABLED",
    }
}

/// A part of a stream that is read in order.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Shard {
    /// Its name.
    pub shard_id: String,
    /// Where it starts and ends.
    pub sequence_number_range: SequenceNumberRange,
    /// The shard to read first.
    pub parent_shard_id: Option<String>,
}

/// Where a shard starts and ends.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SequenceNumberRange {
    /// The first record.
    pub starting_sequence_number: Option<String>,
    /// The last record; absent while the shard is open.
    pub ending_sequence_number: Option<String>,
}
