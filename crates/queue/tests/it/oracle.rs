//! Random work on a queue and its dead-letter queue, compared step by step with a list that is searched from end to end.

use std::time::Duration;

use proptest::prelude::*;
use trestle_env::Timestamp;
use trestle_queue::{Counts, ErrorCode, NewMessage, Receive};

use crate::support::{Fixture, START, redrive};

const RECEIVES_MAX: u32 = 3;
const RETENTION_S: u64 = 300;
const QUEUES: [&str; 2] = ["work", "dead"];

#[derive(Clone, Debug)]
enum Step {
    Send {
        delay_s: u64,
    },
    SendBatch {
        count: usize,
    },
    Receive {
        queue: usize,
        max: usize,
        visibility_s: u64,
    },
    Delete {
        handle: usize,
    },
    Change {
        handle: usize,
        visibility_s: u64,
    },
    Advance {
        seconds: u64,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![3 => Just(0), 1 => 1..40_u64].prop_map(|delay_s| Step::Send { delay_s }),
        1 => (1..6_usize).prop_map(|count| Step::SendBatch { count }),
        6 => (0..2_usize, 1..5_usize, 0..30_u64)
            .prop_map(|(queue, max, visibility_s)| Step::Receive { queue, max, visibility_s }),
        3 => (0..50_usize).prop_map(|handle| Step::Delete { handle }),
        2 => (0..50_usize, 0..30_u64).prop_map(|(handle, visibility_s)| Step::Change { handle, visibility_s }),
        4 => (1..20_u64).prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::Restart),
    ]
}

/// One message of the oracle.
#[derive(Clone, Debug)]
struct Naive {
    body: String,
    queue: usize,
    /// Its place among all that arrived in that queue.
    place: usize,
    due: Timestamp,
    kept_from: Timestamp,
    receives: u32,
    /// Its receptions; the last one is the newest.
    tokens: Vec<usize>,
    /// How often it was received in the queue before.
    earlier: u32,
}

/// A list of messages.
#[derive(Default)]
struct Oracle {
    messages: Vec<Naive>,
    arrived: usize,
    tokens: usize,
}

impl Oracle {
    fn send(&mut self, body: String, now: Timestamp, delay_s: u64) {
        let due = now.plus(Duration::from_secs(delay_s));
        self.arrived += 1;
        self.messages.push(Naive {
            body,
            queue: 0,
            place: self.arrived,
            due,
            kept_from: due,
            receives: 0,
            tokens: Vec::new(),
            earlier: 0,
        });
    }

    fn expire(&mut self, now: Timestamp) {
        let retention = Duration::from_secs(RETENTION_S);
        self.messages
            .retain(|message| message.kept_from.plus(retention) > now);
    }

    /// Body, receptions and token of each message received.
    fn receive(
        &mut self,
        queue: usize,
        max: usize,
        visibility_s: u64,
        now: Timestamp,
    ) -> Vec<(String, u32, usize)> {
        self.expire(now);
        let mut got = Vec::new();
        let mut places: Vec<usize> = self
            .messages
            .iter()
            .filter(|message| message.queue == queue && message.due <= now)
            .map(|message| message.place)
            .collect();
        places.sort_unstable();
        for place in places {
            if got.len() == max {
                break;
            }
            let of_place = |message: &&mut Naive| message.queue == queue && message.place == place;
            let message = self.messages.iter_mut().find(of_place).unwrap();
            if queue == 0 && message.receives >= RECEIVES_MAX {
                self.arrived += 1;
                message.queue = 1;
                message.place = self.arrived;
                message.earlier += message.receives;
                message.receives = 0;
                message.tokens.clear();
                continue;
            }
            self.tokens += 1;
            message.receives += 1;
            message.tokens.push(self.tokens);
            message.due = now.plus(Duration::from_secs(visibility_s));
            got.push((
                message.body.clone(),
                message.earlier + message.receives,
                self.tokens,
            ));
        }
        got
    }

    fn find(&mut self, token: usize) -> Option<&mut Naive> {
        self.messages
            .iter_mut()
            .find(|message| message.tokens.contains(&token))
    }

    fn counts(&mut self, queue: usize, now: Timestamp) -> Counts {
        self.expire(now);
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

/// A handle that was given out: its queue, its text and the oracle's token for it.
struct Held {
    queue: usize,
    text: String,
    token: usize,
}

struct Run {
    fixture: Fixture,
    oracle: Oracle,
    held: Vec<Held>,
    sent: usize,
    now: Timestamp,
}

impl Run {
    async fn new(fixture: Fixture) -> Self {
        let retention = RETENTION_S.to_string();
        fixture
            .create("dead", &[("MessageRetentionPeriod", &retention)])
            .await;
        let policy = redrive("dead", RECEIVES_MAX);
        fixture
            .create(
                "work",
                &[("MessageRetentionPeriod", &retention), ("RedrivePolicy", &policy)],
            )
            .await;
        Self {
            fixture,
            oracle: Oracle::default(),
            held: Vec::new(),
            sent: 0,
            now: START,
        }
    }

    fn next_message(&mut self, delay_s: u64) -> NewMessage {
        self.sent += 1;
        let body = format!("message {}", self.sent);
        self.oracle.send(body.clone(), self.now, delay_s);
        NewMessage {
            delay: Some(Duration::from_secs(delay_s)),
            ..NewMessage::from(body)
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Send { delay_s } => {
                let message = self.next_message(delay_s);
                self.fixture.queues.send("work", message).await.unwrap();
            }
            Step::SendBatch { count } => {
                let batch = (0..count).map(|_| self.next_message(0)).collect();
                let answers = self.fixture.queues.send_batch("work", batch).await.unwrap();
                assert!(answers.iter().all(Result::is_ok));
            }
            Step::Receive {
                queue,
                max,
                visibility_s,
            } => self.receive(queue, max, visibility_s).await,
            Step::Delete { handle } => self.delete(handle).await,
            Step::Change { handle, visibility_s } => self.change(handle, visibility_s).await,
            Step::Advance { seconds } => {
                self.fixture.advance(seconds);
                self.now = self.now.plus(Duration::from_secs(seconds));
            }
            Step::Restart => {
                // A write that is waited for: those before it are done then.
                let tags = [("restarted".to_owned(), self.sent.to_string())].into();
                self.fixture.queues.tag("work", &tags).await.unwrap();
                self.fixture.forget();
            }
        }
        for (queue, name) in QUEUES.iter().enumerate() {
            let counts = self.fixture.queues.counts(name).await.unwrap();
            assert_eq!(counts, self.oracle.counts(queue, self.now), "{name}");
        }
    }

    async fn receive(&mut self, queue: usize, max: usize, visibility_s: u64) {
        let receive = Receive {
            max,
            visibility: Some(Duration::from_secs(visibility_s)),
            wait: None,
        };
        let got = self.fixture.queues.receive(QUEUES[queue], receive).await.unwrap();
        let expected = self.oracle.receive(queue, max, visibility_s, self.now);
        let seen: Vec<_> = got.iter().map(|one| (one.body.as_str(), one.receives)).collect();
        let naive: Vec<_> = expected
            .iter()
            .map(|(body, receives, _)| (body.as_str(), *receives))
            .collect();
        assert_eq!(seen, naive);
        for (message, (_, _, token)) in got.iter().zip(expected) {
            self.held.push(Held {
                queue,
                text: message.receipt_handle.clone(),
                token,
            });
        }
    }

    async fn delete(&mut self, handle: usize) {
        let Some(held) = self.held.iter().rev().nth(handle) else {
            return;
        };
        let queue = QUEUES[held.queue];
        self.fixture.queues.delete(queue, &held.text).await.unwrap();
        let token = held.token;
        self.oracle
            .messages
            .retain(|message| message.tokens.last() != Some(&token));
    }

    async fn change(&mut self, handle: usize, visibility_s: u64) {
        let Some(held) = self.held.iter().rev().nth(handle) else {
            return;
        };
        let timeout = Duration::from_secs(visibility_s);
        let changed = self
            .fixture
            .queues
            .change_visibility(QUEUES[held.queue], &held.text, timeout)
            .await;
        self.oracle.expire(self.now);
        let now = self.now;
        match self.oracle.find(held.token) {
            Some(message) => {
                message.due = now.plus(timeout);
                changed.unwrap();
            }
            None => assert_eq!(changed.unwrap_err().code(), ErrorCode::InvalidParameterValue),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_does_what_a_list_would_do(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new(Fixture::new()).await;
            for step in steps {
                run.take(step).await;
            }
        });
    }

    #[test]
    fn it_does_so_on_a_database_that_takes_its_time(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new(Fixture::on_slow_database()).await;
            // After a restart, receptions that were not written yet are forgotten.
            for step in steps.into_iter().filter(|step| !matches!(step, Step::Restart)) {
                run.take(step).await;
            }
        });
    }
}
