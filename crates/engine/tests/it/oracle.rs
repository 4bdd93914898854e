//! The naive database: each table is a sorted map of whole items, and every query reads all of them.
//!
//! Nothing is shared with the engine but the types of items: conditions, updates, projections, index membership and
//! key order are all written here a second time, as plainly as possible.

pub(crate) mod condition;
pub(crate) mod query;
pub(crate) mod update;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use trestle_api::{CancellationCode, ErrorKind, ReturnValue};
use trestle_item::{AttributeValue, Item, ScalarType, size};

use crate::support::Keys;
use condition::Condition;
use update::Change;

/// A primary key, ordered as its attributes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) Vec<AttributeValue>);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .map(|(one, two)| one.compare(two).unwrap())
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) kind: ErrorKind,
    pub(crate) item: Option<Item>,
    pub(crate) codes: Vec<CancellationCode>,
}

impl Refusal {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            item: None,
            codes: Vec::new(),
        }
    }

    pub(crate) fn validation() -> Self {
        Self::new(ErrorKind::Validation)
    }
}

impl From<trestle_api::Error> for Refusal {
    fn from(error: trestle_api::Error) -> Self {
        Self {
            kind: error.kind(),
            item: error.item().cloned(),
            codes: error.reasons().iter().map(|reason| reason.code).collect(),
        }
    }
}

/// What a write does to its item.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Put(Item),
    Update(Vec<Change>),
    Delete,
    Check,
}

/// One item's write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) table: String,
    pub(crate) key: Item,
    pub(crate) action: Action,
    pub(crate) condition: Option<Condition>,
    pub(crate) show_on_failure: bool,
    pub(crate) returns: ReturnValue,
}

/// A change of one item, as in a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) old: Option<Item>,
    pub(crate) new: Option<Item>,
    pub(crate) expired: bool,
}

/// The definition of a secondary index; its rows are computed when they are read.
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) local: bool,
    pub(crate) keys: Keys,
    pub(crate) projection: String,
}

/// A table: all its items and all that happened to them.
pub(crate) struct Table {
    pub(crate) keys: Keys,
    pub(crate) indexes: Vec<Index>,
    pub(crate) items: BTreeMap<Key, Item>,
    pub(crate) history: BTreeMap<Key, Vec<Event>>,
    pub(crate) ttl: Option<String>,
}

#[derive(Default)]
pub(crate) struct Oracle {
    pub(crate) tables: BTreeMap<String, Table>,
}

impl Oracle {
    pub(crate) fn table(&self, name: &str) -> &Table {
        &self.tables[name]
    }

    pub(crate) fn table_mut(&mut self, name: &str) -> &mut Table {
        self.tables.get_mut(name).unwrap()
    }

    /// PutItem, UpdateItem, DeleteItem.
    pub(crate) fn write(&mut self, write: &Write) -> Result<Option<Item>, Refusal> {
        let table = self.table_mut(&write.table);
        table.check_put(write)?;
        let (old, new) = table.outcome(write)?;
        let shown = returned(write, old.as_ref(), new.as_ref());
        table.store(&write.key, old, new, false);
        Ok(shown)
    }

    /// TransactWriteItems on distinct items.
    pub(crate) fn transact(&mut self, writes: &[Write]) -> Result<(), Refusal> {
        // Puts are checked first; after one that does not fit its table, no condition is checked.
        self.all_or_nothing(writes, Table::check_put)?;
        let outcomes = self.all_or_nothing(writes, Table::outcome)?;
        for (write, (old, new)) in writes.iter().zip(outcomes) {
            self.table_mut(&write.table).store(&write.key, old, new, false);
        }
        Ok(())
    }

    fn all_or_nothing<T>(
        &self,
        writes: &[Write],
        step: impl Fn(&Table, &Write) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let results: Vec<_> = writes
            .iter()
            .map(|write| step(self.table(&write.table), write))
            .collect();
        if results.iter().all(Result::is_ok) {
            return Ok(results.into_iter().map(Result::unwrap).collect());
        }
        // Only the first item that cannot be written is named.
        let mut is_named = false;
        let mut code = |result: &Result<T, Refusal>| match result {
            Ok(_) => CancellationCode::None,
            Err(refusal) if refusal.kind == ErrorKind::Validation && is_named => CancellationCode::None,
            Err(refusal) => {
                is_named |= refusal.kind == ErrorKind::Validation;
                CancellationCode::of(refusal.kind).unwrap()
            }
        };
        Err(Refusal {
            codes: results.iter().map(&mut code).collect(),
            ..Refusal::new(ErrorKind::TransactionCanceled)
        })
    }

    /// BatchWriteItem: puts and deletes of distinct items.
    pub(crate) fn batch(&mut self, writes: &[Write]) -> Result<(), Refusal> {
        for write in writes {
            self.table(&write.table).check_put(write)?;
        }
        for write in writes {
            self.write(write)?;
        }
        Ok(())
    }
}

impl Table {
    pub(crate) fn new(keys: &str, local: &[(&str, &str, &str)], global: &[(&str, &str, &str)]) -> Self {
        let index = |local| {
            move |(name, keys, projection): &(&str, &str, &str)| Index {
                name: (*name).to_owned(),
                local,
                keys: Keys::parse(keys),
                projection: (*projection).to_owned(),
            }
        };
        Self {
            keys: Keys::parse(keys),
            indexes: local
                .iter()
                .map(index(true))
                .chain(global.iter().map(index(false)))
                .collect(),
            items: BTreeMap::new(),
            history: BTreeMap::new(),
            ttl: None,
        }
    }

    pub(crate) fn key_names(&self) -> Vec<String> {
        let Keys { hash, range } = &self.keys;
        hash.iter().chain(range).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn key(&self, item: &Item) -> Key {
        Key(self
            .key_names()
            .iter()
            .map(|name| item.get(name).unwrap().clone())
            .collect())
    }

    pub(crate) fn get(&self, key: &Item) -> Option<&Item> {
        self.items.get(&self.key(key))
    }

    /// A put's item is checked before its condition.
    fn check_put(&self, write: &Write) -> Result<(), Refusal> {
        match &write.action {
            Action::Put(item) => self.check_index_keys(item),
            _ => Ok(()),
        }
    }

    /// Attributes that are index keys must have the index's type, and be neither empty nor too long.
    fn check_index_keys(&self, item: &Item) -> Result<(), Refusal> {
        for Index { keys, .. } in &self.indexes {
            let mut parts = keys.hash.iter().chain(&keys.range);
            let fits = |(name, kind): &(String, ScalarType)| {
                item.get(name).is_none_or(|value| is_key_value(value, *kind))
            };
            if !parts.all(fits) || !is_within_key_size(keys, item) {
                return Err(Refusal::validation());
            }
        }
        Ok(())
    }

    fn outcome(&self, write: &Write) -> Result<(Option<Item>, Option<Item>), Refusal> {
        let old = self.get(&write.key).cloned();
        let holds = |condition: &Condition| condition.holds(&old.clone().unwrap_or_default());
        if !write.condition.as_ref().is_none_or(holds) {
            return Err(Refusal {
                item: old.filter(|_| write.show_on_failure),
                ..Refusal::new(ErrorKind::ConditionalCheckFailed)
            });
        }
        let new = match &write.action {
            Action::Put(item) => Some(item.clone()),
            Action::Delete => None,
            Action::Check => old.clone(),
            Action::Update(changes) if old.is_none() && update::only_removes(changes) => None,
            Action::Update(changes) => {
                let before = old.clone().unwrap_or_else(|| write.key.clone());
                let after = update::apply(changes, &before)?;
                self.check_index_keys(&after)?;
                Some(after)
            }
        };
        Ok((old, new))
    }

    pub(crate) fn store(&mut self, key: &Item, old: Option<Item>, new: Option<Item>, expired: bool) {
        let key = self.key(key);
        match &new {
            Some(item) => self.items.insert(key.clone(), item.clone()),
            None => self.items.remove(&key),
        };
        if old != new {
            let event = Event { old, new, expired };
            self.history.entry(key).or_default().push(event);
        }
    }

    /// Removes what has expired at `now`, in seconds; returns the keys.
    pub(crate) fn expire(&mut self, now: u64) -> Vec<Item> {
        let Some(ttl) = self.ttl.clone() else {
            return Vec::new();
        };
        let over = |item: &&Item| match item.get(&ttl) {
            Some(AttributeValue::N(at)) => (at.to_i64().unwrap() as u64) < now,
            _ => false,
        };
        let due: Vec<Item> = self.items.values().filter(over).cloned().collect();
        let names = self.key_names();
        let mut keys = Vec::new();
        for item in due {
            let key = only(&item, &names);
            self.store(&key, Some(item), None, true);
            keys.push(key);
        }
        keys
    }

    pub(crate) fn size(&self) -> (u64, u64) {
        counted(self.items.values())
    }
}

/// How many items, and how many bytes.
pub(crate) fn counted<'a>(items: impl Iterator<Item = &'a Item>) -> (u64, u64) {
    items.fold((0, 0), |(count, bytes), item| {
        (count + 1, bytes + size::of_item(item) as u64)
    })
}

/// The named attributes of an item.
pub(crate) fn only(item: &Item, names: &[String]) -> Item {
    let named = |name: &String| Some((name.clone(), item.get(name)?.clone()));
    names.iter().filter_map(named).collect()
}

fn is_key_value(value: &AttributeValue, kind: ScalarType) -> bool {
    match (value, kind) {
        (AttributeValue::S(text), ScalarType::S) => !text.is_empty(),
        (AttributeValue::B(bytes), ScalarType::B) => !bytes.is_empty(),
        (AttributeValue::N(_), ScalarType::N) => true,
        _ => false,
    }
}

/// Partition keys have at most 2048 bytes, sort keys 1024.
fn is_within_key_size(keys: &Keys, item: &Item) -> bool {
    let bytes = |parts: &[(String, ScalarType)]| -> usize {
        let values = parts.iter().filter_map(|(name, _)| item.get(name));
        values.map(size::of_value).sum()
    };
    bytes(&keys.hash) <= 2048 && bytes(&keys.range) <= 1024
}

fn returned(write: &Write, old: Option<&Item>, new: Option<&Item>) -> Option<Item> {
    let touched = |image: Option<&Item>| {
        let Action::Update(changes) = &write.action else {
            return None;
        };
        let names: Vec<String> = changes.iter().map(|change| change.attribute.clone()).collect();
        image
            .map(|image| only(image, &names))
            .filter(|shown| !shown.is_empty())
    };
    match write.returns {
        ReturnValue::None => None,
        ReturnValue::AllOld => old.cloned(),
        ReturnValue::AllNew => new.cloned(),
        ReturnValue::UpdatedOld => touched(old),
        ReturnValue::UpdatedNew => touched(new),
    }
}
