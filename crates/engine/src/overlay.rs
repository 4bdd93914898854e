//! A snapshot as it will be once staged batches are committed.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;

use trestle_store::{Batch, Bytes, Direction, RowIterator, Snapshot, Space, StoreError};

/// The version of staged rows. It is not known whether they will be committed, so nothing read from them may
/// be cached.
pub(crate) const STAGED: u64 = u64::MAX;

/// A snapshot with batches over it, later ones over earlier ones.
pub(crate) struct Overlay<'b> {
    pub(crate) stored: Box<dyn Snapshot>,
    pub(crate) staged: [&'b Batch; 2],
}

impl Snapshot for Overlay<'_> {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let staged = self.staged.iter().rev().find_map(|batch| batch.get(space, key));
        match staged {
            Some(value) => Ok(value.cloned()),
            None => self.stored.get(space, key),
        }
    }

    fn range(
        &self,
        space: Space,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> RowIterator<'_> {
        let mut staged = BTreeMap::new();
        for batch in self.staged {
            staged.extend(batch.range(space, start, end));
        }
        let stored = self.stored.range(space, start, end, direction);
        if staged.is_empty() {
            return stored;
        }
        let staged: Box<dyn Iterator<Item = Staged<'_>> + Send> = match direction {
            Direction::Forward => Box::new(staged.into_iter()),
            Direction::Reverse => Box::new(staged.into_iter().rev()),
        };
        Box::new(Merged {
            stored: stored.peekable(),
            staged: staged.peekable(),
            direction,
        })
    }

    /// What is staged is newer than every snapshot.
    fn version(&self) -> u64 {
        STAGED
    }
}

/// A key that a batch changes, and its new value.
type Staged<'a> = (&'a Bytes, Option<&'a Bytes>);

/// Stored and staged rows in one order.
struct Merged<'a> {
    stored: Peekable<RowIterator<'a>>,
    staged: Peekable<Box<dyn Iterator<Item = Staged<'a>> + Send + 'a>>,
    direction: Direction,
}

impl Merged<'_> {
    /// Whether the next staged row comes before the next stored one, or replaces it.
    fn is_staged_next(&mut self) -> bool {
        let Some((staged, _)) = self.staged.peek() else {
            return false;
        };
        match (self.stored.peek(), self.direction) {
            (None, _) => true,
            (Some(Err(_)), _) => false,
            (Some(Ok((stored, _))), Direction::Forward) => *staged <= stored,
            (Some(Ok((stored, _))), Direction::Reverse) => *staged >= stored,
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<(Bytes, Bytes), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.is_staged_next() {
            let (key, value) = self.staged.next()?;
            self.stored
                .next_if(|row| row.as_ref().is_ok_and(|(stored, _)| stored == key));
            if let Some(value) = value {
                return Some(Ok((key.clone(), value.clone())));
            }
        }
        self.stored.next()
    }
}

#[cfg(test)]
mod tests {
    use trestle_store::{MemoryStore, Store};

    use super::*;

    /// Each letter of a text is a row in upper case, or the removal of one in lower case.
    fn batch(rows: &str, value: &str) -> Batch {
        let mut batch = Batch::new();
        for row in rows.chars() {
            let key = row.to_ascii_uppercase().to_string().into_bytes();
            if row.is_ascii_uppercase() {
                batch.put(Space::Items, key, value.as_bytes());
            } else {
                batch.delete(Space::Items, key);
            }
        }
        batch
    }

    fn read(overlay: &Overlay<'_>, bounds: [Bound<&[u8]>; 2], direction: Direction) -> String {
        let [start, end] = bounds;
        let rows = overlay.range(Space::Items, start, end, direction);
        rows.map(|row| {
            let (key, value) = row.unwrap();
            format!(
                "{}{}",
                String::from_utf8_lossy(&key),
                String::from_utf8_lossy(&value)
            )
        })
        .collect()
    }

    #[test]
    fn staged_rows_are_added_replaced_and_removed_in_both_directions() {
        let store = MemoryStore::new();
        store.commit(batch("BDFH", "0")).unwrap();
        let (group, own) = (batch("ADfG", "1"), batch("aBFg", "2"));
        let overlay = Overlay {
            stored: store.snapshot(),
            staged: [&group, &own],
        };
        let all = [Bound::Unbounded, Bound::Unbounded];
        assert_eq!(read(&overlay, all, Direction::Forward), "B2D1F2H0");
        assert_eq!(read(&overlay, all, Direction::Reverse), "H0F2D1B2");
        let inner = [Bound::Excluded(b"B".as_slice()), Bound::Included(b"F".as_slice())];
        assert_eq!(read(&overlay, inner, Direction::Forward), "D1F2");
        let value = |key: &[u8]| overlay.get(Space::Items, key).unwrap();
        assert_eq!(value(b"A"), None);
        assert_eq!(value(b"D").as_deref(), Some(b"1".as_slice()));
        assert_eq!(value(b"H").as_deref(), Some(b"0".as_slice()));
    }

    #[test]
    fn rows_that_all_go_leave_nothing() {
        let store = MemoryStore::new();
        store.commit(batch("AB", "0")).unwrap();
        let (group, own) = (batch("a", ""), batch("b", ""));
        let overlay = Overlay {
            stored: store.snapshot(),
            staged: [&group, &own],
        };
        let all = [Bound::Unbounded, Bound::Unbounded];
        assert_eq!(read(&overlay, all, Direction::Forward), "");
        assert_eq!(read(&overlay, all, Direction::Reverse), "");
    }
}
