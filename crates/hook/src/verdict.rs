//! The hook's answer to the changes of a request.

use std::sync::Arc;

use trestle_api::Error;
use trestle_item::{AttributeValue, Item};

/// The hook's answer to the changes of a request. The default: store the rows as written; no other row
/// changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What is stored for each change, in the order of the changes. Changes past the end are stored as
    /// written.
    pub rows: Vec<Becomes>,
    /// The other rows that change, written in this order after those of the request. None of them is a row of
    /// the request: effects on such a row are part of its entry in `rows`.
    pub companions: Vec<Companion>,
}

/// What is stored for a row. Its table key stays the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Becomes {
    /// The result of the write.
    #[default]
    AsWritten,
    /// The result of the write with some attributes changed. Cheaper than a whole item.
    Edited(Edits),
    /// This item, even if the write removes the row.
    Item(Arc<Item>),
    /// Nothing: the row is removed.
    Removed,
}

/// Changes of single attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edits {
    /// Attributes that are set.
    pub set: Vec<(String, AttributeValue)>,
    /// Attributes that are removed.
    pub remove: Vec<String>,
}

impl Edits {
    /// The edits that turn one item into another.
    #[must_use]
    pub fn between(from: &Item, to: &Item) -> Self {
        let set = to.iter().filter(|(name, value)| from.get(name) != Some(*value));
        let remove = from.keys().filter(|name| !to.contains_key(name));
        Edits {
            set: set.map(|(name, value)| (name.clone(), value.clone())).collect(),
            remove: remove.cloned().collect(),
        }
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// Changes an item.
    pub fn apply(self, item: &mut Item) {
        item.reserve(self.set.len());
        for (name, value) in self.set {
            item.insert(name, value);
        }
        for name in &self.remove {
            item.remove(name);
        }
    }

    /// Changes an item. Returns the edits that undo the change.
    #[must_use]
    pub fn exchange(self, item: &mut Item) -> Self {
        let mut back = Edits::default();
        item.reserve(self.set.len());
        for (name, value) in self.set {
            match item.insert(name.clone(), value) {
                Some(before) => back.set.push((name, before)),
                None => back.remove.push(name),
            }
        }
        for name in self.remove {
            if let Some(before) = item.remove(&name) {
                back.set.push((name, before));
            }
        }
        back
    }
}

/// A row that changes because of the changes of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The table's name in the database.
    pub table: String,
    /// The row's table key.
    pub key: Item,
    /// The whole new row; `None` removes it.
    pub item: Option<Arc<Item>>,
}

/// Why the changes of a request are refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Which of the changes is the cause, if it is one of them.
    pub at: Option<usize>,
    /// The error for the client.
    pub error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused { at: None, error }
    }
}

impl Verdict {
    /// What is stored for a row of the request.
    #[must_use]
    pub fn row(&self, at: usize) -> &Becomes {
        self.rows.get(at).unwrap_or(&Becomes::AsWritten)
    }
}

impl Becomes {
    /// The row that is stored, given the result of the write.
    #[must_use]
    pub fn apply(self, written: Option<Arc<Item>>) -> Option<Arc<Item>> {
        match self {
            Becomes::AsWritten => written,
            Becomes::Edited(edits) => written.map(|mut item| {
                edits.apply(Arc::make_mut(&mut item));
                item
            }),
            Becomes::Item(item) => Some(item),
            Becomes::Removed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(pairs: &[(&str, &str)]) -> Item {
        pairs.iter().copied().collect()
    }

    #[test]
    fn edits_between_two_items_make_one_of_the_other_and_back() {
        let from = item(&[("a", "1"), ("b", "2"), ("d", "4")]);
        let to = item(&[("a", "1"), ("b", "3"), ("c", "5")]);
        let mut changed = from.clone();
        let back = Edits::between(&from, &to).exchange(&mut changed);
        assert_eq!(changed, to);
        back.apply(&mut changed);
        assert_eq!(changed, from);
    }

    #[test]
    fn edits_that_change_nothing_are_empty_only_between_equal_items() {
        let one = item(&[("a", "1")]);
        assert!(Edits::between(&one, &one).is_empty());
        assert!(!Edits::between(&one, &Item::new()).is_empty());
        assert!(!Edits::between(&Item::new(), &one).is_empty());
    }
}
