//! The order of a FIFO queue: the messages of each group in the order they were sent, and which groups have a message to give.
//!
//! A message can be received if no earlier one of its group is in the way: in flight, delayed, being sent, or on its way out. So a
//! group waits for its first message, and for no other group.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use trestle_env::Timestamp;

use crate::index::MessageNumber;

/// The groups of one queue.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: HashMap<Arc<str>, Group>,
    /// The first messages of groups that can give one, by when each was due: a group that was received and comes back is
    /// behind those that wait.
    fronts: BTreeSet<(Timestamp, MessageNumber)>,
}

#[derive(Debug, Default)]
struct Group {
    /// Every message, ready or not, also while it is being sent or removed.
    places: BTreeSet<MessageNumber>,
    front: Option<(Timestamp, MessageNumber)>,
}

impl Groups {
    /// Takes a place in a group.
    pub(crate) fn enter(&mut self, group: &Arc<str>, sequence: MessageNumber) {
        let group = self.groups.entry(Arc::clone(group)).or_default();
        group.places.insert(sequence);
    }

    /// Gives a place up.
    pub(crate) fn leave(&mut self, name: &Arc<str>, sequence: MessageNumber) {
        if let Some(group) = self.groups.get_mut(name) {
            group.places.remove(&sequence);
        }
    }

    /// Finds out anew whether a group has a message to give; `due` is when a ready message was due. Says whether it has one now
    /// and had none before.
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

    /// The first messages of the groups that can give one, in the order in which they are asked.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = MessageNumber> {
        self.fronts.iter().map(|(_, sequence)| *sequence)
    }

    /// The messages of a group in order.
    pub(crate) fn places(&self, name: &Arc<str>) -> impl Iterator<Item = MessageNumber> {
        let group = self.groups.get(name);
        group.into_iter().flat_map(|group| group.places.iter().copied())
    }
}
