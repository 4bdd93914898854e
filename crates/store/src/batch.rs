//! Changes that happen together.

use crate::per_space::PerSpace;
use crate::{Bytes, Space};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Puts and deletes over all spaces, applied by [`Store::commit`](crate::Store::commit) at once.
///
/// A later change of a key replaces an earlier one, so a batch holds at most one change per key. It is sorted and
/// can be asked what it would change: a writer that adds several requests to one batch reads its own changes here
/// first, then in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    spaces: PerSpace<Changes>,
}

/// The changes of one space: the new value, or `None` where the row is deleted.
type Changes = BTreeMap<Bytes, Option<Bytes>>;

impl Batch {
    /// A batch that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores `value` under `key`.
    pub fn put(&mut self, space: Space, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.spaces.of_mut(space).insert(key.into(), Some(value.into()));
    }

    /// Removes `key`, whether it exists or not.
    pub fn delete(&mut self, space: Space, key: impl Into<Bytes>) {
        self.spaces.of_mut(space).insert(key.into(), None);
    }

    /// What this batch does to `key`: `None` when it leaves it alone, `Some(None)` when it deletes it.
    pub fn get(&self, space: Space, key: &[u8]) -> Option<Option<&Bytes>> {
        self.spaces.of(space).get(key).map(Option::as_ref)
    }

    /// The changes between two bounds, in key order; `None` stands for a deletion.
    pub fn range(
        &self,
        space: Space,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&Bytes, Option<&Bytes>)> {
        let changes = self.spaces.of(space);
        // A BTreeMap panics on bounds in the wrong order; here they mean no rows.
        let range = (!is_empty_range(start, end)).then(|| changes.range::<[u8], _>((start, end)));
        range
            .into_iter()
            .flatten()
            .map(|(key, value)| (key, value.as_ref()))
    }

    /// Adds the changes of `later` to this batch, over those already here.
    pub fn append(&mut self, later: Batch) {
        for (space, changes) in later.spaces.into_pairs() {
            // Not `append`, which walks through everything that is already here: a group is many small batches.
            self.spaces.of_mut(space).extend(changes);
        }
    }

    /// How many keys are changed.
    pub fn len(&self) -> usize {
        self.spaces.iter().map(BTreeMap::len).sum()
    }

    /// How many keys are deleted.
    pub(crate) fn deletions(&self) -> usize {
        self.iter().filter(|(_, _, value)| value.is_none()).count()
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.spaces.iter().all(BTreeMap::is_empty)
    }

    /// The bytes of all keys and values.
    pub fn size_bytes(&self) -> usize {
        let rows = self.spaces.iter().flatten();
        rows.map(|(key, value)| key.len() + value.as_ref().map_or(0, |value| value.len()))
            .sum()
    }

    /// Every change with its space, keys in order within a space.
    pub fn into_changes(self) -> impl Iterator<Item = (Space, Bytes, Option<Bytes>)> {
        let spaces = self.spaces.into_pairs();
        spaces.flat_map(|(space, changes)| changes.into_iter().map(move |(key, value)| (space, key, value)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Space, &Bytes, Option<&Bytes>)> {
        let spaces = Space::ALL.into_iter().zip(self.spaces.iter());
        spaces.flat_map(|(space, changes)| {
            changes
                .iter()
                .map(move |(key, value)| (space, key, value.as_ref()))
        })
    }
}

/// Whether no key can lie between the bounds.
pub(crate) fn is_empty_range(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
            start >= end
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_of_a_key_counts() {
        let mut batch = Batch::new();
        batch.put(Space::Items, b"a", b"1");
        batch.delete(Space::Items, b"a");
        assert_eq!(batch.get(Space::Items, b"a"), Some(None));
        batch.put(Space::Items, b"a", b"2");
        assert_eq!(batch.get(Space::Items, b"a"), Some(Some(&Bytes::from(b"2"))));
        assert_eq!(batch.get(Space::Index, b"a"), None);
        assert_eq!((batch.len(), batch.size_bytes()), (1, 2));
    }

    #[test]
    fn appended_changes_win() {
        let mut batch = Batch::new();
        batch.put(Space::Meta, b"a", b"old");
        batch.put(Space::Meta, b"b", b"kept");
        let mut later = Batch::new();
        later.delete(Space::Meta, b"a");
        batch.append(later);
        assert_eq!(batch.get(Space::Meta, b"a"), Some(None));
        assert_eq!(batch.len(), 2);
    }

    #[test]
    fn a_range_in_the_wrong_order_is_empty() {
        let mut batch = Batch::new();
        batch.put(Space::Meta, b"b", b"1");
        let count = |start, end| batch.range(Space::Meta, start, end).count();
        assert_eq!(count(Bound::Included(b"c".as_slice()), Bound::Included(b"a")), 0);
        assert_eq!(count(Bound::Excluded(b"b".as_slice()), Bound::Excluded(b"b")), 0);
        assert_eq!(count(Bound::Included(b"b".as_slice()), Bound::Included(b"b")), 1);
        assert_eq!(count(Bound::Unbounded, Bound::Unbounded), 1);
    }
}
