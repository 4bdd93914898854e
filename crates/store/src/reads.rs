//! What reads cost, counted by what they are for.

use std::cell::Cell;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};

/// What storage did to read rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Looks for one key.
    pub point_lookups: u64,
    /// Ranges that were opened, whatever the number of rows read from each.
    pub ranges: u64,
    /// Blocks of tables (rows, indexes and filters) that were read from their files. Zero without files.
    pub blocks_from_disk: u64,
    /// Blocks of tables that were found in the cache. For lookups, all blocks are counted; for ranges only
    /// blocks of the index, because the engine does not count blocks of rows that a range finds in the cache.
    pub blocks_from_cache: u64,
}

impl Add for ReadCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            point_lookups: self.point_lookups + other.point_lookups,
            ranges: self.ranges + other.ranges,
            blocks_from_disk: self.blocks_from_disk + other.blocks_from_disk,
            blocks_from_cache: self.blocks_from_cache + other.blocks_from_cache,
        }
    }
}

impl Sub for ReadCounts {
    type Output = Self;

    /// The difference to the earlier counts `before`. Counters only grow.
    fn sub(self, before: Self) -> Self {
        Self {
            point_lookups: self.point_lookups.saturating_sub(before.point_lookups),
            ranges: self.ranges.saturating_sub(before.ranges),
            blocks_from_disk: self.blocks_from_disk.saturating_sub(before.blocks_from_disk),
            blocks_from_cache: self.blocks_from_cache.saturating_sub(before.blocks_from_cache),
        }
    }
}

/// What reads are for. The numbers are given by the code above the store; 0 counts all reads without a
/// purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadPurpose(pub u8);

thread_local! {
    static PURPOSE: Cell<ReadPurpose> = const { Cell::new(ReadPurpose(0)) };
}

impl ReadPurpose {
    /// The purpose for which this thread currently reads.
    #[must_use]
    pub fn of_this_thread() -> Self {
        PURPOSE.get()
    }

    /// Runs `work`; reads of this thread meanwhile count for this purpose.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let _restored = Restored(PURPOSE.replace(self));
        work()
    }
}

/// Gives the thread its former purpose back, also when the work panics.
struct Restored(ReadPurpose);

impl Drop for Restored {
    fn drop(&mut self) {
        PURPOSE.set(self.0);
    }
}

/// The counters of one store. Each count is for the purpose of the thread that reads.
#[derive(Debug)]
pub(crate) struct ReadRegister([Counters; 256]);

/// On a cache line of its own, so that reads for different purposes do not wait for one another.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counters {
    point_lookups: AtomicU64,
    ranges: AtomicU64,
    blocks_from_disk: AtomicU64,
    blocks_from_cache: AtomicU64,
}

impl Default for ReadRegister {
    fn default() -> Self {
        ReadRegister(std::array::from_fn(|_| Counters::default()))
    }
}

impl ReadRegister {
    pub(crate) fn count_point_lookup(&self) {
        self.here().point_lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_range(&self) {
        self.here().ranges.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_blocks(&self, from_disk: u64, from_cache: u64) {
        if from_disk > 0 {
            let counter = &self.here().blocks_from_disk;
            counter.fetch_add(from_disk, Ordering::Relaxed);
        }
        if from_cache > 0 {
            let counter = &self.here().blocks_from_cache;
            counter.fetch_add(from_cache, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, purpose: ReadPurpose) -> ReadCounts {
        let counters = self.of(purpose);
        ReadCounts {
            point_lookups: counters.point_lookups.load(Ordering::Relaxed),
            ranges: counters.ranges.load(Ordering::Relaxed),
            blocks_from_disk: counters.blocks_from_disk.load(Ordering::Relaxed),
            blocks_from_cache: counters.blocks_from_cache.load(Ordering::Relaxed),
        }
    }

    fn here(&self) -> &Counters {
        self.of(ReadPurpose::of_this_thread())
    }

    fn of(&self, purpose: ReadPurpose) -> &Counters {
        &self.0[usize::from(purpose.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_ends_with_its_work_also_when_that_panics() {
        let register = ReadRegister::default();
        ReadPurpose(7).during(|| {
            ReadPurpose(8).during(|| register.count_range());
            register.count_point_lookup();
        });
        let panicked = std::panic::catch_unwind(|| {
            ReadPurpose(9).during(|| std::panic::resume_unwind(Box::new(())));
        });
        assert!(panicked.is_err());
        register.count_range();
        let counted = |purpose| {
            let counts = register.read(ReadPurpose(purpose));
            (counts.point_lookups, counts.ranges)
        };
        assert_eq!([0, 7, 8, 9].map(counted), [(0, 1), (1, 0), (0, 1), (0, 0)]);
    }

    #[test]
    fn another_thread_has_a_purpose_of_its_own() {
        ReadPurpose(3).during(|| {
            let elsewhere = std::thread::spawn(ReadPurpose::of_this_thread).join();
            assert_eq!(elsewhere.unwrap(), ReadPurpose::default());
        });
    }
}
