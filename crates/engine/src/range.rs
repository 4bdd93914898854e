//! Key conditions as byte ranges inside a table or an index.

use std::ops::Bound;

use trestle_expr::{KeyOp, KeySelection};
use trestle_item::{AttributeValue, key};
use trestle_store::{Direction, RowIterator, Snapshot, Space};

use crate::layout::{self, IndexId, TableId};

/// Rows between two keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: Bound<Vec<u8>>,
    pub(crate) end: Bound<Vec<u8>>,
}

impl Range {
    /// All rows that begin with `prefix`.
    pub(crate) fn prefix(prefix: Vec<u8>) -> Self {
        let end = key::after_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self {
            start: Bound::Included(prefix),
            end,
        }
    }

    /// The rows of one segment of a parallel scan: an even share of the hash space.
    pub(crate) fn segment(owner: u32, segment: u32, total: u32) -> Self {
        let cut = |n: u32| -> Option<Vec<u8>> {
            let hash = (u128::from(n) << 64) / u128::from(total.max(1));
            let hash = u64::try_from(hash).ok()?;
            Some([&owner.to_be_bytes()[..], &hash.to_be_bytes()].concat())
        };
        let whole = Self::prefix(owner.to_be_bytes().to_vec());
        Self {
            start: cut(segment).map_or(whole.start, Bound::Included),
            end: cut(segment + 1).map_or(whole.end, Bound::Excluded),
        }
    }

    /// Excludes everything up to and including `position`, in the direction of reading.
    pub(crate) fn after(mut self, position: Vec<u8>, forward: bool) -> Self {
        if forward {
            self.start = Bound::Excluded(position);
        } else {
            self.end = Bound::Excluded(position);
        }
        self
    }

    /// The rows of a snapshot in this range.
    pub(crate) fn rows<'s>(
        &self,
        snapshot: &'s dyn Snapshot,
        space: Space,
        direction: Direction,
    ) -> RowIterator<'s> {
        snapshot.range(space, as_slice(&self.start), as_slice(&self.end), direction)
    }

    /// Whether `key` is in this range.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let after_start = match &self.start {
            Bound::Included(start) => key >= start.as_slice(),
            Bound::Excluded(start) => key > start.as_slice(),
            Bound::Unbounded => true,
        };
        let before_end = match &self.end {
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
            Bound::Unbounded => true,
        };
        after_start && before_end
    }
}

/// The rows of a table that a key condition selects. The sort key is the last part of a row's key.
pub(crate) fn in_table(table: TableId, selection: &KeySelection) -> Option<Range> {
    let partition = layout::table_partition(table, selection.hash.first()?)?;
    let last = selection
        .range_equal
        .first()
        .map(|value| KeyOp::Eq(value.clone()));
    let Some(op) = last.as_ref().or(selection.range_last.as_ref()) else {
        return Some(Range::prefix(partition));
    };
    let at = |value: &AttributeValue| {
        let mut key = partition.clone();
        key::encode(value, &mut key)?;
        Some(key)
    };
    let Range { start, end } = Range::prefix(partition.clone());
    Some(match op {
        KeyOp::Eq(value) => Range {
            start: Bound::Included(at(value)?),
            end: Bound::Included(at(value)?),
        },
        KeyOp::Lt(value) => Range {
            start,
            end: Bound::Excluded(at(value)?),
        },
        KeyOp::Le(value) => Range {
            start,
            end: Bound::Included(at(value)?),
        },
        KeyOp::Gt(value) => Range {
            start: Bound::Excluded(at(value)?),
            end,
        },
        KeyOp::Ge(value) => Range {
            start: Bound::Included(at(value)?),
            end,
        },
        KeyOp::Between(low, high) => Range {
            start: Bound::Included(at(low)?),
            end: Bound::Included(at(high)?),
        },
        KeyOp::BeginsWith(value) => Range::prefix(at(value)?),
    })
}

/// The rows of an index that a key condition selects. The item's own key follows the sort key, so a bound on
/// a value is a bound on all rows that begin with it.
pub(crate) fn in_index(index: IndexId, selection: &KeySelection) -> Option<Range> {
    let mut prefix = layout::index_partition(index, selection.hash.iter())?;
    for value in &selection.range_equal {
        key::encode_component(value, &mut prefix)?;
    }
    let Some(op) = &selection.range_last else {
        return Some(Range::prefix(prefix));
    };
    let rows = |value: &AttributeValue| {
        let mut key = prefix.clone();
        key::encode_component(value, &mut key)?;
        Some(Range::prefix(key))
    };
    let past = |rows: Range| match rows.end {
        Bound::Excluded(end) => Bound::Included(end),
        other => other,
    };
    let before = |rows: Range| match rows.start {
        Bound::Included(start) => Bound::Excluded(start),
        other => other,
    };
    let Range { start, end } = Range::prefix(prefix.clone());
    Some(match op {
        KeyOp::Eq(value) => rows(value)?,
        KeyOp::Lt(value) => Range {
            start,
            end: before(rows(value)?),
        },
        KeyOp::Le(value) => Range {
            start,
            end: rows(value)?.end,
        },
        KeyOp::Gt(value) => Range {
            start: past(rows(value)?),
            end,
        },
        KeyOp::Ge(value) => Range {
            start: rows(value)?.start,
            end,
        },
        KeyOp::Between(low, high) => Range {
            start: rows(low)?.start,
            end: rows(high)?.end,
        },
        KeyOp::BeginsWith(value) => {
            let mut key = prefix.clone();
            key::encode_component_prefix(value, &mut key)?;
            Range::prefix(key)
        }
    })
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
