//! `ListTables`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Asks for the names of all tables, page by page.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListTables {
    /// Where the previous page ended.
    pub exclusive_start_table_name: Option<String>,
    /// The most names on a page.
    pub limit: Option<u32>,
}

/// A page of names, sorted.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ListTablesOutput {
    /// The names.
    pub table_names: Vec<String>,
    /// Where this page ended, if there are more.
    pub last_evaluated_table_name: Option<String>,
}
