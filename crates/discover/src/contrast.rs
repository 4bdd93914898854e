//! Whether two sets of rows have different attributes, as evidence that they are different entities.

use std::collections::BTreeMap;

use trestle_item::Item;

/// How often each attribute occurs in some rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile<'r> {
    rows: usize,
    counts: BTreeMap<&'r str, usize>,
}

impl<'r> Profile<'r> {
    pub(crate) fn of(rows: impl Iterator<Item = &'r Item>, ignored: impl Fn(&str) -> bool) -> Self {
        let mut profile = Profile::default();
        for row in rows {
            profile.rows += 1;
            for name in row.keys().filter(|name| !ignored(name)) {
                *profile.counts.entry(name).or_default() += 1;
            }
        }
        profile
    }

    /// Whether an attribute that one of them always has never occurs in the other.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.has_of_its_own(other) || other.has_of_its_own(self)
    }

    fn has_of_its_own(&self, other: &Self) -> bool {
        self.counts
            .iter()
            .any(|(name, count)| *count == self.rows && !other.counts.contains_key(name))
    }
}

/// How many of all pairs differ, in percent; 0 without a pair.
pub(crate) fn pairs_that_differ(profiles: &[Profile<'_>]) -> usize {
    let (mut pairs, mut different) = (0, 0);
    for (at, one) in profiles.iter().enumerate() {
        for other in profiles.iter().skip(at + 1) {
            pairs += 1;
            different += usize::from(one.differs_from(other));
        }
    }
    (different * 100).checked_div(pairs).unwrap_or_default()
}
