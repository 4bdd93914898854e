//! The results of a gateway's search for rows that changed without a gateway.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::facts::WrongFact;

/// The maximum number of named facts that cannot be repaired.
const NAMED_MAX: usize = 10;

/// The results of a gateway's search for rows that changed without a gateway, since it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PastWritesStatus {
    /// Whether this gateway searches for all others.
    pub on_duty: bool,
    /// Tables whose changes are not seen, because they have no stream.
    pub without_stream: BTreeSet<String>,
    /// Records read.
    pub records: u64,
    /// Rows that expired at the endpoint.
    pub expired: u64,
    /// Other rows that changed without a gateway, recognised by wrong facts near them.
    pub changed: u64,
    /// Derived facts that were repaired, by kind.
    pub mended: BTreeMap<String, u64>,
    /// The last facts that no repair can correct.
    pub left: Vec<WrongFact>,
    /// How many of those there were.
    pub left_total: u64,
    /// Whether a repair of all rows is due.
    pub is_due: bool,
    /// When all rows were repaired last, in seconds since 1970.
    pub repaired: Option<u64>,
    /// The error of the last round, if it failed.
    pub error: Option<String>,
}

impl PastWritesStatus {
    /// Adds a fact that cannot be repaired.
    pub fn leave(&mut self, fact: WrongFact) {
        self.left_total += 1;
        if self.left.len() == NAMED_MAX {
            self.left.remove(0);
        }
        self.left.push(fact);
    }
}
