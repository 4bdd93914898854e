//! The order of a FIFO queue: the messages of each group in the order they were sent, and which groups have a message to give.
//!
//! A message can be received if no earlier one of its group is in flight, delayed, being sent, or being
//! removed. So a group waits only for its own first message.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use trestle_env::Timestamp;

use crate::index::MessageNumber;

/// The groups of one queue.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: HashMap<Arc<str>, Group>,
    /// The first messages of groups that have one to receive, by the time each was due: a group that becomes
    /// available again queues behind those that wait.
    fronts: BTreeSet<(Timestamp, MessageNumber)>,
}

#[derive(Debug, Default)]
struct Group {
    /// Every message, ready or not, also while it is being sent or removed.
    places: BTreeSet<MessageNumber>,
    front: Option<(Timestamp, MessageNumber)>,
}

impl Groups {
    /// Adds a place to a group.
    pub(crate) fn enter(&mut self, group: &Arc<str>, sequence: MessageNumber) {
        let group = self.groups.entry(Arc::clone(group)).or_default();
        group.places.insert(sequence);
    }

    /// Removes a place.
    pub(crate) fn leave(&mut self, name: &Arc<str>, sequence: MessageNumber) {
        if let Some(group) = self.groups.get_mut(name) {
            group.places.remove(&sequence);
        }
    }

    /// Determines again whether a group has a message to receive; `due` is when a ready message was due.
    /// Returns whether it has one now and had none before.
    pub(crate) fn refresh(
        &mut self,
        name: &Arc<str>,
        due: impl Fn(MessageNumber) -> Option<Timestamp>,
    ) -> bool {
        let Some(group) = self.groups.get_mut(name) else {
            return false;
        };
        let first = group.places.first().copied();
        let front = first.and_then(|first| Some((due(first)?, first)));
        let before = std::mem::replace(&mut group.front, front);
        if before != front {
            if let Some(before) = before {
                self.fronts.remove(&before);
            }
            self.fronts.extend(front);
        }
        if group.places.is_empty() {
            self.groups.remove(name);
        }
        front.is_some() && before.is_none()
    }

    /// The first messages of the groups that have one to receive, in the order of the groups' turns.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = MessageNumber> {
        self.fronts.iter().map(|(_, sequence)| *sequence)
    }

    /// The messages of a group in order.
    pub(crate) fn places(&self, name: &Arc<str>) -> impl Iterator<Item = MessageNumber> {
        let group = self.groups.get(name);
        group.into_iter().flat_map(|group| group.places.iter().copied())
    }
}
