//! Checks every record, without a database.

use std::sync::Arc;

use super::reader::{Making, ReadFrom, all_bytes, start};
use super::totals::EntityCounts;
use super::{Observer, RunError};
use crate::mapping::Plan;

/// The results of checking all records.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    /// In the order of the mapping file: `rows`, `unfit` and `without_row` are counted.
    pub imports: Vec<EntityCounts>,
}

impl Checked {
    /// How many records do not fit.
    #[must_use]
    pub fn unfit(&self) -> u64 {
        self.imports.iter().map(|import| import.unfit).sum()
    }
}

impl Plan {
    /// Initial counts for each import.
    pub(super) fn no_counts(&self) -> Vec<EntityCounts> {
        let counts = |import: &crate::BoundImport| EntityCounts {
            table: import.table.full_name(),
            entity: import.entity.clone(),
            ..EntityCounts::default()
        };
        self.imports.iter().map(counts).collect()
    }

    /// Makes a row of every record and writes none. Reports each record that does not fit to the observer.
    pub fn check(self: &Arc<Self>, now_ms: u64, observer: &mut dyn Observer) -> Result<Checked, RunError> {
        let mut checked = Checked {
            imports: self.no_counts(),
        };
        let making = Making {
            now_ms,
            keeps_times: false,
        };
        let (all, mut done, mut rows) = (all_bytes(self), 0, 0);
        for batch in start(self, ReadFrom::default(), making)? {
            let batch = batch?;
            done += batch.bytes;
            rows += batch.records;
            if let Some(counts) = checked.imports.get_mut(batch.import) {
                counts.rows += batch.records;
                counts.unfit += batch.misfits.len() as u64;
                counts.without_row += batch.without_row;
            }
            batch.misfits.iter().for_each(|misfit| observer.misfit(misfit));
            observer.progress("checked", done, all, rows);
        }
        Ok(checked)
    }
}
