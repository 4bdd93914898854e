//! The attribute map: an item, or a nested `M`.

use crate::AttributeValue;

/// An item is the map at the top.
pub type Item = Map;

/// Up to this many attributes are searched linearly: most names differ in length, which is compared without
/// reading them. A binary search reads one name per step.
const SCANNED_MAX: usize = 24;

/// Attributes by name, kept sorted by name.
///
/// A sorted vector rather than a tree: items are small, are decoded far more often than they are edited, and
/// arrive from storage already in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    entries: Vec<(String, AttributeValue)>,
}

impl Map {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with room for `n` attributes.
    #[must_use]
    pub fn with_capacity(n: usize) -> Self {
        Self {
            entries: Vec::with_capacity(n),
        }
    }

    /// Reserves space for exactly `n` more attributes: doubling, as for a growing vector, exceeds the sizes
    /// that allocators provide quickly.
    pub fn reserve(&mut self, n: usize) {
        self.entries.reserve_exact(n);
    }

    /// The entries must be sorted by name, each name once.
    pub(crate) fn from_sorted(entries: Vec<(String, AttributeValue)>) -> Self {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        Self { entries }
    }

    /// Sorts the entries; of those with the same name, the last one stays.
    pub(crate) fn from_unsorted(mut entries: Vec<(String, AttributeValue)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            // The sort is stable, and `dedup_by` keeps the first: swap the later value into it.
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        Self { entries }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(key, _)| key.as_str().cmp(name))
    }

    fn find(&self, name: &str) -> Option<usize> {
        if self.entries.len() <= SCANNED_MAX {
            return self.entries.iter().position(|(key, _)| key == name);
        }
        self.position(name).ok()
    }

    /// The attribute called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.find(name).map(|at| &self.entries[at].1)
    }

    /// The attribute called `name`, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AttributeValue> {
        self.find(name).map(|at| &mut self.entries[at].1)
    }

    /// Whether an attribute called `name` exists.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Sets an attribute; returns the value it had.
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        value: impl Into<AttributeValue>,
    ) -> Option<AttributeValue> {
        let (name, value) = (name.into(), value.into());
        // Storage and sorted JSON append in order: skip the search then.
        if self.entries.last().is_none_or(|(last, _)| *last < name) {
            self.entries.push((name, value));
            return None;
        }
        match self.position(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (name, value));
                None
            }
        }
    }

    /// Removes an attribute and returns it.
    pub fn remove(&mut self, name: &str) -> Option<AttributeValue> {
        self.find(name).map(|at| self.entries.remove(at).1)
    }

    /// How many attributes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether maps and lists are nested at most as deep as DynamoDB allows in an item. Expressions can build
    /// deeper items than a single request could contain.
    #[must_use]
    pub fn is_within_nesting_limit(&self) -> bool {
        self.values()
            .all(|value| value.nests_within(crate::NESTING_MAX - 1))
    }

    /// Keeps the attributes for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &AttributeValue) -> bool) {
        self.entries.retain(|(name, value)| keep(name, value));
    }

    /// Attributes in order of name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&String, &AttributeValue)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    /// Names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> {
        self.entries.iter().map(|(name, _)| name)
    }

    /// Values in order of name.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &AttributeValue> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl IntoIterator for Map {
    type Item = (String, AttributeValue);
    type IntoIter = std::vec::IntoIter<(String, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a AttributeValue);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (String, AttributeValue)>,
        fn(&'a (String, AttributeValue)) -> (&'a String, &'a AttributeValue),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(name, value)| (name, value))
    }
}

impl<N: Into<String>, V: Into<AttributeValue>> FromIterator<(N, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let mut map = Self::with_capacity(pairs.size_hint().0);
        for (name, value) in pairs {
            map.insert(name, value);
        }
        map
    }
}

impl<N: Into<String>, V: Into<AttributeValue>, const LEN: usize> From<[(N, V); LEN]> for Map {
    fn from(pairs: [(N, V); LEN]) -> Self {
        pairs.into_iter().collect()
    }
}
