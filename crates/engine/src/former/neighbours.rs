//! Reads rows by their places, one after the other. Rows of one former partition are often in one present
//! partition: then the next wanted row is the next one in storage, and no lookup is needed.

use std::ops::Bound;

use trestle_store::{Bytes, Direction, RowIterator, Snapshot, Space, StoreError};

/// Table and hash: the prefix of the places of one partition.
const PARTITION_BYTES: usize = 12;

/// Reads rows of a table by their places.
pub(super) struct Neighbours<'s> {
    snapshot: &'s dyn Snapshot,
    /// The rows after the last place, if the wanted rows are consecutive there.
    behind: Option<RowIterator<'s>>,
    last: Vec<u8>,
    /// Whether there was a row after which the next wanted rows could follow. Moved rows leave deletion
    /// markers that are slow to skip: no read continues from there.
    goes_on: bool,
}

impl<'s> Neighbours<'s> {
    pub(super) fn new(snapshot: &'s dyn Snapshot) -> Self {
        Self {
            snapshot,
            behind: None,
            last: Vec::new(),
            goes_on: false,
        }
    }

    /// The row at a place.
    pub(super) fn get(&mut self, place: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let same_partition = place.get(..PARTITION_BYTES) == self.last.get(..PARTITION_BYTES);
        if !same_partition {
            self.behind = None;
        } else if self.behind.is_none() && self.goes_on {
            let last = Bound::Excluded(self.last.as_slice());
            let rows = self
                .snapshot
                .range(Space::Items, last, Bound::Unbounded, Direction::Forward);
            self.behind = Some(rows);
        }
        self.last.clear();
        self.last.extend_from_slice(place);
        let mut is_scattered = false;
        if let Some(rows) = &mut self.behind {
            match rows.next().transpose()? {
                Some((found, row)) if *found == *place => return Ok(Some(row)),
                _ => is_scattered = true,
            }
            self.behind = None;
        }
        let found = self.snapshot.get(Space::Items, place)?;
        self.goes_on = found.is_some() && !is_scattered;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use trestle_store::{Batch, MemoryStore, Store};

    use super::*;

    #[test]
    fn rows_are_found_by_their_places_in_any_order() {
        let store = MemoryStore::new();
        let place = |at: usize| format!("T...{:08}{:02}", at / 7, at % 7).into_bytes();
        let mut batch = Batch::new();
        for at in (0..40).filter(|at| at % 5 != 0) {
            batch.put(Space::Items, place(at), place(at));
        }
        store.commit(batch).unwrap();
        let snapshot = store.snapshot();
        let mut random = fastrand::Rng::with_seed(7);
        let mut rows = Neighbours::new(&*snapshot);
        for _ in 0..50 {
            let first = random.usize(..40);
            for at in first..(first + random.usize(1..12)) {
                let wanted = place(at);
                let expected = snapshot.get(Space::Items, &wanted).unwrap();
                assert_eq!(rows.get(&wanted).unwrap(), expected, "{at}");
            }
        }
    }
}
