//! The messages of both queues as a list.

use std::time::Duration;

use trestle_env::Timestamp;
use trestle_queue::{Counts, NewMessage};

/// One message.
#[derive(Clone, Debug)]
pub(super) struct Naive {
    pub(super) body: String,
    pub(super) group: Option<String>,
    pub(super) queue: usize,
    /// Its position among all messages that arrived in either queue.
    pub(super) place: usize,
    pub(super) due: Timestamp,
    pub(super) kept_from: Timestamp,
    /// How often it was received in this queue.
    pub(super) receives: u32,
    /// How often it was received in the queue before.
    earlier: u32,
    /// Its receptions in this queue; the last one is the newest.
    pub(super) tokens: Vec<usize>,
}

/// A message that was received.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    pub(super) body: String,
    /// How often it was received, in both queues.
    pub(super) receives: u32,
    /// Identifies this reception.
    pub(super) token: usize,
}

#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) messages: Vec<Naive>,
    arrived: usize,
    tokens: usize,
}

impl List {
    /// Adds a message that is sent to queue 0.
    pub(super) fn add(&mut self, message: &NewMessage, now: Timestamp) {
        let due = now.plus(message.delay.unwrap_or_default());
        self.arrived += 1;
        self.messages.push(Naive {
            body: message.body.clone(),
            group: message.group.clone(),
            queue: 0,
            place: self.arrived,
            due,
            kept_from: due,
            receives: 0,
            earlier: 0,
            tokens: Vec::new(),
        });
    }

    /// The messages of a queue, in order of arrival.
    pub(super) fn places(&self, queue: usize, of: impl Fn(&Naive) -> bool) -> Vec<usize> {
        let found = self
            .messages
            .iter()
            .filter(|message| message.queue == queue && of(message));
        let mut places: Vec<usize> = found.map(|message| message.place).collect();
        places.sort_unstable();
        places
    }

    pub(super) fn at(&mut self, place: usize) -> &mut Naive {
        self.messages
            .iter_mut()
            .find(|message| message.place == place)
            .unwrap()
    }

    pub(super) fn receive(&mut self, place: usize, visibility: Duration, now: Timestamp) -> Reception {
        self.tokens += 1;
        let token = self.tokens;
        let message = self.at(place);
        message.receives += 1;
        message.tokens.push(token);
        message.due = now.plus(visibility);
        Reception {
            body: message.body.clone(),
            receives: message.earlier + message.receives,
            token,
        }
    }

    /// Moves a message to the dead-letter queue.
    pub(super) fn bury(&mut self, place: usize) {
        self.arrived += 1;
        let arrived = self.arrived;
        let message = self.at(place);
        message.queue = 1;
        message.place = arrived;
        message.due = message.kept_from;
        message.earlier += message.receives;
        message.receives = 0;
        message.tokens.clear();
    }

    pub(super) fn counts(&self, queue: usize, now: Timestamp) -> Counts {
        let mut counts = Counts::default();
        for message in self.messages.iter().filter(|message| message.queue == queue) {
            match (message.due <= now, message.receives > 0) {
                (true, _) => counts.visible += 1,
                (false, true) => counts.in_flight += 1,
                (false, false) => counts.delayed += 1,
            }
        }
        counts
    }
}
