//! Sums over facts in any order: what is wanted is added, what exists is subtracted.

use trestle_item::{Item, Number, key};

/// How many groups of facts share a sum. Where one is wrong, only those of the same bucket are read again.
const BUCKETS: usize = 1 << 14;

/// Sums are computed in the field of this many elements, twice with independent factors: wrong facts add up
/// to zero with a probability of about 2^-120.
const PRIME: u64 = (1 << 61) - 1;

#[derive(Clone, Copy, Default)]
struct Bucket {
    sums: [u64; 2],
    facts: u64,
}

/// The sums of all relations of a model.
pub(super) struct Sums {
    relations: Vec<Vec<Bucket>>,
}

/// A fact in bytes: first those that identify its group, then those that must be the same on both sides.
pub(super) struct Fact<'b> {
    pub(super) relation: usize,
    /// Whether a row wants it, or has it.
    pub(super) wanted: bool,
    pub(super) bytes: &'b mut Vec<u8>,
    /// How many of the bytes identify the group.
    pub(super) group: usize,
    /// Its amount; one for a fact that exists or does not.
    pub(super) amount: Option<Number>,
    /// The two sides of a pair.
    pub(super) pair: Option<(&'b str, &'b str)>,
    /// The key of the row that is wanted, for rows that want several.
    pub(super) target: Option<&'b Item>,
}

impl Fact<'_> {
    pub(super) fn group(&self) -> &[u8] {
        self.bytes.get(..self.group).unwrap_or(self.bytes)
    }

    /// The bucket of its group.
    pub(super) fn bucket(&self) -> usize {
        (key::hash(self.group()) >> (64 - BUCKETS.trailing_zeros())) as usize
    }

    /// Two independent numbers.
    fn digests(&mut self) -> [u64; 2] {
        self.bytes.push(0);
        let first = key::hash(self.bytes);
        if let Some(last) = self.bytes.last_mut() {
            *last = 1;
        }
        let second = key::hash(self.bytes);
        self.bytes.pop();
        [first % PRIME, second % PRIME]
    }
}

impl Sums {
    pub(super) fn new(relations: usize) -> Self {
        Sums {
            relations: vec![Vec::new(); relations],
        }
    }

    pub(super) fn add(&mut self, fact: &mut Fact<'_>) {
        let weight = fact.amount.map_or(1, |amount| amount.residue(PRIME));
        let weight = if fact.wanted || weight == 0 {
            weight
        } else {
            PRIME - weight
        };
        let (at, digests) = (fact.bucket(), fact.digests());
        let Some(buckets) = self.relations.get_mut(fact.relation) else {
            return;
        };
        if buckets.is_empty() {
            buckets.resize(BUCKETS, Bucket::default());
        }
        if let Some(bucket) = buckets.get_mut(at) {
            bucket.facts += 1;
            for (sum, digest) in bucket.sums.iter_mut().zip(digests) {
                *sum = plus(*sum, times(weight, digest));
            }
        }
    }

    pub(super) fn merge(&mut self, other: Sums) {
        for (own, theirs) in self.relations.iter_mut().zip(other.relations) {
            if own.is_empty() {
                *own = theirs;
                continue;
            }
            for (own, theirs) in own.iter_mut().zip(theirs) {
                own.facts += theirs.facts;
                for (sum, more) in own.sums.iter_mut().zip(theirs.sums) {
                    *sum = plus(*sum, more);
                }
            }
        }
    }

    /// The relation, place and facts of each bucket whose sum is not zero.
    pub(super) fn suspects(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let relations = self.relations.iter().enumerate();
        relations.flat_map(|(relation, buckets)| {
            let wrong = buckets
                .iter()
                .enumerate()
                .filter(|(_, bucket)| bucket.sums != [0, 0]);
            wrong.map(move |(at, bucket)| (relation, at, bucket.facts))
        })
    }
}

fn plus(one: u64, two: u64) -> u64 {
    (one + two) % PRIME
}

fn times(one: u64, two: u64) -> u64 {
    (u128::from(one) * u128::from(two) % u128::from(PRIME)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(sums: &mut Sums, wanted: bool, text: &str, group: usize, amount: Option<&str>) {
        sums.add(&mut Fact {
            relation: 0,
            wanted,
            bytes: &mut text.as_bytes().to_vec(),
            group,
            amount: amount.map(|amount| amount.parse().unwrap()),
            pair: None,
            target: None,
        });
    }

    fn wrong(sums: &Sums) -> usize {
        sums.suspects().count()
    }

    #[test]
    fn what_is_wanted_and_there_cancels_in_any_order_and_any_number_of_parts() {
        let (mut one, mut two) = (Sums::new(1), Sums::new(1));
        for n in 0..100 {
            add(
                if n % 3 == 0 { &mut one } else { &mut two },
                true,
                &format!("{n:03}x"),
                3,
                None,
            );
        }
        for n in (0..100).rev() {
            add(
                if n % 2 == 0 { &mut one } else { &mut two },
                false,
                &format!("{n:03}x"),
                3,
                None,
            );
        }
        one.merge(two);
        assert_eq!(wrong(&one), 0);
        add(&mut one, true, "100x", 3, None);
        add(&mut one, false, "100y", 3, None);
        assert_eq!(wrong(&one), 1, "the same group with another content");
    }

    #[test]
    fn amounts_add_up_as_decimal_numbers() {
        let mut sums = Sums::new(1);
        for amount in ["19.99", "-0.01", "1e20", "0.02"] {
            add(&mut sums, true, "p", 1, Some(amount));
        }
        add(&mut sums, false, "p", 1, Some("100000000000000000020"));
        assert_eq!(wrong(&sums), 0);
        add(&mut sums, false, "p", 1, Some("1e-130"));
        assert_eq!(wrong(&sums), 1);
    }
}
