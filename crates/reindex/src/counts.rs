//! The outcomes of rows, counted.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The outcomes of the rows of a work item or of a whole reindex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowCounts {
    /// Rows that were read.
    pub read: u64,
    /// Rows that were raised to the version, or that the target accepted.
    pub done: u64,
    /// Rows that were at the version or a later one already, or that the route does not select.
    pub unchanged: u64,
    /// Rows that were deleted between reading and processing.
    pub gone: u64,
    /// Rows of other entities than those requested.
    pub left_out: u64,
    /// Rows that became dead letters, without those that a replay has done since. Dropping dead letters and
    /// sending rows again do not change this number.
    pub failed: u64,
    /// Attempts after the first one, including those of the client of a remote endpoint.
    pub retries: u64,
    /// Calls for rows that the database or the target throttled, answered with an internal error, or did not
    /// answer.
    pub throttled: u64,
}

impl RowCounts {
    /// Counts calls that failed and were repeated.
    pub(crate) fn add_repeats(&mut self, repeats: u64) {
        self.throttled += repeats;
        self.retries += repeats;
    }

    /// Rows whose outcome is known.
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
