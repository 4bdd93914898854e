//! What became of rows, counted.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// What became of the rows of a work item or of a whole reindex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowCounts {
    /// Rows that were read.
    pub read: u64,
    /// Rows that were raised to the version, or that the target took.
    pub done: u64,
    /// Rows that were at the version or a later one already, or that the route does not take.
    pub unchanged: u64,
    /// Rows that were deleted between being read and being done.
    pub gone: u64,
    /// Rows of other entities than those asked for.
    pub left_out: u64,
    /// Rows that became dead letters, but for those that a replay has done since. Dropping dead letters and sending rows again
    /// change nothing here.
    pub failed: u64,
    /// Attempts after the first one, also those of the client of a remote endpoint.
    pub retries: u64,
    /// Calls for rows that the database or the target answered with throttling, an error of its own, or not at all.
    pub throttled: u64,
}

impl RowCounts {
    /// Counts calls that did not succeed and were made again.
    pub(crate) fn add_repeats(&mut self, repeats: u64) {
        self.throttled += repeats;
        self.retries += repeats;
    }

    /// Rows of which it is known what became of them.
    pub(crate) fn handled(&self) -> u64 {
        self.done + self.unchanged + self.gone + self.left_out + self.failed
    }
}

impl AddAssign for RowCounts {
    fn add_assign(&mut self, more: Self) {
        self.read += more.read;
        self.done += more.done;
        self.unchanged += more.unchanged;
        self.gone += more.gone;
        self.left_out += more.left_out;
        self.failed += more.failed;
        self.retries += more.retries;
        self.throttled += more.throttled;
    }
}
