//! Receive attempts at a FIFO queue: a receiver that did not get the answer repeats its attempt and gets the
//! same messages.

use std::collections::{HashMap, VecDeque};

use trestle_env::Timestamp;

use crate::duplicates::INTERVAL;
use crate::index::{Index, MessageNumber, Taken};

/// A message that was received: its number, which reception, and its deadline.
#[derive(Clone, Debug)]
struct HandedOut {
    sequence: MessageNumber,
    receives: u32,
    due: Timestamp,
}

/// The attempts of the last five minutes. They are not stored, because after a restart every message can be
/// received again.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    by_id: HashMap<String, Vec<HandedOut>>,
    by_age: VecDeque<(Timestamp, String)>,
}

impl Attempts {
    /// Stores the messages of an attempt.
    pub(crate) fn note(&mut self, id: &str, taken: &[Taken], now: Timestamp) {
        let messages = taken.iter().map(|taken| HandedOut {
            sequence: taken.sequence,
            receives: taken.entry.receives,
            due: taken.entry.due,
        });
        if self.by_id.insert(id.to_owned(), messages.collect()).is_none() {
            self.by_age.push_back((now, id.to_owned()));
        }
    }

    /// The messages of an earlier attempt, hidden until `due`, if none of them was deleted, changed or received again.
    pub(crate) fn repeat(
        &mut self,
        id: &str,
        index: &mut Index,
        now: Timestamp,
        due: Timestamp,
    ) -> Option<Vec<Taken>> {
        while self
            .by_age
            .front()
            .is_some_and(|(at, _)| at.plus(INTERVAL) <= now)
        {
            if let Some((_, old)) = self.by_age.pop_front() {
                self.by_id.remove(&old);
            }
        }
        let messages = self.by_id.get_mut(id)?;
        let is_same = |message: &HandedOut| {
            let entry = index.get(message.sequence);
            index.is_in_flight(message.sequence)
                && entry.is_some_and(|entry| entry.receives == message.receives && entry.due == message.due)
        };
        if messages.is_empty() || !messages.iter().all(is_same) {
            return None;
        }
        let again = |message: &mut HandedOut| {
            message.due = due;
            let entry = index.reschedule(message.sequence, due)?;
            Some(Taken {
                sequence: message.sequence,
                entry,
            })
        };
        messages.iter_mut().map(again).collect()
    }
}
