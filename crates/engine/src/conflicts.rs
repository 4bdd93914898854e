//! The items of transactions that have been accepted and not yet answered.
//!
//! The committer serialises all writes without this. It adds DynamoDB's behaviour: a write that conflicts
//! with a running transaction on the same item is refused at once; the outcome does not depend on timing.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The items of running transactions, by storage key.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    items: Mutex<HashSet<Vec<u8>>>,
}

impl Conflicts {
    /// Whether a running transaction writes the item.
    pub(crate) fn has(&self, item: &[u8]) -> bool {
        let items = self.items.lock();
        !items.is_empty() && items.contains(item)
    }

    /// Claims all `items` for a transaction, or none: then the error says for each whether it was taken. An
    /// empty key is ignored.
    pub(crate) fn claim(self: &Arc<Self>, claimed: Vec<Vec<u8>>) -> Result<Hold, Vec<bool>> {
        let mut items = self.items.lock();
        if !items.is_empty() {
            let taken: Vec<bool> = claimed.iter().map(|item| items.contains(item)).collect();
            if taken.contains(&true) {
                return Err(taken);
            }
        }
        items.extend(claimed.iter().filter(|item| !item.is_empty()).cloned());
        Ok(Hold {
            conflicts: Arc::clone(self),
            claimed,
        })
    }
}

/// A transaction's claim, released when dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    conflicts: Arc<Conflicts>,
    claimed: Vec<Vec<u8>>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut items = self.conflicts.items.lock();
        for item in &self.claimed {
            items.remove(item);
        }
    }
}
