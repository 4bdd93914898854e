//! Calls for copies of tables to another database.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Makes the rows of tables read-only for all clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseWrites {
    /// The tables.
    pub tables: Vec<String>,
    /// For this time; without it until [`ResumeWrites`], also after a restart of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Resumes writes to tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeWrites {
    /// The tables.
    pub tables: Vec<String>,
}

/// Lists the tables whose rows are read-only now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPausedTables {}

/// The answer to [`ListPausedTables`], [`PauseWrites`] and [`ResumeWrites`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedTableList {
    /// All tables whose rows are read-only now, by name.
    pub tables: Vec<PausedTableStatus>,
}

/// A table whose rows are read-only now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedTableStatus {
    /// Its name.
    pub table: String,
    /// When the pause ends automatically, in milliseconds since 1970.
    pub until_ms: Option<u64>,
}

/// Creates, changes or writes one of Trestle's own tables with data of models about rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteKeptRows {
    /// `CreateTable`, `UpdateTable` or `BatchWriteItem`.
    pub operation: String,
    /// The request of that operation.
    pub request: Value,
}
