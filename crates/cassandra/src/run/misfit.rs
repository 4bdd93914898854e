//! Rows that do not fit, and rows that collide.

use serde::Serialize;
use trestle_item::Item;

/// The maximum length of a value in a message.
const SHOWN_MAX: usize = 120;

/// The location of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RecordPlace {
    /// In a file.
    Line {
        /// The file.
        file: String,
        /// The line at which the record begins, counted from 1.
        line: u64,
    },
    /// In a table of a live cluster.
    Table {
        /// The table.
        table: String,
        /// The columns of its key, unless they are shown elsewhere.
        #[serde(skip_serializing_if = "Option::is_none")]
        row: Option<String>,
    },
}

impl std::fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RecordPlace::Line { file, line } => write!(f, "{file}:{line}"),
            RecordPlace::Table {
                table,
                row: Some(row),
            } => write!(f, "{table} ({row})"),
            RecordPlace::Table { table, row: None } => f.write_str(table),
        }
    }
}

/// A record that cannot be converted to a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// The entity it should become.
    pub entity: String,
    /// Its location.
    #[serde(flatten)]
    pub place: RecordPlace,
    /// The column; `None` if the whole record is concerned.
    pub column: Option<String>,
    /// The value, shortened.
    pub value: Option<String>,
    /// The reason, as the rest of a sentence about the value or the record.
    pub reason: String,
    /// The next step.
    pub help: String,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.place)?;
        match (&self.column, &self.value) {
            (Some(column), Some(value)) => write!(f, "column {column}, {value:?}, {}", self.reason)?,
            (Some(column), None) => write!(f, "column {column} {}", self.reason)?,
            _ => write!(f, "the row {}", self.reason)?,
        }
        match self.help.as_str() {
            "" => Ok(()),
            help => write!(f, "\n  help: {help}"),
        }
    }
}

/// An imported row that was not written, because of a row in the database or because the database refused it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The entity.
    pub entity: String,
    /// The location of its record.
    #[serde(flatten)]
    pub place: RecordPlace,
    /// The key of the row.
    pub key: String,
    /// Why it was not written, and the next step.
    pub reason: String,
}

impl std::fmt::Display for Collision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} {}: {}", self.place, self.entity, self.key, self.reason)
    }
}

/// A value in the form used in messages.
pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    short.push('…');
    short
}

/// A key in the form used in messages.
pub(super) fn shown_key(key: &Item) -> String {
    serde_json::to_string(key).map_or_else(|_| format!("{key:?}"), |json| shortened(&json))
}
