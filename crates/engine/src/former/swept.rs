//! The part of a table that the sweep has finished: reads need not search former places there.
//!
//! *Invariant*: in a snapshot that is at least as new as `version`, no row before `hash` is in a former
//! place. This stays true, because no row is written to one.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::layout::ItemKey;

/// How far the sweep has moved all rows, from the beginning of the table without a gap.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Up to this position; empty at the beginning.
    position: Mutex<Vec<u8>>,
    /// The hash of that position: every place with a smaller hash is before it.
    hash: AtomicU64,
    /// The first snapshot for which this is true.
    version: AtomicU64,
}

impl Swept {
    /// The position at the end of every table.
    pub(super) const END: [u8; 8] = [u8::MAX; 8];

    /// A sweep that had already come this far.
    pub(crate) fn up_to(position: Option<&[u8]>) -> Self {
        let swept = Self::default();
        swept.page(None, position.unwrap_or_default().to_vec(), 0);
        swept
    }

    /// Records that a page from `from` to `next` was swept completely, visible in snapshots from `version`
    /// on. A page that would leave a gap is ignored.
    pub(super) fn page(&self, from: Option<&[u8]>, next: Vec<u8>, version: u64) {
        let mut position = self.position.lock();
        let follows = from.unwrap_or_default() <= position.as_slice();
        if !follows || next <= *position {
            return;
        }
        // The version first: a read that sees the new hash must see a version at least as new.
        self.version.fetch_max(version, Ordering::AcqRel);
        self.hash.store(ItemKey(next.clone()).hash(), Ordering::Release);
        *position = next;
    }

    /// The hash before which a snapshot of this version has no row in a former place.
    pub(super) fn before(&self, version: u64) -> u64 {
        let hash = self.hash.load(Ordering::Acquire);
        if version < self.version.load(Ordering::Acquire) {
            return 0;
        }
        hash
    }

    /// Whether a snapshot of this version has no row in a former place at all.
    pub(super) fn is_all(&self, version: u64) -> bool {
        self.before(version) == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(hash: u64) -> Vec<u8> {
        hash.to_be_bytes().to_vec()
    }

    #[test]
    fn pages_count_as_far_as_they_follow_each_other() {
        let swept = Swept::default();
        swept.page(Some(&place(5)), place(9), 1);
        assert_eq!(swept.before(1), 0, "rows before the position were not swept");
        swept.page(None, place(3), 2);
        swept.page(Some(&place(3)), place(6), 3);
        assert_eq!(swept.before(3), 6);
        swept.page(None, place(4), 4);
        assert_eq!(swept.before(4), 6, "a second pass takes nothing back");
        swept.page(Some(&place(7)), place(8), 5);
        assert_eq!(swept.before(5), 6, "there is a gap");
    }

    #[test]
    fn a_snapshot_from_before_the_sweep_was_there_is_not_swept() {
        let swept = Swept::default();
        swept.page(None, place(3), 7);
        assert_eq!((swept.before(6), swept.before(7)), (0, 3));
        let resumed = Swept::up_to(Some(&place(3)));
        assert_eq!(resumed.before(0), 3);
        assert_eq!(Swept::up_to(None).before(u64::MAX), 0);
    }
}
