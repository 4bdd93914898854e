//! Workers share the rows by leases: what one leaves, another takes over.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Database, Request, ResponseFuture};
use trestle_engine::Engine;
use trestle_env::{Timestamp, VirtualClock};
use trestle_reindex::{ReindexState, StartReindex};

use crate::support::{TABLE, World, to_version};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_work_at_the_same_time_do_each_row_once() {
    let world = World::new();
    world.fill(600);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    let others = [world.reindexer(), world.reindexer()];
    let (a, b, c) = tokio::join!(
        reindexer.work("one"),
        others[0].work("one"),
        others[1].work("one")
    );
    for worked in [a, b, c] {
        assert_eq!(worked.unwrap().state, ReindexState::Done);
    }
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.counts.read, status.counts.done, status.processes),
        (600, 600, 0)
    );
    assert!(world.records().values().all(|count| *count == 1));
}

/// A database that answers a limited number of requests and then no more, as for a killed process.
pub(crate) struct Dying {
    engine: Engine,
    answers: std::sync::atomic::AtomicI64,
    dead: tokio::sync::Notify,
}

impl Dying {
    pub(crate) fn new(engine: Engine, answers: i64) -> Self {
        Self {
            engine,
            answers: answers.into(),
            dead: tokio::sync::Notify::new(),
        }
    }

    /// The steps of a process in order, until it is killed. A timeout would leave a step unfinished.
    pub(crate) async fn until_dead<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.dead.notified() => None,
        }
    }
}

impl Database for Dying {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let left = self.answers.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        if left <= 0 {
            self.dead.notify_one();
            return Box::pin(std::future::pending());
        }
        self.engine.execute(request)
    }
}

#[tokio::test]
async fn what_a_killed_process_had_is_taken_over_after_its_lease_and_costs_a_page_at_most() {
    // Killed after more and more requests, so that each kind of step is the last one once.
    for answers in (0..120).step_by(7) {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
        let world = World::with_clock(clock.clone());
        world.fill(100);
        let asked = StartReindex {
            workers: 1,
            ..to_version("one", 7)
        };
        world.reindexer().start(asked).await.unwrap();
        let dying = Dying::new(world.engine.clone(), answers);
        let killed = world.reindexer_over(Arc::new(dying));
        let ended = tokio::time::timeout(Duration::from_millis(60), killed.work("one")).await;
        let reindexer = world.reindexer();
        if let Ok(ended) = ended {
            assert_eq!(ended.unwrap().state, ReindexState::Done);
        } else {
            clock.advance(Duration::from_secs(31));
            assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
        }
        assert_eq!(world.at_version(7), 100, "after {answers} answers");
        assert!(world.records().values().all(|count| *count == 1));
        let counts = reindexer.status("one").await.unwrap().counts;
        assert_eq!(counts.read, 100, "each page is counted once");
        // Rows of the page in progress are found at the version.
        assert!(counts.unchanged <= 20, "{counts:?}");
    }
}

#[tokio::test]
async fn a_worker_that_was_taken_over_cannot_check_in() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let world = World::with_clock(clock.clone());
    world.fill(10);
    let asked = StartReindex {
        workers: 1,
        ..to_version("one", 7)
    };
    let reindexer = world.reindexer();
    reindexer.start(asked).await.unwrap();
    // It stops in the middle of its page, and does not renew its lease either.
    let frozen = Arc::new(Frozen::new(world.engine.clone()));
    let slow = world.reindexer_at(frozen.clone());
    let slow = tokio::spawn(async move { slow.work("one").await });
    frozen.reached.notified().await;
    clock.set(Timestamp::from_secs(1_800_000_031));
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    let before = reindexer.status("one").await.unwrap();
    frozen.is_frozen.send_replace(false);
    assert_eq!(slow.await.unwrap().unwrap().state, ReindexState::Done);
    assert_eq!(reindexer.status("one").await.unwrap().counts, before.counts);
    assert_eq!(before.counts.read, 10);
}

/// A database that stops answering at the first update of a row of the table, until it is allowed to
/// continue.
struct Frozen {
    engine: Engine,
    reached: tokio::sync::Notify,
    has_begun: std::sync::atomic::AtomicBool,
    is_frozen: tokio::sync::watch::Sender<bool>,
}

impl Frozen {
    fn new(engine: Engine) -> Self {
        Self {
            engine,
            reached: tokio::sync::Notify::new(),
            has_begun: false.into(),
            is_frozen: tokio::sync::watch::Sender::new(false),
        }
    }
}

impl Database for Frozen {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            let is_touch = matches!(&request, Request::UpdateItem(update) if update.table_name == TABLE);
            if is_touch && !self.has_begun.swap(true, std::sync::atomic::Ordering::SeqCst) {
                self.is_frozen.send_replace(true);
                self.reached.notify_one();
            }
            self.is_frozen
                .subscribe()
                .wait_for(|is_frozen| !is_frozen)
                .await
                .unwrap();
            self.engine.execute(request).await
        })
    }
}
