//! The rows from former places that a page might show: the next ones in the page's direction, and only as
//! many as fit.

use std::collections::BTreeMap;

use trestle_item::codec::CodecError;
use trestle_item::{StoredItem, size};
use trestle_store::{Bytes, Direction};

/// A row with its own key: its stored form, and an upper bound of its size.
struct Candidate {
    bytes: Bytes,
    size: Size,
}

/// The size of a row as DynamoDB counts it. Measuring it takes a pass over the row, and matters only when a
/// page could be full.
#[derive(Clone, Copy)]
enum Size {
    AtMost(usize),
    Exactly(usize),
}

impl Size {
    fn bytes(self) -> usize {
        match self {
            Size::AtMost(bytes) | Size::Exactly(bytes) => bytes,
        }
    }
}

impl Candidate {
    fn new(bytes: Bytes) -> Self {
        let size = Size::AtMost(bytes.len().saturating_mul(size::PER_STORED_BYTE_MAX));
        Self { bytes, size }
    }

    fn measure(&mut self) -> Result<(), CodecError> {
        if matches!(self.size, Size::AtMost(_)) {
            self.size = Size::Exactly(StoredItem::check(&self.bytes)?.size());
        }
        Ok(())
    }
}

/// Rows sorted by their own keys, as many as one page can take.
pub(super) struct Candidates {
    rows: BTreeMap<Vec<u8>, Candidate>,
    direction: Direction,
    limit: usize,
    /// A page ends with the row that exceeds this.
    page_bytes: usize,
    /// The size of all rows, or an upper bound of it.
    size: usize,
    /// Whether the rows are measured from now on, because they could fill a page.
    measures: bool,
}

impl Candidates {
    pub(super) fn new(direction: Direction, limit: Option<usize>, page_bytes: usize) -> Self {
        Self {
            rows: BTreeMap::new(),
            direction,
            limit: limit.unwrap_or(usize::MAX),
            page_bytes,
            size: 0,
            measures: false,
        }
    }

    /// Whether a row with this key could still be shown.
    pub(super) fn wants(&self, place: &[u8]) -> bool {
        match self.farthest() {
            Some(farthest) if self.is_full() => match self.direction {
                Direction::Forward => place < farthest,
                Direction::Reverse => place > farthest,
            },
            _ => true,
        }
    }

    /// Adds a row; rows after it that no longer fit are removed.
    pub(super) fn add(&mut self, place: Vec<u8>, bytes: Bytes) -> Result<(), CodecError> {
        let mut row = Candidate::new(bytes);
        if self.measures {
            row.measure()?;
        }
        self.size += row.size.bytes();
        if let Some(before) = self.rows.insert(place, row) {
            self.size -= before.size.bytes();
        }
        if !self.measures && self.size > self.page_bytes {
            self.measure()?;
        }
        while self.is_beyond_full() {
            let gone = match self.direction {
                Direction::Forward => self.rows.pop_last(),
                Direction::Reverse => self.rows.pop_first(),
            };
            self.size -= gone.map_or(0, |(_, row)| row.size.bytes());
        }
        Ok(())
    }

    /// Measures the rows.
    fn measure(&mut self) -> Result<(), CodecError> {
        self.measures = true;
        self.size = 0;
        for row in self.rows.values_mut() {
            row.measure()?;
            self.size += row.size.bytes();
        }
        Ok(())
    }

    /// Whether a page cannot take more than these rows.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= self.limit || self.size > self.page_bytes
    }

    /// The key of the last row, in the page's direction.
    pub(super) fn farthest(&self) -> Option<&[u8]> {
        let farthest = match self.direction {
            Direction::Forward => self.rows.last_key_value(),
            Direction::Reverse => self.rows.first_key_value(),
        };
        farthest.map(|(place, _)| place.as_slice())
    }

    /// Whether the page would be full without the last row.
    fn is_beyond_full(&self) -> bool {
        let last = match self.direction {
            Direction::Forward => self.rows.last_key_value(),
            Direction::Reverse => self.rows.first_key_value(),
        };
        let Some((_, last)) = last else { return false };
        self.rows.len() > self.limit || self.size - last.size.bytes() > self.page_bytes
    }

    /// The rows with their keys, in the page's direction.
    pub(super) fn into_rows(self) -> Vec<(Bytes, Bytes)> {
        let rows = self.rows.into_iter();
        let mut rows: Vec<_> = rows.map(|(place, row)| (Bytes::from(place), row.bytes)).collect();
        if self.direction == Direction::Reverse {
            rows.reverse();
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use trestle_item::{Item, codec};

    use super::*;

    /// A row of this size.
    fn row(size: usize) -> Bytes {
        let item = Item::from([("a", "x".repeat(size - 1).as_str())]);
        assert_eq!(trestle_item::size::of_item(&item), size);
        codec::encode(&item).into()
    }

    fn places(candidates: Candidates) -> String {
        let rows = candidates.into_rows().into_iter();
        rows.map(|(place, _)| String::from_utf8_lossy(&place).into_owned())
            .collect()
    }

    fn offered(
        direction: Direction,
        limit: Option<usize>,
        page_bytes: usize,
        rows: &[(&str, usize)],
    ) -> Candidates {
        let mut candidates = Candidates::new(direction, limit, page_bytes);
        for (place, size) in rows {
            if candidates.wants(place.as_bytes()) {
                candidates.add(place.as_bytes().to_vec(), row(*size)).unwrap();
            }
        }
        candidates
    }

    #[test]
    fn the_next_rows_stay_whatever_the_order_in_which_they_come() {
        let rows = [("e", 1), ("b", 1), ("d", 1), ("a", 1), ("c", 1)];
        let forward = offered(Direction::Forward, Some(3), 100, &rows);
        assert!(forward.is_full());
        assert_eq!(places(forward), "abc");
        assert_eq!(places(offered(Direction::Reverse, Some(2), 100, &rows)), "ed");
        assert_eq!(places(offered(Direction::Reverse, None, 100, &rows)), "edcba");
    }

    #[test]
    fn the_row_that_takes_the_page_past_its_size_is_its_last() {
        let rows = [("d", 4), ("c", 4), ("b", 4), ("a", 4)];
        assert_eq!(places(offered(Direction::Forward, None, 7, &rows)), "ab");
        assert_eq!(places(offered(Direction::Forward, None, 8, &rows)), "abc");
        assert_eq!(places(offered(Direction::Reverse, None, 3, &rows)), "d");
    }

    #[test]
    fn a_row_that_is_offered_twice_counts_once() {
        let candidates = offered(
            Direction::Forward,
            Some(2),
            100,
            &[("a", 60), ("a", 60), ("b", 30)],
        );
        assert_eq!(places(candidates), "ab");
    }
}
