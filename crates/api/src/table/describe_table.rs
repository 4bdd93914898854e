//! `DescribeTable`.

use serde::{Deserialize, Serialize};

use super::TableDescription;

/// Asks for a table's definition and state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DescribeTable {
    /// Name or ARN of the table.
    pub table_name: String,
}

/// A table's definition and state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeTableOutput {
    /// The table.
    pub table: Box<TableDescription>,
}
