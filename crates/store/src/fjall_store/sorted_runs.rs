//! How many places a range has to look at.
//!
//! A run is a sequence of tables in the order of their keys. A lookup asks the filters of tables whether they have the key. Filters know
//! nothing about ranges, so a range reads a block of each run, also of one that has none of its rows.

use fjall::{AbstractTree, Keyspace};

const MIB: u64 = 1024 * 1024;

/// More than that is not rewritten only because it is at rest: closing and the engine's own merges wait meanwhile.
const MERGED_BYTES_MAX: u64 = 256 * MIB;

/// Runs are made one if this part of their bytes lies outside the largest. So what is rewritten is at most so many times what was
/// written since.
const WORTH_MERGING: u64 = 16;

/// The runs of a keyspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SortedRuns {
    /// How many there are.
    pub(super) count: usize,
    bytes: u64,
    /// The bytes of the largest level that is one run.
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

    /// Each level has a number of runs, and bytes.
    fn of_levels(levels: impl Iterator<Item = (usize, u64)>) -> Self {
        levels.fold(SortedRuns::default(), |all, (count, bytes)| SortedRuns {
            count: all.count + count,
            bytes: all.bytes + bytes,
            largest: all.largest.max(if count == 1 { bytes } else { 0 }),
        })
    }

    /// Whether ranges gain by one run instead of several, and that costs little.
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
