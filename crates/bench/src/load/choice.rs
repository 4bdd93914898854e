//! The choice of the next operation's rows.

use crate::dataset::COLLECTION;

/// The rows of one operation: `first`, `first + stride`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowChoice {
    pub(crate) first: u64,
    pub(crate) stride: u64,
}

/// How rows are chosen.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// At random, spread over the whole table. No two connections ever choose the same row, so that
    /// transactions do not conflict.
    Anywhere {
        rows: u64,
        per_operation: u64,
        random: fastrand::Rng,
    },
    /// At random among a few collections that are spread over the whole table.
    Sparse {
        collections: u64,
        /// The distance from one row to the next.
        distance: u64,
        random: fastrand::Rng,
    },
    /// One group of neighbouring rows after the other, each once.
    EachOnce { next: u64, end: u64, group: u64 },
}

impl Choice {
    pub(crate) fn anywhere(rows: u64, per_operation: u64) -> Self {
        Choice::Anywhere {
            rows,
            per_operation,
            random: fastrand::Rng::with_seed(7),
        }
    }

    /// Collections with `few` rows in total, evenly distributed. For reading only: connections share them.
    pub(crate) fn sparse(rows: u64, few: u64) -> Self {
        let collections = (few / COLLECTION).max(1);
        Choice::Sparse {
            collections,
            distance: (rows / COLLECTION / collections).max(1) * COLLECTION,
            random: fastrand::Rng::with_seed(7),
        }
    }

    /// The next rows for this connection, or `None` when all were chosen.
    pub(crate) fn next(&mut self, connection: u64, connections: u64) -> Option<RowChoice> {
        match self {
            Choice::Anywhere {
                rows,
                per_operation,
                random,
            } => {
                let stride = *rows / *per_operation;
                // With more connections than rows, some would have none; they share the last one's.
                let own = stride.saturating_sub(connection).div_ceil(connections).max(1);
                let first = (random.u64(..own) * connections + connection).min(stride.saturating_sub(1));
                Some(RowChoice { first, stride })
            }
            Choice::Sparse {
                collections,
                distance,
                random,
            } => Some(RowChoice {
                first: random.u64(..*collections) * *distance + random.u64(..COLLECTION),
                stride: 1,
            }),
            Choice::EachOnce { next, end, group } => {
                let first = *next;
                (first < *end).then(|| {
                    *next += *group;
                    RowChoice { first, stride: 1 }
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn connections_never_share_a_row() {
        for per_operation in [1, 2, 25] {
            let mut choice = Choice::anywhere(1_600, per_operation);
            let mut owners: Vec<HashSet<u64>> = vec![HashSet::new(); 64];
            for turn in 0..20_000 {
                let rows = choice.next(turn % 64, 64).unwrap();
                let owner = &mut owners[(turn % 64) as usize];
                owner.extend((0..per_operation).map(|nth| rows.first + nth * rows.stride));
            }
            let all: HashSet<u64> = owners.iter().flatten().copied().collect();
            assert_eq!(all.len(), owners.iter().map(HashSet::len).sum::<usize>());
            assert!(all.iter().all(|row| *row < 1_600));
            assert!(all.len() > 1_500, "only {} rows are ever chosen", all.len());
        }
    }

    #[test]
    fn sparse_rows_reach_over_the_whole_table() {
        let mut choice = Choice::sparse(1_000_000, 200);
        let rows: HashSet<u64> = (0..5_000)
            .filter_map(|_| choice.next(0, 16))
            .map(|rows| rows.first)
            .collect();
        let partitions: HashSet<u64> = rows.iter().map(|row| row / COLLECTION).collect();
        assert_eq!((rows.len(), partitions.len()), (200, 10));
        assert!((900_000..1_000_000).contains(rows.iter().max().unwrap()));
    }

    #[test]
    fn each_group_is_chosen_once() {
        let mut choice = Choice::EachOnce {
            next: 40,
            end: 100,
            group: 20,
        };
        let firsts: Vec<u64> = std::iter::from_fn(|| choice.next(3, 16))
            .map(|rows| rows.first)
            .collect();
        assert_eq!(firsts, [40, 60, 80]);
    }
}
