//! Random work on a FIFO queue and its dead-letter queue, compared step by step with a list that is searched from end to end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use trestle_env::Timestamp;
use trestle_queue::{Counts, ErrorCode, NewMessage, Receive};

use crate::support::{Fixture, START, redrive};

const RECEIVES_MAX: u32 = 2;
const QUEUES: [&str; 2] = ["work.fifo", "dead.fifo"];
const MEMORY: Duration = Duration::from_secs(300);

#[derive(Clone, Debug)]
enum Step {
    Send {
        messages: Vec<(u8, u8)>,
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
    // Group and deduplication id.
    let message = (0..3_u8, 0..40_u8);
    prop_oneof![
        6 => prop::collection::vec(message, 1..4).prop_map(|messages| Step::Send { messages }),
        6 => (0..2_usize, 1..5_usize, 0..30_u64)
            .prop_map(|(queue, max, visibility_s)| Step::Receive { queue, max, visibility_s }),
        4 => (0..20_usize).prop_map(|handle| Step::Delete { handle }),
        2 => (0..20_usize, 0..30_u64).prop_map(|(handle, visibility_s)| Step::Change { handle, visibility_s }),
        3 => prop_oneof![4 => 1..20_u64, 1 => 100..301_u64].prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::Restart),
    ]
}

/// One message of the oracle.
#[derive(Clone, Debug)]
struct Naive {
    body: String,
    group: u8,
    queue: usize,
    /// Its place among all that arrived.
    place: usize,
    sent: Timestamp,
    due: Timestamp,
    receives: u32,
    /// Its newest reception.
    token: Option<usize>,
}

/// A list of messages, and of what was sent.
#[derive(Default)]
struct Oracle {
    messages: Vec<Naive>,
    /// When a deduplication id was sent, and the body that was.
    sent: BTreeMap<u8, (Timestamp, String)>,
    arrived: usize,
    tokens: usize,
}

impl Oracle {
    /// The body of the message that was sent, now or before.
    fn send(&mut self, group: u8, id: u8, body: String, now: Timestamp) -> String {
        if let Some((at, original)) = self.sent.get(&id)
            && at.plus(MEMORY) > now
        {
            return original.clone();
        }
        self.sent.insert(id, (now, body.clone()));
        self.arrived += 1;
        self.messages.push(Naive {
            body: body.clone(),
            group,
            queue: 0,
            place: self.arrived,
            sent: now,
            due: now,
            receives: 0,
            token: None,
        });
        body
    }

    /// The places of a group of a queue, in order.
    fn group(&self, queue: usize, group: u8) -> Vec<usize> {
        let of_group = |message: &&Naive| message.queue == queue && message.group == group;
        let mut places: Vec<usize> = self
            .messages
            .iter()
            .filter(of_group)
            .map(|message| message.place)
            .collect();
        places.sort_unstable();
        places
    }

    fn at(&mut self, place: usize) -> &mut Naive {
        self.messages
            .iter_mut()
            .find(|message| message.place == place)
            .unwrap()
    }

    /// Body and token of each message received.
    fn receive(
        &mut self,
        queue: usize,
        max: usize,
        visibility_s: u64,
        now: Timestamp,
    ) -> Vec<(String, usize)> {
        loop {
            let (got, has_dead) = self.pass(queue, max, visibility_s, now);
            if !got.is_empty() || !has_dead {
                return got;
            }
        }
    }

    /// Asks each group once, the one whose first message was due first before the others.
    fn pass(
        &mut self,
        queue: usize,
        max: usize,
        visibility_s: u64,
        now: Timestamp,
    ) -> (Vec<(String, usize)>, bool) {
        let mut fronts: BTreeSet<(Timestamp, usize, u8)> = BTreeSet::new();
        for group in 0..3 {
            if let Some(&place) = self.group(queue, group).first()
                && self.at(place).due <= now
            {
                fronts.insert((self.at(place).due, place, group));
            }
        }
        let (mut got, mut dead) = (Vec::new(), Vec::new());
        for (_, _, group) in fronts {
            let mut has_dead = false;
            for place in self.group(queue, group) {
                if got.len() == max || self.at(place).due > now {
                    break;
                }
                if queue == 0 && self.at(place).receives >= RECEIVES_MAX {
                    dead.push(place);
                    has_dead = true;
                    continue;
                }
                if has_dead {
                    break;
                }
                self.tokens += 1;
                let token = self.tokens;
                let message = self.at(place);
                message.receives += 1;
                message.token = Some(token);
                message.due = now.plus(Duration::from_secs(visibility_s));
                got.push((message.body.clone(), token));
            }
        }
        let has_dead = !dead.is_empty();
        for place in dead {
            self.arrived += 1;
            let arrived = self.arrived;
            let message = self.at(place);
            message.queue = 1;
            message.receives = 0;
            message.due = message.sent;
            message.token = None;
            message.place = arrived;
        }
        (got, has_dead)
    }

    fn counts(&self, queue: usize, now: Timestamp) -> Counts {
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

/// A handle that was given out: its queue, its text, its message and the oracle's token for it.
struct Held {
    queue: usize,
    text: String,
    body: String,
    token: usize,
}

struct Run {
    fixture: Fixture,
    oracle: Oracle,
    held: Vec<Held>,
    ids: BTreeMap<String, String>,
    sent: usize,
    now: Timestamp,
}

impl Run {
    async fn new(fixture: Fixture) -> Self {
        fixture.create("dead.fifo", &[("FifoQueue", "true")]).await;
        let policy = redrive("dead.fifo", RECEIVES_MAX);
        fixture
            .create("work.fifo", &[("FifoQueue", "true"), ("RedrivePolicy", &policy)])
            .await;
        Self {
            fixture,
            oracle: Oracle::default(),
            held: Vec::new(),
            ids: BTreeMap::new(),
            sent: 0,
            now: START,
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Send { messages } => self.send(messages).await,
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
                self.fixture.queues.tag("work.fifo", &tags).await.unwrap();
                self.fixture.forget();
            }
        }
        for (queue, name) in QUEUES.iter().enumerate() {
            let counts = self.fixture.queues.counts(name).await.unwrap();
            assert_eq!(counts, self.oracle.counts(queue, self.now), "{name}");
        }
    }

    async fn send(&mut self, messages: Vec<(u8, u8)>) {
        let mut batch = Vec::new();
        let mut expected = Vec::new();
        for (group, id) in messages {
            self.sent += 1;
            let body = format!("message {}", self.sent);
            expected.push(self.oracle.send(group, id, body.clone(), self.now));
            batch.push(NewMessage {
                group: Some(group.to_string()),
                deduplication_id: Some(id.to_string()),
                ..NewMessage::from(body)
            });
        }
        let answers = self.fixture.queues.send_batch("work.fifo", batch).await.unwrap();
        for (body, answer) in expected.into_iter().zip(answers) {
            let id = answer.unwrap();
            // A duplicate has the id of its original.
            assert_eq!(self.ids.entry(body).or_insert_with(|| id.clone()), &id);
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
        let seen: Vec<&str> = got.iter().map(|one| one.body.as_str()).collect();
        let naive: Vec<&str> = expected.iter().map(|(body, _)| body.as_str()).collect();
        assert_eq!(seen, naive);
        for (message, (body, token)) in got.iter().zip(expected) {
            self.held.push(Held {
                queue,
                text: message.receipt_handle.clone(),
                body,
                token,
            });
        }
    }

    /// A handle, and whether its message is still in that queue and held by it.
    fn held(&self, handle: usize) -> Option<(&Held, Option<bool>)> {
        let held = self.held.iter().rev().nth(handle)?;
        let mut messages = self.oracle.messages.iter();
        let message = messages.find(|message| message.queue == held.queue && message.body == held.body);
        let is_held = message.map(|message| message.token == Some(held.token) && message.due > self.now);
        Some((held, is_held))
    }

    async fn delete(&mut self, handle: usize) {
        let Some((held, is_held)) = self.held(handle) else {
            return;
        };
        let deleted = self.fixture.queues.delete(QUEUES[held.queue], &held.text).await;
        let (code, body) = (deleted.map_err(|error| error.code()), held.body.clone());
        match is_held {
            Some(false) => assert_eq!(code, Err(ErrorCode::InvalidParameterValue)),
            None => assert_eq!(code, Ok(())),
            Some(true) => {
                assert_eq!(code, Ok(()));
                self.oracle.messages.retain(|message| message.body != body);
            }
        }
    }

    async fn change(&mut self, handle: usize, visibility_s: u64) {
        let Some((held, is_held)) = self.held(handle) else {
            return;
        };
        let timeout = Duration::from_secs(visibility_s);
        let changed = self
            .fixture
            .queues
            .change_visibility(QUEUES[held.queue], &held.text, timeout)
            .await;
        assert_eq!(changed.is_ok(), is_held == Some(true));
        let body = held.body.clone();
        if changed.is_ok() {
            let now = self.now;
            let mut messages = self.oracle.messages.iter_mut();
            let message = messages.find(|message| message.body == body).unwrap();
            message.due = now.plus(timeout);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fifo_queue_does_what_a_list_would_do(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new(Fixture::new()).await;
            for step in steps {
                run.take(step).await;
            }
        });
    }
}
