//! Calls of a reindex that runs in another process than the models: only the process with the models may raise version attributes that
//! they declare.

use serde::{Deserialize, Serialize};
use trestle_api::{Error, ErrorKind, Touched};
use trestle_item::Item;
use trestle_reindex::TouchResult;

/// Raises the version attribute of rows, each independently: no version is lowered, no other attribute changes, and no row is created.
/// Repeating it writes nothing more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TouchPage {
    /// The table.
    pub table: String,
    /// The attribute: a number.
    pub attribute: String,
    /// The version that each row gets unless it has a later one.
    pub version: u64,
    /// The keys of the rows, in DynamoDB's JSON: 1,000 at most.
    pub keys: Vec<Item>,
    /// Attributes with the values that each row must have, in DynamoDB's JSON. A row with other values is refused.
    #[serde(default, skip_serializing_if = "Item::is_empty")]
    pub expected: Item,
    /// Whether rows that already have the version get another record in the stream. A gateway cannot write such records.
    #[serde(default)]
    pub records_again: bool,
}

/// The answer to [`TouchPage`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TouchedRows {
    /// The outcome for each row, in the order of the keys.
    pub rows: Vec<TouchedRow>,
    /// The write units that were consumed.
    pub write_units: f64,
}

/// The outcome of a touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum TouchedRow {
    /// The row has the version now, or got another record.
    Raised,
    /// The row already had this version or a later one.
    AlreadyThere,
    /// There is no such row.
    Gone,
    /// The version of the row cannot be raised.
    Refused {
        /// The name of DynamoDB's error.
        error: String,
        /// The error message.
        message: String,
    },
}

/// Sets the version that inserted rows get from now on, in a whole table or for one entity. Call it before the first row is touched, so
/// that no inserted row is missed. A version lower than the present one changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetReindexVersion {
    /// The table.
    pub table: String,
    /// Only rows of this entity, which declares `reindex_version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The version.
    pub version: u64,
}

/// The answer to [`SetReindexVersion`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexVersionSet {
    /// The table.
    pub table: String,
}

impl TouchPage {
    /// The maximum number of rows in a call.
    pub const ROWS_MAX: usize = 1_000;
}

impl From<TouchPage> for trestle_api::TouchRows {
    fn from(call: TouchPage) -> Self {
        Self {
            table: call.table,
            attribute: call.attribute,
            version: call.version,
            keys: call.keys,
            expected: call.expected,
            records_again: call.records_again,
        }
    }
}

impl From<trestle_api::TouchRows> for TouchPage {
    fn from(rows: trestle_api::TouchRows) -> Self {
        Self {
            table: rows.table,
            attribute: rows.attribute,
            version: rows.version,
            keys: rows.keys,
            expected: rows.expected,
            records_again: rows.records_again,
        }
    }
}

impl From<TouchResult> for TouchedRows {
    fn from(result: TouchResult) -> Self {
        Self {
            rows: result.rows.into_iter().map(TouchedRow::from).collect(),
            write_units: result.write_units,
        }
    }
}

impl From<Touched> for TouchedRow {
    fn from(touched: Touched) -> Self {
        match touched {
            Touched::Raised => Self::Raised,
            Touched::AlreadyThere => Self::AlreadyThere,
            Touched::Gone => Self::Gone,
            Touched::Refused(error) => Self::Refused {
                error: error.kind().as_str().to_owned(),
                message: error.message().to_owned(),
            },
        }
    }
}

impl From<TouchedRow> for Touched {
    fn from(row: TouchedRow) -> Self {
        match row {
            TouchedRow::Raised => Self::Raised,
            TouchedRow::AlreadyThere => Self::AlreadyThere,
            TouchedRow::Gone => Self::Gone,
            TouchedRow::Refused { error, message } => {
                // A newer server may use other names.
                let kind = ErrorKind::from_wire(&error).unwrap_or(ErrorKind::InternalServerError);
                Self::Refused(Error::new(kind, message))
            }
        }
    }
}
