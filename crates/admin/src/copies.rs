//! Calls that a copy of tables to another database makes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Lets the rows of tables be read and not written, by any client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseWrites {
    /// The tables.
    pub tables: Vec<String>,
    /// For so long; without it until [`ResumeWrites`], also after the server was started again.
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

/// Lists the tables whose rows are read and not written now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPausedTables {}

/// The answer to [`ListPausedTables`], [`PauseWrites`] and [`ResumeWrites`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedTableList {
    /// All tables whose rows are not written now, by name.
    pub tables: Vec<PausedTableStatus>,
}

/// A table whose rows are not written now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedTableStatus {
    /// Its name.
    pub table: String,
    /// When that ends by itself, in milliseconds since 1970.
    pub until_ms: Option<u64>,
}

/// Creates, changes or writes a table of Trestle's own that holds what models keep about rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteKeptRows {
    /// `CreateTable`, `UpdateTable` or `BatchWriteItem`.
    pub operation: String,
    /// The request of that operation.
    pub request: Value,
}
