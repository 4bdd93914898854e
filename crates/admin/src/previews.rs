//! Calls that say what would happen, and do nothing: what a write would change, and what a route would take.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a write would change. Nothing is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviewWrite {
    /// `PutItem`, `UpdateItem` or `DeleteItem`.
    pub operation: String,
    /// Its request, in DynamoDB's JSON.
    pub request: Value,
}

/// The answer to [`PreviewWrite`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WritePreview {
    /// How many rows would change.
    pub total: u64,
    /// The first of them: the row of the request, then those that follow from it. A row that stays as it is is not there.
    pub rows: Vec<RowPreview>,
}

/// A row that would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowPreview {
    /// Its table.
    pub table: String,
    /// Its key, in DynamoDB's JSON, as are the two below.
    pub key: Value,
    /// The row as it is; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The row as it would be; none if it would be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Which of the last thousand changes of a table a route would take: one that is at work, or one that is described here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TryRoute {
    /// A route that is at work. Nothing else is given then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Only changes of these entities; none means all, and rows that are no entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Only these events; none means all, or `modify` if `changed` is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Only changes of one of these attributes; none means any change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Only changes that this EventBridge pattern matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Value>,
}

/// The answer to [`TryRoute`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriedRoute {
    /// The table, and what was tried, as in the request.
    pub table: String,
    /// Entities.
    pub entities: Vec<String>,
    /// Events.
    pub events: Vec<String>,
    /// Attributes.
    pub changed: Vec<String>,
    /// The pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Value>,
    /// How many changes were looked at: a thousand, or as many as there are within the retention of the stream.
    pub looked_at: u64,
    /// When the oldest of them was made, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// How many the route would take.
    pub taken: u64,
    /// The newest of those, newest first, as a target gets them without an input template.
    pub changes: Vec<Value>,
}
