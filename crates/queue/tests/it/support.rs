//! Queues under test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trestle_api::{BatchGetItemOutput, Database, DescribeTable, Request, Response, ResponseFuture};
use trestle_engine::{Engine, Options};
use trestle_env::{Timestamp, VirtualClock};
use trestle_queue::{Message, QueueAttributes, Queues, Receive, Settings};
use trestle_store::{MemoryStore, Store};

pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// See [`Fixture::on_slow_database`].
struct Slow(Engine);

impl Database for Slow {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            self.0.execute(request).await
        })
    }
}

/// An engine, its queues, and the clock of both.
pub(crate) struct Fixture {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) engine: Engine,
    pub(crate) queues: Queues,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()))
    }

    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let engine = Engine::on(store, clock.clone(), Options::default()).unwrap();
        let queues = Queues::new(Arc::new(engine.clone()), clock.clone(), Settings::default());
        Self {
            clock,
            engine,
            queues,
        }
    }

    /// On a database that starts a request only after other tasks had their turn, like one behind a network.
    pub(crate) fn on_slow_database() -> Self {
        let mut fixture = Self::new();
        let slow = Arc::new(Slow(fixture.engine.clone()));
        fixture.queues = Queues::new(slow, fixture.clock.clone(), Settings::default());
        fixture
    }

    /// With a queue called `work`.
    pub(crate) async fn with_queue(attributes: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        fixture.create("work", attributes).await;
        fixture
    }

    pub(crate) async fn create(&self, name: &str, given: &[(&str, &str)]) {
        self.queues
            .create(name, &attributes(given), &Default::default())
            .await
            .unwrap();
    }

    /// The same database with new queues, which have not loaded anything yet.
    pub(crate) fn forget(&mut self) {
        self.queues = Queues::new(
            Arc::new(self.engine.clone()),
            self.clock.clone(),
            Settings::default(),
        );
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn receive(&self, queue: &str, max: usize) -> Vec<Message> {
        let receive = Receive {
            max,
            ..Receive::default()
        };
        self.queues.receive(queue, receive).await.unwrap()
    }

    /// Rows in the table behind the queues.
    pub(crate) fn rows(&self) -> u64 {
        let described = self.engine.run(DescribeTable {
            table_name: "_trestle.queues".to_owned(),
        });
        described.unwrap().table.item_count
    }

    /// The bodies of up to ten messages.
    pub(crate) async fn bodies(&self, queue: &str) -> Vec<String> {
        bodies(&self.receive(queue, 10).await)
    }
}

pub(crate) fn bodies(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.body.clone()).collect()
}

pub(crate) fn attributes(pairs: &[(&str, &str)]) -> QueueAttributes {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

pub(crate) fn redrive(target: &str, receives_max: u32) -> String {
    let arn = Settings::default().arn(target);
    format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{receives_max}}}"#)
}

/// A database that never processes the rows of a batch while it is busy.
pub(crate) struct Busy {
    engine: Engine,
    is_busy: AtomicBool,
}

impl Database for Busy {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request {
            Request::BatchGetItem(batch) if self.is_busy.load(Ordering::SeqCst) => {
                let undone = BatchGetItemOutput {
                    unprocessed_keys: batch.request_items,
                    ..BatchGetItemOutput::default()
                };
                Box::pin(std::future::ready(Ok(Response::from(undone))))
            }
            request => self.engine.execute(request),
        }
    }
}

impl Fixture {
    /// On a database that can be too busy to read batches.
    pub(crate) fn on_busy_database() -> (Self, Arc<Busy>) {
        let mut fixture = Self::new();
        let busy = Arc::new(Busy {
            engine: fixture.engine.clone(),
            is_busy: AtomicBool::new(false),
        });
        fixture.queues = Queues::new(busy.clone(), fixture.clock.clone(), Settings::default());
        (fixture, busy)
    }
}

impl Busy {
    pub(crate) fn be(&self, busy: bool) {
        self.is_busy.store(busy, Ordering::SeqCst);
    }
}
