//! Information for administrators: what a write would change, and the most recent changes.

use trestle_api::{Error, Request};
use trestle_engine::{PreviewedRow, RecentChange};

use crate::Embedded;

impl Embedded {
    /// The rows that a PutItem, UpdateItem or DeleteItem would change: its own row first, then those that models derive from it.
    /// A write that would be refused is refused with the same error. Nothing is written.
    pub fn preview(&self, request: Request) -> Result<Vec<PreviewedRow>, Error> {
        self.opened().models.admit(&request)?;
        self.opened().engine.preview(request)
    }

    /// The newest changes of a table that are within the retention of its stream, oldest first. A table without a stream has none.
    pub fn recent_changes(&self, table: &str, at_most: usize) -> Result<Vec<RecentChange>, Error> {
        self.opened().engine.recent_changes(table, at_most)
    }
}
