//! A standard queue: oldest first, whatever was received before; messages expire after a while.

use std::time::Duration;

use proptest::prelude::*;
use trestle_env::Timestamp;
use trestle_queue::{Counts, ErrorCode, NewMessage};

use super::list::{List, Reception};
use super::{Held, Oracle, Step, run};
use crate::support::Fixture;

const RETENTION: Duration = Duration::from_secs(300);

#[derive(Default)]
struct Standard {
    list: List,
}

impl Standard {
    fn expire(&mut self, now: Timestamp) {
        self.list
            .messages
            .retain(|message| message.kept_from.plus(RETENTION) > now);
    }
}

impl Oracle for Standard {
    const QUEUES: [&'static str; 2] = ["work", "dead"];
    const ATTRIBUTES: &'static [(&'static str, &'static str)] = &[("MessageRetentionPeriod", "300")];
    const RECEIVES_MAX: u32 = 3;

    fn send(&mut self, message: &NewMessage, now: Timestamp) -> String {
        self.list.add(message, now);
        message.body.clone()
    }

    fn receive(&mut self, queue: usize, max: usize, visibility: Duration, now: Timestamp) -> Vec<Reception> {
        self.expire(now);
        let mut got = Vec::new();
        for place in self.list.places(queue, |message| message.due <= now) {
            if got.len() == max {
                break;
            }
            if queue == 0 && self.list.at(place).receives >= Self::RECEIVES_MAX {
                self.list.bury(place);
            } else {
                got.push(self.list.receive(place, visibility, now));
            }
        }
        got
    }

    /// Only the newest handle deletes; the others do nothing.
    fn delete(&mut self, held: &Held, _: Timestamp) -> Result<(), ErrorCode> {
        let newest = Some(&held.reception.token);
        self.list
            .messages
            .retain(|message| message.tokens.last() != newest);
        Ok(())
    }

    /// Any handle of a message is valid.
    fn change(&mut self, held: &Held, visibility: Duration, now: Timestamp) -> Result<(), ErrorCode> {
        self.expire(now);
        let mut messages = self.list.messages.iter_mut();
        let message = messages.find(|message| message.tokens.contains(&held.reception.token));
        message.ok_or(ErrorCode::InvalidParameterValue)?.due = now.plus(visibility);
        Ok(())
    }

    fn counts(&mut self, queue: usize, now: Timestamp) -> Counts {
        self.expire(now);
        self.list.counts(queue, now)
    }
}

fn step() -> impl Strategy<Value = Step> {
    let delay = prop_oneof![3 => Just(0), 1 => 1..40_u64];
    let message = delay.prop_map(|seconds| NewMessage {
        delay: Some(Duration::from_secs(seconds)),
        ..NewMessage::default()
    });
    let messages = prop_oneof![
        4 => prop::collection::vec(message.clone(), 1),
        1 => prop::collection::vec(message, 2..6),
    ];
    super::step(messages, 1..20_u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_does_what_a_list_would_do(steps in prop::collection::vec(step(), 1..80)) {
        run::<Standard>(Fixture::new(), steps);
    }

    #[test]
    fn it_does_so_on_a_database_that_takes_its_time(steps in prop::collection::vec(step(), 1..40)) {
        // After a restart, receptions that were not written yet are lost.
        let steps = steps.into_iter().filter(|step| !matches!(step, Step::Restart)).collect();
        run::<Standard>(Fixture::on_slow_database(), steps);
    }
}
