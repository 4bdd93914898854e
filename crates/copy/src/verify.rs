//! Compares both sides: by sums over the rows of segments of keys, and row by row where they differ.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use serde::Serialize;
use trestle_item::Item;

use crate::follow::{Followed, RowReader};
use crate::key::{RowKey, row_number};
use crate::rows::RowScan;
use crate::write::{RowWrite, RowWriter};
use crate::{CopyError, CopyProgress};

/// Keys are divided into segments by this many first bits of their hashes.
const SEGMENT_BITS: u32 = 16;
/// Rows of differing segments that are held in memory.
const ROWS_HELD: u64 = 500_000;
/// How often rows that differ are read again: one of the two sides may be about to change.
const LOOKS: u32 = 5;
/// The maximum number of reported differences.
pub(crate) const NAMED_MAX: usize = 20;
/// Segments of a scan that are read in parallel.
const SCANS_AT_ONCE: usize = 4;

/// The result of comparing a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableVerified {
    /// The table.
    pub table: String,
    /// Rows at the source.
    pub rows: u64,
    /// Segments of keys whose sums were equal.
    pub equal_segments: u64,
    /// Segments that were compared row by row.
    pub compared_segments: u64,
    /// Rows that changed meanwhile, which the follower copies.
    pub changed_meanwhile: u64,
    /// Rows that were written again, with `--repair`.
    pub repaired: u64,
    /// The number of rows that differ.
    pub differing: u64,
    /// The first of them.
    pub differences: Vec<RowDifference>,
}

/// A row that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowDifference {
    /// Its key.
    pub key: Item,
    /// `missing`, `extra` or `different`, at the target.
    pub what: &'static str,
}

/// The comparison of one table.
pub(crate) struct Comparison {
    pub(crate) key: RowKey,
    pub(crate) source: RowScan,
    pub(crate) target: RowScan,
    pub(crate) source_rows: RowReader,
    pub(crate) target_rows: RowReader,
    pub(crate) writer: RowWriter,
    /// The follower, if changes are followed.
    pub(crate) followed: Option<Arc<Followed>>,
    pub(crate) repair: bool,
    /// The time after which a change has its record.
    pub(crate) settle: Duration,
    pub(crate) progress: Arc<CopyProgress>,
}

/// The number of rows of a segment, and the sum of their hashes, which does not depend on their order.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    numbers: u128,
}

fn segment_of(key: u64) -> usize {
    (key >> (64 - SEGMENT_BITS)) as usize
}

impl Comparison {
    pub(crate) async fn run(&self) -> Result<TableVerified, CopyError> {
        if let Some(followed) = &self.followed {
            followed.collect();
            followed.kept_up().await;
        }
        let verified = self.compare().await;
        if let Some(followed) = &self.followed {
            followed.stop_collecting();
        }
        verified
    }

    async fn compare(&self) -> Result<TableVerified, CopyError> {
        let (source, target) = tokio::try_join!(self.sums(&self.source), self.sums(&self.target))?;
        let differing: Vec<usize> = (0..source.len())
            .filter(|at| source[*at] != target[*at])
            .collect();
        let mut verified = TableVerified {
            table: self.source.table.clone(),
            rows: source.iter().map(|sum| sum.rows).sum(),
            equal_segments: (source.len() - differing.len()) as u64,
            compared_segments: differing.len() as u64,
            changed_meanwhile: 0,
            repaired: 0,
            differing: 0,
            differences: Vec::new(),
        };
        for group in groups(&differing, |at| source[at].rows.max(target[at].rows)) {
            let suspects = self.suspects(&group).await?;
            self.look_again(suspects, &mut verified).await?;
        }
        Ok(verified)
    }

    async fn sums(&self, side: &RowScan) -> Result<Vec<Sum>, CopyError> {
        let sums = Mutex::new(vec![Sum::default(); 1 << SEGMENT_BITS]);
        self.walk(side, |rows| {
            let mut numbers = Vec::with_capacity(rows.len());
            for row in &rows {
                numbers.push((segment_of(self.key.number(row)?), row_number(row)));
            }
            let mut sums = sums.lock();
            for (segment, number) in numbers {
                if let Some(sum) = sums.get_mut(segment) {
                    sum.rows += 1;
                    sum.numbers = sum.numbers.wrapping_add(number);
                }
            }
            Ok(())
        })
        .await?;
        Ok(sums.into_inner())
    }

    /// Reads all rows of a side.
    async fn walk(
        &self,
        side: &RowScan,
        meet: impl Fn(Vec<Item>) -> Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        let meet = &meet;
        let segment = |segment: u32| async move {
            let mut after = None;
            loop {
                let page = side.page(segment, after).await?;
                self.progress
                    .compared
                    .fetch_add(page.rows.len() as u64, Ordering::Relaxed);
                meet(page.rows)?;
                after = page.next;
                if after.is_none() {
                    return Ok::<(), CopyError>(());
                }
            }
        };
        stream::iter((0..side.segments).map(segment))
            .buffer_unordered(SCANS_AT_ONCE)
            .try_collect()
            .await
    }

    /// The keys of rows in these segments that differ at the moment.
    async fn suspects(&self, segments: &[usize]) -> Result<Vec<Item>, CopyError> {
        let is_in = |key: u64| segments.binary_search(&segment_of(key)).is_ok();
        let wanted: Mutex<HashMap<u64, (u128, Item)>> = Mutex::new(HashMap::new());
        self.walk(&self.source, |rows| {
            for row in rows {
                let key = self.key.number(&row)?;
                if is_in(key) {
                    let entry = (row_number(&row), self.key.of(&row)?);
                    wanted.lock().insert(key, entry);
                }
            }
            Ok(())
        })
        .await?;
        let suspects = Mutex::new(Vec::new());
        self.walk(&self.target, |rows| {
            for row in rows {
                let key = self.key.number(&row)?;
                if !is_in(key) {
                    continue;
                }
                let there = wanted.lock().remove(&key);
                if there.is_none_or(|(number, _)| number != row_number(&row)) {
                    suspects.lock().push(self.key.of(&row)?);
                }
            }
            Ok(())
        })
        .await?;
        let mut suspects = suspects.into_inner();
        suspects.extend(wanted.into_inner().into_values().map(|(_, key)| key));
        Ok(suspects)
    }

    /// Reads rows one by one until they are equal, have changed, or were read often enough.
    async fn look_again(
        &self,
        mut suspects: Vec<Item>,
        verified: &mut TableVerified,
    ) -> Result<(), CopyError> {
        let mut differences = Vec::new();
        for look in 1..=LOOKS {
            let mut left = Vec::new();
            for key in suspects {
                let has_changed = |followed: &Arc<Followed>| Ok(followed.has_changed(self.key.number(&key)?));
                match self.followed.as_ref().map(has_changed).transpose()? {
                    Some(true) => verified.changed_meanwhile += 1,
                    _ => left.push(key),
                }
            }
            differences = self.differing(&left).await?;
            let Some(followed) = self
                .followed
                .as_ref()
                .filter(|_| !differences.is_empty() && look < LOOKS)
            else {
                break;
            };
            // A change at the source meanwhile has its record by then.
            tokio::time::sleep(self.settle).await;
            followed.kept_up().await;
            suspects = differences.into_iter().map(|difference| difference.key).collect();
            differences = Vec::new();
        }
        if self.repair {
            verified.repaired += differences.len() as u64;
            return self.mend(differences).await;
        }
        verified.differing += differences.len() as u64;
        let room = NAMED_MAX.saturating_sub(verified.differences.len());
        verified.differences.extend(differences.into_iter().take(room));
        Ok(())
    }

    /// The rows with these keys that differ now.
    async fn differing(&self, keys: &[Item]) -> Result<Vec<RowDifference>, CopyError> {
        let (source, target) = tokio::try_join!(self.source_rows.rows(keys), self.target_rows.rows(keys))?;
        let mut differing = Vec::new();
        for key in keys {
            let bytes = self.key.bytes(key)?;
            let what = match (source.get(&bytes), target.get(&bytes)) {
                (Some(source), Some(target)) if row_number(source) == row_number(target) => continue,
                (None, None) => continue,
                (Some(_), Some(_)) => "different",
                (Some(_), None) => "missing",
                (None, Some(_)) => "extra",
            };
            differing.push(RowDifference {
                key: key.clone(),
                what,
            });
        }
        Ok(differing)
    }

    async fn mend(&self, differences: Vec<RowDifference>) -> Result<(), CopyError> {
        let keys: Vec<Item> = differences.into_iter().map(|difference| difference.key).collect();
        let mut found = self.source_rows.rows(&keys).await?;
        let mut writes = Vec::with_capacity(keys.len());
        for key in keys {
            writes.push(match found.remove(&self.key.bytes(&key)?) {
                Some(row) => RowWrite::Put(row),
                None => RowWrite::Delete(key),
            });
        }
        self.writer.write(writes).await
    }
}

/// Divides segments into groups whose rows fit into memory, each in order.
fn groups(segments: &[usize], rows: impl Fn(usize) -> u64) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut held = 0;
    for segment in segments {
        let rows = rows(*segment);
        match groups.last_mut() {
            Some(group) if held + rows <= ROWS_HELD => {
                held += rows;
                group.push(*segment);
            }
            _ => {
                held = rows;
                groups.push(vec![*segment]);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_as_many_rows_as_fit() {
        let rows = |at: usize| [ROWS_HELD / 2, ROWS_HELD / 2, 1, ROWS_HELD * 3, 5][at];
        assert_eq!(
            groups(&[0, 1, 2, 3, 4], rows),
            [vec![0, 1], vec![2], vec![3], vec![4]]
        );
        assert!(groups(&[], rows).is_empty());
    }
}
