//! The parked changes of a route, by key: the oldest of a key is tried again when it is due, the others wait behind it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_item::{codec, key};

use crate::Change;
use crate::rows::KeptId;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// Names an item's key in eight bytes. Two keys with one name wait for each other without need, and that is all.
pub(crate) type KeyName = u64;

/// The name of the key of a change's item, the same before and after a migration moves it.
pub(crate) fn key_name(change: &Change) -> KeyName {
    key::hash(&codec::encode(change.item_key()))
}

/// What is remembered of a parked change; its record is in its row.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) shard: Arc<ShardName>,
    pub(crate) sequence: SequenceNumber,
    /// When the change happened.
    pub(crate) at: Timestamp,
    pub(crate) due: Timestamp,
    /// Whether its row is written.
    pub(crate) is_stored: bool,
    /// It failed without having been to blame before: so many answers of the target were counted then. An answer to another
    /// change since then shows that the target works.
    pub(crate) doubt: Option<u64>,
}

/// The parked changes of a route.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    keys: HashMap<KeyName, BTreeMap<KeptId, Entry>>,
    /// The oldest change of each key, unless it is being tried.
    waiting: BTreeSet<(Timestamp, KeyName)>,
    count: usize,
}

impl Parked {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether changes of this key have to wait behind a parked one.
    pub(crate) fn blocks(&self, key: KeyName) -> bool {
        self.keys.contains_key(&key)
    }

    /// Adds a change; `false` if it is parked already.
    pub(crate) fn add(&mut self, key: KeyName, id: KeptId, entry: Entry) -> bool {
        let line = self.keys.entry(key).or_default();
        if line.contains_key(&id) {
            return false;
        }
        let due = entry.due;
        let is_only = line.is_empty();
        line.insert(id, entry);
        self.count += 1;
        if is_only {
            self.waiting.insert((due, key));
        }
        true
    }

    /// The change's row is written.
    pub(crate) fn stored(&mut self, key: KeyName, id: &KeptId) {
        if let Some(entry) = self.keys.get_mut(&key).and_then(|line| line.get_mut(id)) {
            entry.is_stored = true;
        }
    }

    /// Takes up to `limit` changes that are due and ready. Each stays in its line until it is resolved.
    pub(crate) fn take_due(
        &mut self,
        now: Timestamp,
        limit: usize,
        mut is_ready: impl FnMut(KeyName, &Entry) -> bool,
    ) -> Vec<(KeyName, KeptId)> {
        let mut taken = Vec::new();
        for (due, key) in &self.waiting {
            if *due > now || taken.len() == limit {
                break;
            }
            let first = self.keys.get(key).and_then(BTreeMap::first_key_value);
            if let Some((id, _)) = first.filter(|(_, entry)| is_ready(*key, entry)) {
                taken.push((*due, *key, id.clone()));
            }
        }
        for (due, key, _) in &taken {
            self.waiting.remove(&(*due, *key));
        }
        taken.into_iter().map(|(_, key, id)| (key, id)).collect()
    }

    /// When the next change is due after `now`.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let after = (now, KeyName::MAX);
        let mut later = self
            .waiting
            .range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
        later.next().map(|(due, _)| *due)
    }

    /// A change that was taken is to be tried again later.
    pub(crate) fn postpone(&mut self, key: KeyName, id: &KeptId, due: Timestamp) {
        if let Some(entry) = self.keys.get_mut(&key).and_then(|line| line.get_mut(id)) {
            entry.due = due;
        }
        self.wait(key);
    }

    /// The doubt about a change, if there is one.
    pub(crate) fn doubt(&self, key: KeyName, id: &KeptId) -> Option<u64> {
        self.keys.get(&key)?.get(id)?.doubt
    }

    /// A change that was taken stays due: its target does not answer.
    pub(crate) fn hold(&mut self, key: KeyName, id: &KeptId, doubt: Option<u64>) {
        if let Some(entry) = self.keys.get_mut(&key).and_then(|line| line.get_mut(id)) {
            entry.doubt = doubt;
        }
        self.wait(key);
    }

    /// A change that was taken is done with; the next of its key has its turn.
    pub(crate) fn remove(&mut self, key: KeyName, id: &KeptId) {
        let Some(line) = self.keys.get_mut(&key) else {
            return;
        };
        if line.remove(id).is_some() {
            self.count -= 1;
        }
        if line.is_empty() {
            self.keys.remove(&key);
        } else {
            self.wait(key);
        }
    }

    fn wait(&mut self, key: KeyName) {
        let first = self.keys.get(&key).and_then(BTreeMap::first_key_value);
        if let Some((_, entry)) = first {
            self.waiting.insert((entry.due, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(due: u64) -> Entry {
        Entry {
            shard: Arc::new(ShardName {
                stream: "s".into(),
                shard: "1".into(),
            }),
            sequence: SequenceNumber::new("1"),
            at: Timestamp::EPOCH,
            due: Timestamp::from_secs(due),
            is_stored: true,
            doubt: None,
        }
    }

    fn id(name: &str) -> KeptId {
        KeptId(name.to_owned())
    }

    #[test]
    fn only_the_oldest_of_a_key_is_due_and_the_next_follows_when_it_is_gone() {
        let mut parked = Parked::default();
        let now = Timestamp::from_secs(10);
        assert!(parked.add(7, id("a1"), entry(5)));
        assert!(parked.add(7, id("a2"), entry(0)));
        assert!(!parked.add(7, id("a2"), entry(0)), "it is there already");
        assert!(parked.add(8, id("b1"), entry(20)));
        assert_eq!(parked.next_due(now), Some(Timestamp::from_secs(20)));
        assert_eq!(parked.take_due(now, 9, |_, _| true), [(7, id("a1"))]);
        assert_eq!(parked.take_due(now, 9, |_, _| true), [], "it has been taken");
        parked.postpone(7, &id("a1"), Timestamp::from_secs(12));
        assert_eq!(parked.next_due(now), Some(Timestamp::from_secs(12)));
        let later = Timestamp::from_secs(13);
        assert_eq!(parked.take_due(later, 9, |_, _| false), [], "it is not ready");
        assert_eq!(parked.take_due(later, 9, |_, _| true), [(7, id("a1"))]);
        parked.remove(7, &id("a1"));
        assert!(parked.blocks(7) && parked.count() == 2);
        assert_eq!(parked.take_due(later, 9, |_, _| true), [(7, id("a2"))]);
        parked.remove(7, &id("a2"));
        assert!(!parked.blocks(7) && parked.blocks(8));
    }
}
