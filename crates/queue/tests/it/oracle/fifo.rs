//! A FIFO queue: each group in order, duplicates of the last five minutes are not sent, only the newest
//! handle is valid, and only before its timeout.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use trestle_env::Timestamp;
use trestle_queue::{Counts, ErrorCode, NewMessage};

use super::list::{List, Naive, Reception};
use super::{Held, Oracle, Step, run};
use crate::support::Fixture;

const GROUPS: u8 = 3;
const MEMORY: Duration = Duration::from_secs(300);

#[derive(Default)]
struct Fifo {
    list: List,
    /// The time at which a deduplication id was sent, and the body.
    sent: BTreeMap<String, (Timestamp, String)>,
}

impl Fifo {
    /// The places of a group of a queue, in order.
    fn group(&self, queue: usize, group: &str) -> Vec<usize> {
        self.list
            .places(queue, |message| message.group.as_deref() == Some(group))
    }

    /// Takes messages from each group once, in the order in which their first messages were due. Also returns
    /// whether messages died.
    fn pass(
        &mut self,
        queue: usize,
        max: usize,
        visibility: Duration,
        now: Timestamp,
    ) -> (Vec<Reception>, bool) {
        let mut fronts = BTreeSet::new();
        for group in (0..GROUPS).map(|group| group.to_string()) {
            if let Some(&place) = self.group(queue, &group).first()
                && self.list.at(place).due <= now
            {
                fronts.insert((self.list.at(place).due, place, group));
            }
        }
        let (mut got, mut dead) = (Vec::new(), Vec::new());
        for (_, _, group) in fronts {
            let mut has_dead = false;
            for place in self.group(queue, &group) {
                if got.len() == max || self.list.at(place).due > now {
                    break;
                }
                if queue == 0 && self.list.at(place).receives >= Self::RECEIVES_MAX {
                    dead.push(place);
                    has_dead = true;
                    continue;
                }
                if has_dead {
                    break;
                }
                got.push(self.list.receive(place, visibility, now));
            }
        }
        let has_dead = !dead.is_empty();
        for place in dead {
            self.list.bury(place);
        }
        (got, has_dead)
    }

    /// The message of a handle, if it is still in that queue; an error if another receiver may have it.
    fn held(&mut self, held: &Held, now: Timestamp) -> Result<Option<&mut Naive>, ErrorCode> {
        let mut messages = self.list.messages.iter_mut();
        let message =
            messages.find(|message| message.queue == held.queue && message.body == held.reception.body);
        match message {
            Some(message) if message.tokens.last() != Some(&held.reception.token) || message.due <= now => {
                Err(ErrorCode::InvalidParameterValue)
            }
            message => Ok(message),
        }
    }
}

impl Oracle for Fifo {
    const QUEUES: [&'static str; 2] = ["work.fifo", "dead.fifo"];
    const ATTRIBUTES: &'static [(&'static str, &'static str)] = &[("FifoQueue", "true")];
    const RECEIVES_MAX: u32 = 2;

    fn send(&mut self, message: &NewMessage, now: Timestamp) -> String {
        let id = message.deduplication_id.clone().unwrap();
        if let Some((at, original)) = self.sent.get(&id)
            && at.plus(MEMORY) > now
        {
            return original.clone();
        }
        self.sent.insert(id, (now, message.body.clone()));
        self.list.add(message, now);
        message.body.clone()
    }

    fn receive(&mut self, queue: usize, max: usize, visibility: Duration, now: Timestamp) -> Vec<Reception> {
        loop {
            let (got, has_dead) = self.pass(queue, max, visibility, now);
            if !got.is_empty() || !has_dead {
                return got;
            }
        }
    }

    fn delete(&mut self, held: &Held, now: Timestamp) -> Result<(), ErrorCode> {
        if let Some(message) = self.held(held, now)? {
            let place = message.place;
            self.list.messages.retain(|message| message.place != place);
        }
        Ok(())
    }

    fn change(&mut self, held: &Held, visibility: Duration, now: Timestamp) -> Result<(), ErrorCode> {
        let message = self.held(held, now)?;
        message.ok_or(ErrorCode::InvalidParameterValue)?.due = now.plus(visibility);
        Ok(())
    }

    fn counts(&mut self, queue: usize, now: Timestamp) -> Counts {
        self.list.counts(queue, now)
    }
}

fn step() -> impl Strategy<Value = Step> {
    let message = (0..GROUPS, 0..40_u8).prop_map(|(group, id)| NewMessage {
        group: Some(group.to_string()),
        deduplication_id: Some(id.to_string()),
        ..NewMessage::default()
    });
    let seconds = prop_oneof![4 => 1..20_u64, 1 => 100..301_u64];
    super::step(prop::collection::vec(message, 1..4), seconds)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fifo_queue_does_what_a_list_would_do(steps in prop::collection::vec(step(), 1..80)) {
        run::<Fifo>(Fixture::new(), steps);
    }
}
