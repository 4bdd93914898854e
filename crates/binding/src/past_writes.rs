//! What a gateway found out about rows that changed without it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::facts::WrongFact;

/// So many facts that cannot be brought in line are named.
const NAMED_MAX: usize = 10;

/// What a gateway found out about rows that changed without a gateway, since it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PastWritesStatus {
    /// Whether this gateway looks for all others.
    pub on_duty: bool,
    /// Tables whose changes are not seen, because they have no stream.
    pub without_stream: BTreeSet<String>,
    /// Records read.
    pub records: u64,
    /// Rows that expired at the endpoint.
    pub expired: u64,
    /// Rows other than those that changed without a gateway, by what was wrong near them.
    pub changed: u64,
    /// Derived facts that were brought back in line, by kind.
    pub mended: BTreeMap<String, u64>,
    /// The last facts that no repair can bring in line.
    pub left: Vec<WrongFact>,
    /// How many of those there were.
    pub left_total: u64,
    /// Whether all rows are about to be repaired.
    pub is_due: bool,
    /// When all rows were repaired last, in seconds since 1970.
    pub repaired: Option<u64>,
    /// Why the last look failed, if it did.
    pub error: Option<String>,
}

impl PastWritesStatus {
    /// A fact cannot be brought in line.
    pub fn leave(&mut self, fact: WrongFact) {
        self.left_total += 1;
        if self.left.len() == NAMED_MAX {
            self.left.remove(0);
        }
        self.left.push(fact);
    }
}
