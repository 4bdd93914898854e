//! Sequence numbers: decimal numbers of any length, compared as numbers.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// DynamoDB's sequence numbers have up to this many digits.
const DIGITS_MAX: usize = 40;

/// A record's number in its shard; later records have greater ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SequenceNumber(Arc<str>);

impl SequenceNumber {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The number with leading zeros, so that texts sort like the numbers.
    pub(crate) fn padded(&self) -> String {
        format!("{:0>DIGITS_MAX$}", &*self.0)
    }

    fn digits(&self) -> &str {
        self.0.trim_start_matches('0')
    }
}

impl Ord for SequenceNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (self.digits(), other.digits());
        one.len().cmp(&two.len()).then_with(|| one.cmp(two))
    }
}

impl PartialOrd for SequenceNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_different_lengths_compare_as_numbers() {
        let sorted = [
            "0",
            "007",
            "10",
            "99",
            "100",
            "100000000000000000000000000000000000001",
        ];
        let sorted = sorted.map(SequenceNumber::new);
        assert!(sorted.is_sorted());
        assert!(sorted.map(|number| number.padded()).is_sorted());
    }
}
