//! How many sorted runs a range has to read.
//!
//! A run is a sequence of tables in the order of their keys. A lookup asks the filters of tables whether they
//! have the key. Filters know nothing about ranges, so a range reads a block of each run, even if that has
//! none of its rows.

use fjall::{AbstractTree, Keyspace};

const MIB: u64 = 1024 * 1024;

/// The most bytes that are rewritten because the store is idle: closing and the engine's own merges wait
/// meanwhile.
const MERGED_BYTES_MAX: u64 = 256 * MIB;

/// Runs are merged if at least one part in so many of their bytes is outside the largest run. So at most so
/// many times the bytes written since are rewritten.
const WORTH_MERGING: u64 = 16;

/// The runs of a keyspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SortedRuns {
    /// How many there are.
    pub(super) count: usize,
    bytes: u64,
    /// The size in bytes of the largest level that is a single run.
    largest: u64,
}

impl SortedRuns {
    pub(super) fn of(keyspace: &Keyspace) -> Self {
        let version = keyspace.tree.current_version();
        Self::of_levels(
            version
                .iter_levels()
                .map(|level| (level.run_count(), level.size())),
        )
    }

    /// The number of runs, and the bytes, of each level.
    fn of_levels(levels: impl Iterator<Item = (usize, u64)>) -> Self {
        levels.fold(SortedRuns::default(), |all, (count, bytes)| SortedRuns {
            count: all.count + count,
            bytes: all.bytes + bytes,
            largest: all.largest.max(if count == 1 { bytes } else { 0 }),
        })
    }

    /// Whether merging the runs into one makes ranges cheaper and costs little.
    pub(super) fn are_worth_merging(&self) -> bool {
        let outside = self.bytes - self.largest;
        self.count > 1 && self.bytes <= MERGED_BYTES_MAX && outside >= self.bytes / WORTH_MERGING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_merged<const N: usize>(levels: [(usize, u64); N]) -> bool {
        SortedRuns::of_levels(levels.into_iter()).are_worth_merging()
    }

    #[test]
    fn runs_are_merged_where_much_is_outside_the_largest() {
        assert!(is_merged([(1, 10 * MIB), (0, 0), (1, 100 * MIB)]));
        assert!(is_merged([(2, 10 * MIB)]), "two of the first level");
        assert!(is_merged([(2, 100 * MIB), (1, MIB)]));
    }

    #[test]
    fn what_is_one_run_already_or_large_stays_and_so_does_a_large_run_with_little_beside_it() {
        assert!(!is_merged([]));
        assert!(!is_merged([(0, 0), (1, 100 * MIB)]));
        assert!(!is_merged([(1, 100 * MIB), (1, 200 * MIB)]));
        assert!(!is_merged([(1, MIB), (1, 100 * MIB)]));
    }
}
