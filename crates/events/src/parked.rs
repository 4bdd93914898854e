//! The parked changes of a route, by item or by destination: the oldest is tried again when it is due, and
//! the others wait for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map};
use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_item::{codec, key};

use crate::Change;
use crate::backfill::RowMark;
use crate::lanes::LaneName;
use crate::rows::KeptId;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// Identifies an item's key by a hash of eight bytes. If two keys have the same hash, they only wait for each
/// other unnecessarily.
pub(crate) type KeyName = u64;

/// The hash of the key of a change's item, the same before and after a migration moves it.
pub(crate) fn key_name(change: &Change) -> KeyName {
    key::hash(&codec::encode(change.item_key()))
}

/// The state of a parked change in memory; its record is in its row.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its item.
    pub(crate) item: KeyName,
    /// The lane of its item, or of its destination: while that is on hold, the change is tried only as a
    /// probe.
    pub(crate) lane: LaneName,
    pub(crate) shard: Arc<ShardName>,
    pub(crate) sequence: SequenceNumber,
    /// For a row, after which changes it is ordered.
    pub(crate) mark: Option<RowMark>,
    /// When the change happened.
    pub(crate) at: Timestamp,
    pub(crate) due: Timestamp,
    /// Whether its row is written.
    pub(crate) is_stored: bool,
    /// Whether it is being tried.
    pub(crate) is_tried: bool,
    /// Set if it failed without having been found at fault before: the number of answers of the target at
    /// that time. A later answer to another change shows that the target works.
    pub(crate) doubt: Option<u64>,
}

/// What a parked change waits for, besides earlier changes of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing: it was itself refused.
    Item,
    /// Every earlier parked change of its destination, which could not be reached or did not answer.
    Destination(LaneName),
}

/// The parked changes of a route, in queues: the oldest of a queue is tried, and the others wait for it. All
/// parked changes of an item are in one queue: its own, or that of a destination.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    queues: HashMap<KeyName, ParkedQueue>,
    /// The queue of each item, and the number of its changes in it.
    items: HashMap<KeyName, (KeyName, usize)>,
    /// When each queue is due, unless its oldest changes are being tried.
    waiting: BTreeSet<(Timestamp, KeyName)>,
    /// The times of the changes, with the number of changes at each.
    times: BTreeMap<Timestamp, usize>,
    count: usize,
}

#[derive(Debug, Default)]
struct ParkedQueue {
    changes: BTreeMap<KeptId, Entry>,
    /// When it is due; `None` while its oldest changes are being tried.
    due: Option<Timestamp>,
    /// How many of its changes are being tried.
    tried: usize,
}

/// Changes that were taken from one queue to be tried together, oldest first. They have the same lane.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) lane: LaneName,
    pub(crate) changes: Vec<(KeyName, KeptId)>,
}

impl ParkedQueue {
    fn first(&self) -> Option<(&KeptId, &Entry)> {
        self.changes.first_key_value()
    }

    /// Its oldest changes of one lane, as many as may be tried together.
    fn take(&mut self, limit: usize, is_ready: &mut impl FnMut(&Entry) -> bool) -> Option<Due> {
        let lane = self.first()?.1.lane;
        let mut changes = Vec::new();
        for (id, entry) in self.changes.iter_mut().take(limit) {
            if entry.lane != lane || !is_ready(entry) {
                break;
            }
            entry.is_tried = true;
            changes.push((entry.item, id.clone()));
        }
        self.tried = changes.len();
        (!changes.is_empty()).then_some(Due { lane, changes })
    }
}

impl Parked {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The time of the oldest of them.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        self.times.keys().next().copied()
    }

    /// What a change must wait for, if its item or its destination has parked changes.
    pub(crate) fn behind(&self, item: KeyName, lane: Option<LaneName>) -> Option<Behind> {
        match self.items.get(&item) {
            Some((queue, _)) if *queue == item => Some(Behind::Item),
            Some((queue, _)) => Some(Behind::Destination(*queue)),
            None => lane
                .filter(|lane| self.queues.contains_key(lane))
                .map(Behind::Destination),
        }
    }

    /// The last parked change of an item.
    pub(crate) fn last(&self, item: KeyName) -> Option<KeptId> {
        let (queue, _) = self.items.get(&item)?;
        let mut changes = self.queues.get(queue)?.changes.iter().rev();
        changes
            .find(|(_, entry)| entry.item == item)
            .map(|(id, _)| id.clone())
    }

    /// Whether changes of this item must wait for a parked one.
    pub(crate) fn blocks(&self, item: KeyName) -> bool {
        self.items.contains_key(&item)
    }

    /// Adds a change; `false` if it is parked already.
    pub(crate) fn add(&mut self, id: KeptId, entry: Entry, behind: Behind) -> bool {
        let item = entry.item;
        if behind == Behind::Item {
            self.single_out(item);
        }
        let queue = match (self.items.get(&item), behind) {
            (Some((queue, _)), _) => *queue,
            (None, Behind::Item) => item,
            (None, Behind::Destination(lane)) => lane,
        };
        let line = self.queues.entry(queue).or_default();
        if line.changes.contains_key(&id) {
            return false;
        }
        *self.times.entry(entry.at).or_default() += 1;
        line.changes.insert(id, entry);
        self.count += 1;
        self.items.entry(item).or_insert((queue, 0)).1 += 1;
        self.wait(queue);
        true
    }

    /// Moves the changes of an item to a queue of their own: one of them was refused, which is no fault of
    /// the destination.
    pub(crate) fn single_out(&mut self, item: KeyName) {
        let Some((queue, count)) = self.items.get(&item).copied() else {
            return;
        };
        if queue == item {
            return;
        }
        let Some(mut line) = self.queues.remove(&queue) else {
            debug_assert!(false, "an item's queue is there");
            return;
        };
        if let Some(due) = line.due.take() {
            self.waiting.remove(&(due, queue));
        }
        let own = line.changes.extract_if(.., |_, entry| entry.item == item);
        let own: BTreeMap<KeptId, Entry> = own.collect();
        debug_assert_eq!(own.len(), count, "an item's changes are in one queue");
        // An attempt continues with the changes that are being tried, in whatever queue they are.
        let tried = own.values().filter(|entry| entry.is_tried).count();
        line.tried -= tried;
        if !line.changes.is_empty() {
            self.queues.insert(queue, line);
        }
        let line = self.queues.entry(item).or_default();
        line.changes.extend(own);
        line.tried += tried;
        self.items.insert(item, (item, count));
        self.wait(queue);
        self.wait(item);
    }

    /// Records that the change's row is written.
    pub(crate) fn stored(&mut self, item: KeyName, id: &KeptId) {
        if let Some(entry) = self.entry(item, id) {
            entry.is_stored = true;
        }
    }

    /// Takes changes from up to `limit` queues that are due and ready; for a destination, as many as may be
    /// tried `together`. Each stays in its queue until it is resolved.
    pub(crate) fn take_due(
        &mut self,
        now: Timestamp,
        limit: usize,
        together: usize,
        mut is_ready: impl FnMut(&Entry) -> bool,
    ) -> Vec<Due> {
        let mut taken = Vec::new();
        for (due, queue) in &self.waiting {
            if *due > now || taken.len() == limit {
                break;
            }
            let Some(line) = self.queues.get_mut(queue) else {
                debug_assert!(false, "a queue that waits is there");
                continue;
            };
            let is_of_item = line.first().is_some_and(|(_, first)| first.item == *queue);
            let together = if is_of_item { 1 } else { together };
            if let Some(changes) = line.take(together, &mut is_ready) {
                line.due = None;
                taken.push((*due, *queue, changes));
            }
        }
        for (due, queue, _) in &taken {
            self.waiting.remove(&(*due, *queue));
        }
        taken.into_iter().map(|(_, _, changes)| changes).collect()
    }

    /// When the next change is due after `now`.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let after = (now, KeyName::MAX);
        let mut later = self
            .waiting
            .range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
        later.next().map(|(due, _)| *due)
    }

    /// Returns a taken change, to be tried again later.
    pub(crate) fn postpone(&mut self, item: KeyName, id: &KeptId, due: Timestamp) {
        self.put_back(item, id, |entry| entry.due = due);
    }

    /// The doubt about a change, if there is one.
    pub(crate) fn doubt(&self, item: KeyName, id: &KeptId) -> Option<u64> {
        let (queue, _) = self.items.get(&item)?;
        self.queues.get(queue)?.changes.get(id)?.doubt
    }

    /// Returns a taken change whose target does not answer; it stays due.
    pub(crate) fn hold(&mut self, item: KeyName, id: &KeptId, doubt: Option<u64>) {
        self.put_back(item, id, |entry| entry.doubt = doubt);
    }

    /// Returns a taken change that was not tried; it stays due.
    pub(crate) fn release(&mut self, item: KeyName, id: &KeptId) {
        self.put_back(item, id, |_| ());
    }

    /// Marks a change as not being tried.
    fn put_back(&mut self, item: KeyName, id: &KeptId, change: impl FnOnce(&mut Entry)) {
        let Some((queue, _)) = self.items.get(&item).copied() else {
            return;
        };
        let Some(line) = self.queues.get_mut(&queue) else {
            return;
        };
        if let Some(entry) = line.changes.get_mut(id) {
            line.tried -= usize::from(std::mem::take(&mut entry.is_tried));
            change(entry);
        }
        self.wait(queue);
    }

    /// Removes a taken change that is resolved; the next one of its queue follows.
    pub(crate) fn remove(&mut self, item: KeyName, id: &KeptId) {
        let Some((queue, count)) = self.items.get_mut(&item) else {
            return;
        };
        let queue = *queue;
        let Some(line) = self.queues.get_mut(&queue) else {
            return;
        };
        if let Some(entry) = line.changes.remove(id) {
            line.tried -= usize::from(entry.is_tried);
            self.count -= 1;
            if let btree_map::Entry::Occupied(mut times) = self.times.entry(entry.at) {
                *times.get_mut() -= 1;
                if *times.get() == 0 {
                    times.remove();
                }
            }
            *count -= 1;
            if *count == 0 {
                self.items.remove(&item);
            }
        }
        if line.changes.is_empty() {
            self.queues.remove(&queue);
        } else {
            self.wait(queue);
        }
    }

    fn entry(&mut self, item: KeyName, id: &KeptId) -> Option<&mut Entry> {
        let (queue, _) = self.items.get(&item)?;
        self.queues.get_mut(queue)?.changes.get_mut(id)
    }

    /// Schedules the oldest change of a queue, unless some of the queue are being tried.
    fn wait(&mut self, queue: KeyName) {
        let Some(line) = self.queues.get_mut(&queue).filter(|line| line.tried == 0) else {
            return;
        };
        let due = line.first().map(|(_, first)| first.due);
        let before = std::mem::replace(&mut line.due, due);
        if let Some(before) = before {
            self.waiting.remove(&(before, queue));
        }
        self.waiting.extend(due.map(|due| (due, queue)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(item: KeyName, due: u64) -> Entry {
        Entry {
            item,
            lane: 0,
            shard: Arc::new(ShardName {
                stream: "s".into(),
                shard: "1".into(),
            }),
            sequence: SequenceNumber::new("1"),
            mark: None,
            at: Timestamp::EPOCH,
            due: Timestamp::from_secs(due),
            is_stored: true,
            is_tried: false,
            doubt: None,
        }
    }

    fn id(name: &str) -> KeptId {
        KeptId(name.to_owned())
    }

    fn alone(item: KeyName, name: &str) -> Due {
        Due {
            lane: 0,
            changes: vec![(item, id(name))],
        }
    }

    const NOW: Timestamp = Timestamp::from_secs(10);

    #[test]
    fn only_the_oldest_of_a_key_is_due_and_the_next_follows_when_it_is_gone() {
        let mut parked = Parked::default();
        assert!(parked.add(id("a1"), entry(7, 5), Behind::Item));
        assert!(parked.add(id("a2"), entry(7, 0), Behind::Item));
        assert!(
            !parked.add(id("a2"), entry(7, 0), Behind::Item),
            "it is there already"
        );
        assert!(parked.add(id("b1"), entry(8, 20), Behind::Item));
        assert_eq!(parked.next_due(NOW), Some(Timestamp::from_secs(20)));
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [alone(7, "a1")]);
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [], "it has been taken");
        parked.postpone(7, &id("a1"), Timestamp::from_secs(12));
        assert_eq!(parked.next_due(NOW), Some(Timestamp::from_secs(12)));
        let later = Timestamp::from_secs(13);
        assert_eq!(parked.take_due(later, 9, 1, |_| false), [], "it is not ready");
        assert_eq!(parked.take_due(later, 9, 1, |_| true), [alone(7, "a1")]);
        parked.remove(7, &id("a1"));
        assert!(parked.behind(7, None).is_some() && parked.count() == 2);
        assert_eq!(parked.take_due(later, 9, 1, |_| true), [alone(7, "a2")]);
        parked.remove(7, &id("a2"));
        assert!(parked.behind(7, None).is_none() && parked.behind(8, None).is_some());
    }

    #[test]
    fn the_oldest_is_known_whatever_comes_and_goes() {
        let mut parked = Parked::default();
        let at = |seconds: u64| Entry {
            at: Timestamp::from_secs(seconds),
            ..entry(7, 0)
        };
        let oldest = |parked: &Parked| parked.oldest().map(Timestamp::as_secs);
        for (name, seconds) in [("1", 50), ("2", 30), ("3", 30), ("4", 40)] {
            assert!(parked.add(id(name), at(seconds), Behind::Item));
            assert!(!parked.add(id(name), at(1), Behind::Item), "it is there already");
        }
        for (name, left) in [("2", Some(30)), ("3", Some(40)), ("1", Some(40)), ("4", None)] {
            parked.remove(7, &id(name));
            parked.remove(7, &id(name));
            assert_eq!(oldest(&parked), left);
        }
    }

    const LANE: LaneName = 100;
    const BEHIND: Behind = Behind::Destination(LANE);

    #[test]
    fn the_changes_of_a_destination_wait_behind_its_oldest_whatever_their_items() {
        let mut parked = Parked::default();
        assert!(parked.add(id("1"), entry(7, 5), BEHIND));
        assert!(parked.add(id("2"), entry(8, 0), BEHIND));
        assert_eq!(parked.behind(9, Some(LANE)), Some(BEHIND), "a third item");
        assert_eq!(parked.behind(9, Some(101)), None, "another destination");
        assert_eq!(
            parked.behind(8, Some(101)),
            Some(BEHIND),
            "an item stays behind its earlier changes"
        );
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [alone(7, "1")]);
        parked.remove(7, &id("1"));
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [alone(8, "2")]);
        parked.remove(8, &id("2"));
        assert_eq!((parked.behind(8, Some(LANE)), parked.count()), (None, 0));
    }

    #[test]
    fn a_refused_change_takes_those_of_its_item_out_of_the_queue_of_the_destination() {
        let mut parked = Parked::default();
        for (name, item) in [("1", 7), ("2", 8), ("3", 7)] {
            assert!(parked.add(id(name), entry(item, 0), BEHIND));
        }
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [alone(7, "1")]);
        parked.single_out(7);
        assert_eq!(
            parked.take_due(NOW, 9, 1, |_| true),
            [alone(8, "2")],
            "the destination goes on, and the item waits for the attempt"
        );
        parked.postpone(7, &id("1"), Timestamp::from_secs(12));
        assert_eq!(parked.behind(7, Some(LANE)), Some(Behind::Item));
        assert!(parked.add(id("4"), entry(7, 0), BEHIND));
        parked.remove(8, &id("2"));
        assert_eq!(parked.behind(8, Some(LANE)), None);
        assert_eq!(parked.take_due(NOW, 9, 1, |_| true), [], "the item is not due");
        let later = Timestamp::from_secs(12);
        for name in ["1", "3", "4"] {
            assert_eq!(parked.take_due(later, 9, 1, |_| true), [alone(7, name)]);
            parked.remove(7, &id(name));
        }
        assert_eq!(parked.count(), 0);
    }

    #[test]
    fn an_item_that_is_refused_elsewhere_leaves_a_queue_that_waits() {
        let mut parked = Parked::default();
        for (name, item) in [("2", 8), ("3", 7)] {
            assert!(parked.add(id(name), entry(item, 0), BEHIND));
        }
        assert!(parked.add(id("1"), entry(7, 0), Behind::Item));
        let due = parked.take_due(NOW, 9, 1, |_| true);
        assert_eq!(due, [alone(7, "1"), alone(8, "2")]);
    }

    #[test]
    fn the_oldest_of_a_destination_are_taken_together_and_the_next_when_all_of_them_are_resolved() {
        let mut parked = Parked::default();
        for (name, item) in [("1", 7), ("2", 8), ("3", 7), ("4", 9), ("5", 9)] {
            assert!(parked.add(id(name), entry(item, 0), BEHIND));
        }
        let three = |parked: &mut Parked| parked.take_due(NOW, 9, 3, |_| true);
        let names = |due: Vec<Due>| -> Vec<String> {
            let changes = due.into_iter().flat_map(|due| due.changes);
            changes.map(|(_, id)| id.0).collect()
        };
        assert_eq!(names(three(&mut parked)), ["1", "2", "3"]);
        // A change that is read only now, and is older than those under way, waits for them.
        assert!(parked.add(id("0"), entry(9, 0), BEHIND));
        parked.remove(8, &id("2"));
        assert_eq!(three(&mut parked), []);
        // The item of the first and third is refused: both stay where the attempt finds them.
        parked.single_out(7);
        assert_eq!(names(three(&mut parked)), ["0", "4", "5"], "no longer under way");
        parked.postpone(7, &id("1"), Timestamp::from_secs(12));
        assert_eq!(parked.next_due(NOW), None, "the third is still being tried");
        parked.release(7, &id("3"));
        assert_eq!(parked.next_due(NOW), Some(Timestamp::from_secs(12)));
        for name in ["0", "4", "5"] {
            parked.remove(9, &id(name));
        }
        let later = Timestamp::from_secs(12);
        for name in ["1", "3"] {
            let due = parked.take_due(later, 9, 3, |_| true);
            assert_eq!(names(due), [name], "those of an item one by one");
            parked.remove(7, &id(name));
        }
        assert_eq!(parked.count(), 0);
    }

    #[test]
    fn what_is_taken_together_is_of_one_lane_and_ready() {
        let mut parked = Parked::default();
        for (name, lane) in [("1", 0), ("2", 0), ("3", 5)] {
            let entry = Entry { lane, ..entry(7, 0) };
            assert!(parked.add(id(name), entry, BEHIND));
        }
        let due = parked.take_due(NOW, 9, 9, |_| true);
        assert_eq!((due.len(), due[0].lane, due[0].changes.len()), (1, 0, 2));
        for name in ["1", "2"] {
            parked.remove(7, &id(name));
        }
        let due = parked.take_due(NOW, 9, 9, |entry| entry.lane == 0);
        assert_eq!(due, [], "it is not ready");
        let due = parked.take_due(NOW, 9, 9, |_| true);
        assert_eq!((due.len(), due[0].lane, due[0].changes.len()), (1, 5, 1));
    }
}
