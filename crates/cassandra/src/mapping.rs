//! The mapping file: which Cassandra table and which of its columns make which entity.

mod bind;
mod layout;

use std::collections::BTreeMap;

use serde::Deserialize;

pub(crate) use bind::FileFormat;
pub(crate) use bind::Source;
pub use bind::{BoundImport, Plan};
pub(crate) use layout::FileLayout;

/// A parsed mapping file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// The name of the model.
    pub model: String,
    /// The CQL schema, beside the mapping file. A live cluster provides its own.
    pub schema: Option<String>,
    /// Tables that are deliberately left out.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// The imports, in this order.
    #[serde(default)]
    pub(crate) import: Vec<ImportSection>,
}

/// An `[[import]]` of a mapping file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportSection {
    pub(crate) table: String,
    pub(crate) entity: String,
    #[serde(default)]
    pub(crate) files: Vec<String>,
    #[serde(default)]
    pub(crate) format: FormatName,
    /// The columns of files without a header.
    pub(crate) header: Option<Vec<String>>,
    pub(crate) delimiter: Option<String>,
    pub(crate) quote: Option<String>,
    pub(crate) escape: Option<String>,
    pub(crate) null: Option<String>,
    pub(crate) escapes: Option<Escapes>,
    pub(crate) write_time: Option<Choice>,
    pub(crate) expires: Option<Choice>,
    pub(crate) exported: Option<String>,
    pub(crate) columns: BTreeMap<String, ColumnSection>,
}

/// Which tool wrote the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormatName {
    #[default]
    Copy,
    DsbulkCsv,
    DsbulkJson,
}

/// How often `COPY` escaped backslashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Escapes {
    Once,
    Twice,
}

/// An attribute, or `false` for none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choice {
    Attribute(String),
    No(bool),
}

/// What a column becomes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum ColumnSection {
    Attribute(String),
    No(bool),
    Long(LongColumn),
}

/// A column with options.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongColumn {
    pub(crate) attribute: String,
    #[serde(rename = "as")]
    pub(crate) taken: Option<TakenName>,
}

/// How a column is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TakenName {
    Text,
    Json,
}

/// All errors in a mapping file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct MappingError(pub Vec<String>);

impl Mapping {
    /// Parses a mapping file.
    pub fn read(text: &str) -> Result<Self, MappingError> {
        toml::from_str(text).map_err(|error| MappingError(vec![error.to_string().trim_end().to_owned()]))
    }
}
