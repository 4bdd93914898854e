//! Tags: `TagResource`, `UntagResource` and `ListTagsOfResource`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// One label on a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Tag {
    /// Its name.
    pub key: String,
    /// Its content; may be empty.
    pub value: String,
}

/// Adds tags to a table, replacing those with the same keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TagResource {
    /// The table's ARN.
    pub resource_arn: String,
    /// The tags.
    pub tags: Vec<Tag>,
}

/// Nothing: the HTTP answer has no body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagResourceOutput {}

/// Removes tags from a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UntagResource {
    /// The table's ARN.
    pub resource_arn: String,
    /// Keys of the tags.
    pub tag_keys: Vec<String>,
}

/// Nothing: the HTTP answer has no body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntagResourceOutput {}

/// Asks for a table's tags.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListTagsOfResource {
    /// The table's ARN.
    pub resource_arn: String,
    /// Where the previous page ended.
    pub next_token: Option<String>,
}

/// A table's tags.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ListTagsOfResourceOutput {
    /// The tags.
    pub tags: Vec<Tag>,
    /// Where this page ended, if there are more.
    pub next_token: Option<String>,
}
