//! `ListStreams`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Asks which streams there are, page by page.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListStreams {
    /// Only this table's streams.
    pub table_name: Option<String>,
    /// The most streams on a page.
    pub limit: Option<u32>,
    /// Where the previous page ended.
    pub exclusive_start_stream_arn: Option<String>,
}

/// A page of streams.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ListStreamsOutput {
    /// The streams.
    pub streams: Vec<Stream>,
    /// Where this page ended, if there are more.
    pub last_evaluated_stream_arn: Option<String>,
}

/// One stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Stream {
    /// Its ARN.
    pub stream_arn: String,
    /// The table it belongs to.
    pub table_name: String,
    /// When it was opened, as text.
    pub stream_label: String,
}
