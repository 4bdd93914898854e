//! `DeleteTable`.

use serde::{Deserialize, Serialize};

use super::TableDescription;

/// Removes a table and everything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteTable {
    /// Name or ARN of the table.
    pub table_name: String,
}

/// The table while it is being deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeleteTableOutput {
    /// Its state, `DELETING`.
    pub table_description: Box<TableDescription>,
}
