//! The call that deletes a collection.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Deletes rows of a partition, of a key prefix or of an access pattern: one bounded step. Repeating it does no harm.
///
/// The rows are specified by `table` and `partition`, or by `model` and `access`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteCollection {
    /// The table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The value of its partition key: a text or a number; bytes are a text in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Value>,
    /// Only rows whose sort key begins with this. End it with the separator: `wf` also begins `wf-2`, and
    /// `wf/` does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A model that is stored with the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// One of its access patterns: a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The pattern's parameters: texts, numbers and truth values. A text is converted to the parameter's
    /// type.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The maximum number of rows in the step: 1,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// The approximate maximum of bytes in the step: 4 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Where the previous step ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Only count.
    #[serde(default)]
    pub dry_run: bool,
}

/// The answer to [`DeleteCollection`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeletedRows {
    /// Rows that were found and deleted; a row that another deletion removed at the same time counts for
    /// both. With `dry_run`, rows that were found, including those that would stay.
    pub deleted: u64,
    /// Whether rows were only counted.
    pub dry_run: bool,
    /// The approximate number of bytes that were read to find them.
    pub bytes: u64,
    /// Rows that stay, because the database keeps them for rows elsewhere, or because they do not fit the model.
    pub left: Vec<StayingRow>,
    /// Where the next step continues; absent if it is done.
    pub next: Option<String>,
    /// Whether it is done.
    pub done: bool,
}

/// A row that is not deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StayingRow {
    /// Its key, as DynamoDB's JSON.
    pub key: Value,
    /// The reason.
    pub reason: String,
}
