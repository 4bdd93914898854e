//! Calls that preview something without doing it: what a write would change, and what a route would take.

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
    /// The first of them: the row of the request, then the companions. Unchanged rows are left out.
    pub rows: Vec<RowPreview>,
}

/// A row that would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowPreview {
    /// Its table.
    pub table: String,
    /// Its key, in DynamoDB's JSON, as are the two below.
    pub key: Value,
    /// The row as it is; absent if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The row as it would be; absent if it would be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Returns which of the last thousand changes of a table a route would take: a running route, or one that is
/// described here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TryRoute {
    /// A running route. No other member is given then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Only changes of these entities; empty means all, and rows without an entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Only these events; empty means all, or `modify` if `changed` is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Only changes of one of these attributes; empty means any change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Only changes that this EventBridge pattern matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Value>,
}

/// The answer to [`TryRoute`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriedRoute {
    /// The table, and the filters that were tried, as in the request.
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
    /// How many changes were read: a thousand, or all within the retention of the stream.
    pub looked_at: u64,
    /// When the oldest of them was made, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// How many the route would take.
    pub taken: u64,
    /// The newest of those, newest first, in the form that a target gets without an input template.
    pub changes: Vec<Value>,
}
