//! Many pairs of own and former places, in little memory.

use std::ops::Bound;

/// Own places with the former ones. Their bytes are copied into one buffer: shared bytes of storage would
/// keep whole blocks in memory.
#[derive(Debug, Default)]
pub(super) struct Places {
    bytes: Vec<u8>,
    pairs: Vec<Pair>,
}

/// The positions of the bytes of an own place, and of those of the former one after it.
#[derive(Clone, Copy, Debug)]
struct Pair {
    own: usize,
    former: usize,
    end: usize,
}

impl Places {
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn add(&mut self, own: &[u8], former: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(own);
        self.bytes.extend_from_slice(former);
        self.pairs.push(Pair {
            own: begin,
            former: begin + own.len(),
            end: self.bytes.len(),
        });
    }

    /// Sorts by own places, as reading requires.
    pub(super) fn sort(&mut self) {
        let Self { bytes, pairs } = self;
        pairs.sort_unstable_by(|one, two| own(bytes, one).cmp(own(bytes, two)));
    }

    /// Keeps the first `at_most` after `start`; returns whether there were more.
    pub(super) fn keep(&mut self, start: &Bound<Vec<u8>>, at_most: usize) -> bool {
        self.sort();
        let behind = self.pairs.len() - self.first_behind(start);
        let mut kept = Self::default();
        for (own, former) in self.behind(start).take(at_most) {
            kept.add(own, former);
        }
        *self = kept;
        behind > at_most
    }

    /// The own places after `start`, in order, with the former ones.
    pub(super) fn behind(&self, start: &Bound<Vec<u8>>) -> impl Iterator<Item = (&[u8], &[u8])> {
        let pairs = self.pairs.get(self.first_behind(start)..).unwrap_or_default();
        pairs
            .iter()
            .map(|pair| (own(&self.bytes, pair), former(&self.bytes, pair)))
    }

    /// The last own place.
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.pairs.last().map(|pair| own(&self.bytes, pair))
    }

    fn first_behind(&self, start: &Bound<Vec<u8>>) -> usize {
        self.pairs.partition_point(|pair| match start {
            Bound::Unbounded => false,
            Bound::Included(start) => own(&self.bytes, pair) < start.as_slice(),
            Bound::Excluded(start) => own(&self.bytes, pair) <= start.as_slice(),
        })
    }
}

fn own<'b>(bytes: &'b [u8], pair: &Pair) -> &'b [u8] {
    bytes.get(pair.own..pair.former).unwrap_or_default()
}

fn former<'b>(bytes: &'b [u8], pair: &Pair) -> &'b [u8] {
    bytes.get(pair.former..pair.end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(places: &Places, start: &Bound<Vec<u8>>) -> String {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let rows = places.behind(start);
        rows.map(|(own, former)| text(own) + &text(former)).collect()
    }

    fn some() -> Places {
        let mut places = Places::default();
        for (own, former) in [("d", "1"), ("b", "2"), ("a", "3"), ("c", "4")] {
            places.add(own.as_bytes(), former.as_bytes());
        }
        places
    }

    #[test]
    fn places_are_read_in_their_order_from_anywhere() {
        let mut places = some();
        places.sort();
        assert_eq!(shown(&places, &Bound::Unbounded), "a3b2c4d1");
        assert_eq!(shown(&places, &Bound::Included(b"b".to_vec())), "b2c4d1");
        assert_eq!(shown(&places, &Bound::Excluded(b"b".to_vec())), "c4d1");
        assert_eq!(shown(&places, &Bound::Excluded(b"d".to_vec())), "");
        assert_eq!(places.last(), Some(b"d".as_slice()));
    }

    #[test]
    fn what_is_kept_is_the_next_and_more_is_told() {
        let mut places = some();
        assert!(places.keep(&Bound::Excluded(b"a".to_vec()), 2));
        assert_eq!(shown(&places, &Bound::Unbounded), "b2c4");
        assert!(!places.keep(&Bound::Included(b"b".to_vec()), 2));
        assert_eq!(places.len(), 2);
    }
}
