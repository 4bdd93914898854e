//! Random operations on a queue and its dead-letter queue, compared step by step with a list that is searched
//! linearly: one driver, and an [`Oracle`] each for a standard and a FIFO queue.

mod fifo;
mod list;
mod standard;

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use trestle_env::Timestamp;
use trestle_queue::{Counts, ErrorCode, NewMessage, Receive};

use crate::support::{Fixture, START, redrive};
use list::Reception;

/// The expected behaviour of a queue. Queue 0 is the one that messages are sent to, queue 1 its dead-letter
/// queue.
trait Oracle: Default {
    const QUEUES: [&'static str; 2];
    /// Attributes of both queues.
    const ATTRIBUTES: &'static [(&'static str, &'static str)];
    const RECEIVES_MAX: u32;

    /// Sends a message; returns the body of the message that was sent, now or before.
    fn send(&mut self, message: &NewMessage, now: Timestamp) -> String;
    fn receive(&mut self, queue: usize, max: usize, visibility: Duration, now: Timestamp) -> Vec<Reception>;
    fn delete(&mut self, held: &Held, now: Timestamp) -> Result<(), ErrorCode>;
    fn change(&mut self, held: &Held, visibility: Duration, now: Timestamp) -> Result<(), ErrorCode>;
    fn counts(&mut self, queue: usize, now: Timestamp) -> Counts;
}

#[derive(Clone, Debug)]
enum Step {
    /// Bodies are numbered by the driver.
    Send {
        messages: Vec<NewMessage>,
    },
    Receive {
        queue: usize,
        max: usize,
        visibility: Duration,
    },
    Delete {
        handle: usize,
    },
    Change {
        handle: usize,
        visibility: Duration,
    },
    Advance {
        seconds: u64,
    },
    Restart,
}

/// A step; `messages` are sent, and the clock is advanced by `seconds`.
fn step(
    messages: impl Strategy<Value = Vec<NewMessage>>,
    seconds: impl Strategy<Value = u64>,
) -> impl Strategy<Value = Step> {
    let visibility = || (0..30_u64).prop_map(Duration::from_secs);
    prop_oneof![
        5 => messages.prop_map(|messages| Step::Send { messages }),
        6 => (0..2_usize, 1..5_usize, visibility())
            .prop_map(|(queue, max, visibility)| Step::Receive { queue, max, visibility }),
        4 => (0..30_usize).prop_map(|handle| Step::Delete { handle }),
        2 => (0..30_usize, visibility())
            .prop_map(|(handle, visibility)| Step::Change { handle, visibility }),
        3 => seconds.prop_map(|seconds| Step::Advance { seconds }),
        1 => Just(Step::Restart),
    ]
}

/// A received handle: its queue, its text, and the oracle's value for it.
struct Held {
    queue: usize,
    text: String,
    reception: Reception,
}

struct Run<O> {
    fixture: Fixture,
    oracle: O,
    held: Vec<Held>,
    /// The id of each message, by body.
    ids: BTreeMap<String, String>,
    sent: usize,
    now: Timestamp,
}

/// Executes the steps, and compares the counts after each.
fn run<O: Oracle>(fixture: Fixture, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = Run::<O>::new(fixture).await;
        for step in steps {
            run.take(step).await;
        }
    });
}

impl<O: Oracle> Run<O> {
    async fn new(fixture: Fixture) -> Self {
        let [work, dead] = O::QUEUES;
        fixture.create(dead, O::ATTRIBUTES).await;
        let policy = redrive(dead, O::RECEIVES_MAX);
        let attributes = [O::ATTRIBUTES, &[("RedrivePolicy", policy.as_str())][..]].concat();
        fixture.create(work, &attributes).await;
        Self {
            fixture,
            oracle: O::default(),
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
                visibility,
            } => self.receive(queue, max, visibility).await,
            Step::Delete { handle } => self.delete(handle).await,
            Step::Change { handle, visibility } => self.change(handle, visibility).await,
            Step::Advance { seconds } => {
                self.fixture.advance(seconds);
                self.now = self.now.plus(Duration::from_secs(seconds));
            }
            Step::Restart => {
                // A write that is waited for: earlier ones are finished then.
                let tags = [("restarted".to_owned(), self.sent.to_string())].into();
                self.fixture.queues.tag(O::QUEUES[0], &tags).await.unwrap();
                self.fixture.forget();
            }
        }
        for (queue, name) in O::QUEUES.iter().enumerate() {
            let counts = self.fixture.queues.counts(name).await.unwrap();
            assert_eq!(counts, self.oracle.counts(queue, self.now), "{name}");
        }
    }

    async fn send(&mut self, mut messages: Vec<NewMessage>) {
        let mut expected = Vec::new();
        for message in &mut messages {
            self.sent += 1;
            message.body = format!("message {}", self.sent);
            expected.push(self.oracle.send(message, self.now));
        }
        let queues = &self.fixture.queues;
        let answers = match <[NewMessage; 1]>::try_from(messages) {
            Ok([message]) => vec![queues.send(O::QUEUES[0], message).await],
            Err(messages) => queues.send_batch(O::QUEUES[0], messages).await.unwrap(),
        };
        assert_eq!(answers.len(), expected.len());
        for (body, answer) in expected.into_iter().zip(answers) {
            let id = answer.unwrap();
            // A duplicate has the id of its original.
            assert_eq!(self.ids.entry(body).or_insert_with(|| id.clone()), &id);
        }
    }

    async fn receive(&mut self, queue: usize, max: usize, visibility: Duration) {
        let receive = Receive {
            max,
            visibility: Some(visibility),
            wait: None,
        };
        let got = self
            .fixture
            .queues
            .receive(O::QUEUES[queue], receive)
            .await
            .unwrap();
        let expected = self.oracle.receive(queue, max, visibility, self.now);
        let seen: Vec<_> = got.iter().map(|one| (&*one.body, one.receives)).collect();
        let naive: Vec<_> = expected.iter().map(|one| (&*one.body, one.receives)).collect();
        assert_eq!(seen, naive);
        for (message, reception) in got.into_iter().zip(expected) {
            self.held.push(Held {
                queue,
                text: message.receipt_handle,
                reception,
            });
        }
    }

    async fn delete(&mut self, handle: usize) {
        let Some(held) = self.held.iter().rev().nth(handle) else {
            return;
        };
        let deleted = self
            .fixture
            .queues
            .delete(O::QUEUES[held.queue], &held.text)
            .await;
        let expected = self.oracle.delete(held, self.now);
        assert_eq!(deleted.map_err(|error| error.code()), expected);
    }

    async fn change(&mut self, handle: usize, visibility: Duration) {
        let Some(held) = self.held.iter().rev().nth(handle) else {
            return;
        };
        let changed = self
            .fixture
            .queues
            .change_visibility(O::QUEUES[held.queue], &held.text, visibility)
            .await;
        let expected = self.oracle.change(held, visibility, self.now);
        assert_eq!(changed.map_err(|error| error.code()), expected);
    }
}
