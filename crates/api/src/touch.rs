//! Raising a version attribute of rows, so that the stream has a record of each. No operation of the protocol does it for many
//! rows at once: a database in the same process can.

use trestle_item::Item;

use crate::Error;

/// The name of the version attribute where neither a model nor a setting gives another one.
pub const REINDEX_VERSION: &str = "reindexVersion";

/// Rows whose version attribute is to be raised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TouchRows {
    /// The table's name.
    pub table: String,
    /// The attribute: a number, which is raised and never lowered. A row without it counts as one below every version.
    pub attribute: String,
    /// The version that each row has afterwards, unless it has a later one.
    pub version: u64,
    /// The keys of the rows.
    pub keys: Vec<Item>,
    /// Attributes with the values that each row must have, such as the revision that the caller has read; none unless given. A
    /// row that has other values is refused with `ConditionalCheckFailedException`.
    pub expected: Item,
    /// Whether the stream gets another record of rows that have the version or a later one already. They stay as they are. Only a
    /// database in the same process can do it.
    pub records_again: bool,
}

impl TouchRows {
    /// Whether a row has the values that are expected.
    #[must_use]
    pub fn expects(&self, row: &Item) -> bool {
        let mut expected = self.expected.iter();
        expected.all(|(name, value)| row.get(name) == Some(value))
    }
}

/// What became of one of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Touched {
    /// It has the version now, or a later one where it is recorded again. The stream has one record of it.
    Raised,
    /// It has this version or a later one already. Nothing was written, nor recorded again.
    AlreadyThere,
    /// There is no such row. None is created.
    Gone,
    /// The row cannot take the version. Nothing was written.
    Refused(Error),
}
