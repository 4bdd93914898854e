//! Blocks that the engine has loaded, counted for the reads that loaded them.
//!
//! The engine counts per keyspace, not per reader. So every read takes the blocks that were loaded since the
//! counter was last read. Each block counts once: for the read that loaded it or, where reads overlap,
//! possibly for another one.
//!
//! The engine does not count blocks of rows that one of its iterators finds in the cache, and offers no other
//! way to find them. Blocks that iterators read from disk, their blocks of the index, and all blocks of
//! lookups are counted.

use super::keyspaces::Keyspaces;
use crate::Space;
use crate::per_space::PerSpace;
use crate::reads::ReadRegister;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was counted of the blocks that the open engine has loaded.
pub(super) struct BlockCount {
    register: Arc<ReadRegister>,
    counted: PerSpace<Counted>,
}

/// The number of blocks of one keyspace that have been counted.
#[derive(Default)]
struct Counted {
    from_disk: AtomicU64,
    from_cache: AtomicU64,
}

impl BlockCount {
    pub(super) fn new(register: Arc<ReadRegister>) -> Self {
        BlockCount {
            register,
            counted: PerSpace::default(),
        }
    }

    pub(super) fn register(&self) -> &ReadRegister {
        &self.register
    }

    /// Counts what was loaded since the last call, for this thread.
    pub(super) fn look(&self, keyspaces: &Keyspaces, space: Space) {
        let loaded = keyspaces.of(space).metrics();
        let counted = self.counted.of(space);
        let from_disk = counted_up_to(&counted.from_disk, loaded.block_load_io_count());
        let from_cache = counted_up_to(&counted.from_cache, loaded.block_load_cached_count());
        self.register.count_blocks(from_disk, from_cache);
    }
}

/// Raises a counter and returns by how much.
fn counted_up_to(counter: &AtomicU64, now: usize) -> u64 {
    let now = now as u64;
    // Most reads load nothing from one of the two: without a write, the cache line stays shared by all
    // processors.
    if counter.load(Ordering::Relaxed) >= now {
        return 0;
    }
    now.saturating_sub(counter.fetch_max(now, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_readers_take_adds_up_to_what_was_loaded() {
        let counter = AtomicU64::new(0);
        let taken = [5, 5, 3, 9].map(|now| counted_up_to(&counter, now));
        assert_eq!(taken, [5, 0, 0, 4]);
    }
}
