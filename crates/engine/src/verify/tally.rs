//! Sums over rows that do not depend on their order.

use trestle_item::key;

/// Rows added up. Sets of rows with equal tallies are equal, except with a negligible probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) rows: u64,
    digest: u128,
}

impl Tally {
    /// Adds one row.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut both = [0; 16];
        let (first, second) = both.split_at_mut(8);
        first.copy_from_slice(&key::hash(key).to_be_bytes());
        second.copy_from_slice(&key::hash(value).to_be_bytes());
        self.rows += 1;
        // Hashed once more, so that exchanging the values of two rows is detected.
        self.digest = self.digest.wrapping_add(u128::from(key::hash(&both)));
    }
}

/// How many and how large, as tables and indexes are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) items: u64,
    pub(super) bytes: u64,
}

impl Count {
    pub(super) fn add(&mut self, bytes: usize) {
        self.items += 1;
        self.bytes += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rows: &[(&[u8], &[u8])]) -> Tally {
        let mut tally = Tally::default();
        rows.iter().for_each(|(key, value)| tally.add(key, value));
        tally
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let sum = tally(&[(b"a", b"1"), (b"b", b"2")]);
        assert_eq!(sum, tally(&[(b"b", b"2"), (b"a", b"1")]));
        assert_ne!(sum, tally(&[(b"a", b"2"), (b"b", b"1")]));
        assert_ne!(sum, tally(&[(b"a", b"1"), (b"b", b"3")]));
        assert_ne!(sum, tally(&[(b"a", b"1")]));
        assert_ne!(tally(&[(b"ab", b"c")]), tally(&[(b"a", b"bc")]));
        assert_ne!(
            tally(&[(b"a", b"1"), (b"a", b"1")]),
            tally(&[(b"b", b"2"), (b"b", b"2")])
        );
    }
}
