//! What a queue knows about its messages without reading them: which ones are ready, in the order of sending,
//! and when the others will be. Pure; bodies stay in the database.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use trestle_env::Timestamp;

use crate::groups::Groups;

/// A message's position in the order of its queue: the time it was sent in milliseconds, then a counter. It
/// is unique among existing messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MessageNumber(pub(crate) u64);

/// Bits below the milliseconds.
const COUNTER_BITS: u32 = 20;

impl MessageNumber {
    fn at(time: Timestamp) -> Self {
        Self(time.as_millis() << COUNTER_BITS)
    }

    fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for MessageNumber {
    /// As the sequence number of a FIFO queue: 20 digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}", self.0)
    }
}

/// The state of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The beginning of the retention period.
    pub(crate) kept_from: Timestamp,
    /// When it is, or was, to become visible.
    pub(crate) due: Timestamp,
    /// How often it was received.
    pub(crate) receives: u32,
    /// When it was received first and last; meaningless before.
    pub(crate) first_received: Timestamp,
    pub(crate) last_received: Timestamp,
    /// The place of the rest of a large message.
    pub(crate) parts: Option<Box<Parts>>,
    /// The group it belongs to. Only the index of a FIFO queue keeps it.
    pub(crate) group: Option<Arc<str>>,
}

/// Rows for content that is too large for one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) partition: String,
    pub(crate) count: u32,
}

impl Entry {
    /// A message that was never received, of no group.
    pub(crate) fn new(kept_from: Timestamp, due: Timestamp, parts: Option<Box<Parts>>) -> Self {
        Self {
            kept_from,
            due,
            receives: 0,
            first_received: Timestamp::EPOCH,
            last_received: Timestamp::EPOCH,
            parts,
            group: None,
        }
    }
}

/// How many messages are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Ready to be received.
    pub visible: usize,
    /// Received and not deleted, and not yet ready again.
    pub in_flight: usize,
    /// Sent and not ready yet.
    pub delayed: usize,
}

impl Counts {
    /// All messages, whatever their state.
    #[must_use]
    pub fn total(&self) -> usize {
        self.visible + self.in_flight + self.delayed
    }
}

/// A message handed to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) sequence: MessageNumber,
    pub(crate) entry: Entry,
}

/// The result of taking messages from the index.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// For the receiver; they are in flight now.
    pub(crate) taken: Vec<Taken>,
    /// Received too often: they are removed from the index and moved to the dead-letter queue.
    pub(crate) dead: Vec<Taken>,
}

/// A receiver's request for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) max: usize,
    pub(crate) visibility: Duration,
    /// Messages received that often become dead letters.
    pub(crate) receives_max: Option<u32>,
}

/// The messages of one queue.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<MessageNumber, Entry>,
    ready: BTreeSet<MessageNumber>,
    /// Those that are not ready, by the time they will be.
    waiting: BTreeSet<(Timestamp, MessageNumber)>,
    /// All messages, by the beginning of their retention.
    kept: BTreeSet<(Timestamp, MessageNumber)>,
    in_flight: usize,
    last: MessageNumber,
    /// The order of a FIFO queue; a standard queue has none.
    groups: Option<Groups>,
}

impl Index {
    /// The index of a FIFO queue.
    pub(crate) fn of_groups() -> Self {
        Self {
            groups: Some(Groups::default()),
            ..Self::default()
        }
    }

    /// The number of a message sent now. In a FIFO queue later messages of its group wait until it is
    /// [added](Index::add), or its place is [vacated](Index::vacate).
    pub(crate) fn reserve(&mut self, now: Timestamp, group: Option<&Arc<str>>) -> MessageNumber {
        self.last = MessageNumber::at(now).max(self.last.next());
        if let (Some(groups), Some(group)) = (&mut self.groups, group) {
            groups.enter(group, self.last);
        }
        self.last
    }

    /// Removes the place of a message that was not sent, or was removed. Returns whether another message of
    /// its group can be received now.
    pub(crate) fn vacate(&mut self, sequence: MessageNumber, group: Option<&Arc<str>>) -> bool {
        if let (Some(groups), Some(group)) = (&mut self.groups, group) {
            groups.leave(group, sequence);
        }
        self.refresh(group)
    }

    /// Determines whether a group has a message to receive.
    fn refresh(&mut self, group: Option<&Arc<str>>) -> bool {
        let (Some(groups), Some(group)) = (&mut self.groups, group) else {
            return false;
        };
        let (entries, ready) = (&self.entries, &self.ready);
        groups.refresh(group, |sequence| {
            let entry = entries.get(&sequence)?;
            ready.contains(&sequence).then_some(entry.due)
        })
    }

    /// Adds a message; it becomes ready with the next [`Index::advance`], if it is due.
    pub(crate) fn add(&mut self, sequence: MessageNumber, mut entry: Entry) {
        self.last = self.last.max(sequence);
        match (&mut self.groups, &entry.group) {
            (Some(groups), Some(group)) => groups.enter(group, sequence),
            _ => entry.group = None,
        }
        self.kept.insert((entry.kept_from, sequence));
        self.waiting.insert((entry.due, sequence));
        self.in_flight += usize::from(entry.receives > 0);
        self.entries.insert(sequence, entry);
    }

    /// Makes due messages ready, and drops entries that have expired.
    pub(crate) fn advance(&mut self, now: Timestamp, retention: Duration) -> Vec<Taken> {
        let mut expired = Vec::new();
        while let Some(&(kept_from, sequence)) = self.kept.first() {
            if kept_from.plus(retention) > now {
                break;
            }
            match self.remove(sequence) {
                Some(entry) => {
                    self.vacate(sequence, entry.group.as_ref());
                    expired.push(Taken { sequence, entry });
                }
                None => {
                    self.kept.pop_first();
                }
            }
        }
        while let Some(&(due, sequence)) = self.waiting.first() {
            if due > now {
                break;
            }
            self.waiting.pop_first();
            if let Some(entry) = self.entries.get(&sequence) {
                self.in_flight -= usize::from(entry.receives > 0);
                self.ready.insert(sequence);
                let group = entry.group.clone();
                self.refresh(group.as_ref());
            }
        }
        expired
    }

    /// Takes ready messages, oldest first; of a FIFO queue group by group.
    pub(crate) fn take(&mut self, now: Timestamp, wanted: Wanted) -> Look {
        let mut look = Look::default();
        while look.taken.len() < wanted.max && look.dead.len() < DEAD_MAX {
            let run = self.next_run(wanted);
            let Some(first) = run.first() else {
                break;
            };
            let group = self.entries.get(first).and_then(|entry| entry.group.clone());
            let dead_before = look.dead.len();
            for sequence in run {
                if look.taken.len() == wanted.max || look.dead.len() == DEAD_MAX {
                    break;
                }
                // Messages after a dead one of their group wait until it is in its dead-letter queue.
                if look.dead.len() > dead_before && !self.is_dead(sequence, wanted) {
                    break;
                }
                self.take_one(sequence, now, wanted, &mut look);
            }
            self.refresh(group.as_ref());
        }
        look
    }

    /// Ready messages that can be taken together: one, or the first ones of a group.
    fn next_run(&self, wanted: Wanted) -> Vec<MessageNumber> {
        // Dead ones do not count towards the wanted number.
        let max = wanted.max + wanted.receives_max.map_or(0, |_| DEAD_MAX);
        match &self.groups {
            None => self.ready.first().copied().into_iter().collect(),
            Some(groups) => match groups.fronts().next() {
                Some(front) => self.run_from(groups, front, max, MessageNumber(u64::MAX)),
                None => Vec::new(),
            },
        }
    }

    /// The ready messages at the front of a group, none of them sent after `last`.
    fn run_from(
        &self,
        groups: &Groups,
        front: MessageNumber,
        max: usize,
        last: MessageNumber,
    ) -> Vec<MessageNumber> {
        let Some(group) = self.entries.get(&front).and_then(|entry| entry.group.as_ref()) else {
            return Vec::new();
        };
        let is_next = |sequence: &MessageNumber| *sequence <= last && self.ready.contains(sequence);
        groups.places(group).take_while(is_next).take(max).collect()
    }

    fn is_dead(&self, sequence: MessageNumber, wanted: Wanted) -> bool {
        let receives = self.entries.get(&sequence).map(|entry| entry.receives);
        wanted
            .receives_max
            .is_some_and(|max| receives.is_some_and(|receives| receives >= max))
    }

    fn take_one(&mut self, sequence: MessageNumber, now: Timestamp, wanted: Wanted, look: &mut Look) {
        self.ready.remove(&sequence);
        if self.is_dead(sequence, wanted) {
            if let Some(entry) = self.forget(sequence) {
                look.dead.push(Taken { sequence, entry });
            }
            return;
        }
        let Some(entry) = self.entries.get_mut(&sequence) else {
            return;
        };
        entry.receives = entry.receives.saturating_add(1);
        if entry.receives == 1 {
            entry.first_received = now;
        }
        entry.last_received = now;
        entry.due = now.plus(wanted.visibility);
        self.waiting.insert((entry.due, sequence));
        self.in_flight += 1;
        look.taken.push(Taken {
            sequence,
            entry: entry.clone(),
        });
    }

    /// Removes ready messages, oldest first, none of them sent after `last`. For a FIFO queue group by group;
    /// their places stay taken.
    pub(crate) fn withdraw(&mut self, max: usize, last: MessageNumber) -> Vec<Taken> {
        let sequences: Vec<MessageNumber> = match &self.groups {
            None => {
                let ready = self.ready.iter().copied();
                ready.take_while(|sequence| *sequence <= last).take(max).collect()
            }
            Some(groups) => {
                let runs = groups
                    .fronts()
                    .flat_map(|front| self.run_from(groups, front, max, last));
                runs.take(max).collect()
            }
        };
        let withdrawn = sequences
            .into_iter()
            .filter_map(|sequence| Some((sequence, self.remove(sequence)?)));
        withdrawn
            .map(|(sequence, entry)| Taken { sequence, entry })
            .collect()
    }

    /// The message, if it is in the index.
    pub(crate) fn get(&self, sequence: MessageNumber) -> Option<&Entry> {
        self.entries.get(&sequence)
    }

    /// Whether the message was received and is not ready again.
    pub(crate) fn is_in_flight(&self, sequence: MessageNumber) -> bool {
        self.entries
            .get(&sequence)
            .is_some_and(|entry| entry.receives > 0)
            && !self.ready.contains(&sequence)
    }

    /// Makes a message ready at another time. One that is already ready is hidden until then.
    pub(crate) fn reschedule(&mut self, sequence: MessageNumber, due: Timestamp) -> Option<Entry> {
        let entry = self.entries.get_mut(&sequence)?;
        if !self.waiting.remove(&(entry.due, sequence)) {
            self.ready.remove(&sequence);
            self.in_flight += usize::from(entry.receives > 0);
        }
        entry.due = due;
        self.waiting.insert((due, sequence));
        let entry = entry.clone();
        self.refresh(entry.group.as_ref());
        Some(entry)
    }

    /// Removes a message, whatever its state. In a FIFO queue its place stays taken until it is
    /// [vacated](Index::vacate), so that no message overtakes one that comes back.
    pub(crate) fn remove(&mut self, sequence: MessageNumber) -> Option<Entry> {
        let entry = self.entries.get(&sequence)?;
        if !self.ready.remove(&sequence) {
            self.waiting.remove(&(entry.due, sequence));
            self.in_flight -= usize::from(entry.receives > 0);
        }
        let entry = self.forget(sequence)?;
        self.refresh(entry.group.as_ref());
        Some(entry)
    }

    fn forget(&mut self, sequence: MessageNumber) -> Option<Entry> {
        let entry = self.entries.remove(&sequence)?;
        self.kept.remove(&(entry.kept_from, sequence));
        Some(entry)
    }

    /// When the next message becomes ready without an action.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|(due, _)| *due)
    }

    pub(crate) fn last(&self) -> MessageNumber {
        self.last
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: self.ready.len(),
            in_flight: self.in_flight,
            delayed: self.waiting.len() - self.in_flight,
        }
    }
}

/// How many dead messages one call moves: limits how long a receiver waits for messages that others failed
/// on.
const DEAD_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    fn send(index: &mut Index, now: Timestamp, delay_s: u64) -> MessageNumber {
        let sequence = index.reserve(now, None);
        index.add(
            sequence,
            Entry::new(now, now.plus(Duration::from_secs(delay_s)), None),
        );
        sequence
    }

    fn take(index: &mut Index, now: Timestamp) -> Vec<MessageNumber> {
        let wanted = Wanted {
            max: 10,
            visibility: Duration::from_secs(30),
            receives_max: None,
        };
        index.advance(now, LONG);
        let look = index.take(now, wanted);
        look.taken.iter().map(|taken| taken.sequence).collect()
    }

    #[test]
    fn messages_come_in_the_order_they_were_sent_and_once_while_in_flight() {
        let mut index = Index::default();
        let sent: Vec<_> = (0..3).map(|_| send(&mut index, at(1), 0)).collect();
        assert_eq!(take(&mut index, at(1)), sent);
        assert!(take(&mut index, at(30)).is_empty());
        assert_eq!(index.next_due(), Some(at(31)));
        assert_eq!(take(&mut index, at(31)), sent);
    }

    #[test]
    fn counts_follow_every_state() {
        let mut index = Index::default();
        let first = send(&mut index, at(1), 0);
        send(&mut index, at(1), 0);
        send(&mut index, at(1), 60);
        index.advance(at(1), LONG);
        let counts = |visible, in_flight, delayed| Counts {
            visible,
            in_flight,
            delayed,
        };
        assert_eq!(index.counts(), counts(2, 0, 1));
        take(&mut index, at(1));
        assert_eq!(index.counts(), counts(0, 2, 1));
        index.remove(first);
        assert_eq!(index.counts(), counts(0, 1, 1));
        index.advance(at(61), LONG);
        assert_eq!(index.counts(), counts(2, 0, 0));
        assert_eq!(index.advance(at(1001), LONG).len(), 2);
        assert_eq!(index.counts(), Counts::default());
    }
}
