//! The counts of an import.

use serde::{Deserialize, Serialize};

/// The results for the rows of one import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityCounts {
    /// The Cassandra table.
    pub table: String,
    /// The entity.
    pub entity: String,
    /// Records in the files.
    pub rows: u64,
    /// Rows that did not exist before.
    pub inserted: u64,
    /// Existing rows that equal those in the files.
    pub unchanged: u64,
    /// Rows that were replaced, because the export's are newer or `--overwrite` was given.
    pub overwritten: u64,
    /// Rows that were kept, because they are newer than the export's.
    pub kept_newer: u64,
    /// Rows that were not written, because of existing rows or because the database refused them.
    pub collisions: u64,
    /// Records that do not fit.
    pub unfit: u64,
    /// Records without a row: partitions that only have static columns.
    pub without_row: u64,
}

/// The results of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportTotals {
    /// In the order of the mapping file.
    pub imports: Vec<EntityCounts>,
    /// Whether it continued a previous run.
    pub resumed: bool,
}

impl ImportTotals {
    /// The sum over all imports.
    pub fn sum(&self, of: impl Fn(&EntityCounts) -> u64) -> u64 {
        self.imports.iter().map(of).sum()
    }
}
