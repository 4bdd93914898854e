//! Raising a version attribute of rows, so that the stream has a record of each. No operation of the protocol
//! does this for many rows at once, but a database in the same process can.

use trestle_item::Item;

use crate::Error;

/// The default name of the version attribute.
pub const REINDEX_VERSION: &str = "reindexVersion";

/// Rows whose version attribute is raised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TouchRows {
    /// The table's name.
    pub table: String,
    /// The attribute: a number, which is raised and never lowered. A row without it counts as one below every version.
    pub attribute: String,
    /// The version that each row gets, unless it has a later one.
    pub version: u64,
    /// The keys of the rows.
    pub keys: Vec<Item>,
    /// Attributes with the values that each row must have, such as the revision that the caller has read;
    /// empty by default. A row with other values is refused with `ConditionalCheckFailedException`.
    pub expected: Item,
    /// Whether the stream gets another record of rows that already have the version or a later one. They stay
    /// unchanged. Only a database in the same process supports this.
    pub records_again: bool,
}

impl TouchRows {
    /// Whether a row has the expected values.
    #[must_use]
    pub fn expects(&self, row: &Item) -> bool {
        let mut expected = self.expected.iter();
        expected.all(|(name, value)| row.get(name) == Some(value))
    }
}

/// The outcome for one of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Touched {
    /// It now has the version, or a later one if it was recorded again. The stream has one record of it.
    Raised,
    /// It already has this version or a later one. Nothing was written or recorded.
    AlreadyThere,
    /// There is no such row. None is created.
    Gone,
    /// The row cannot take the version. Nothing was written.
    Refused(Error),
}
