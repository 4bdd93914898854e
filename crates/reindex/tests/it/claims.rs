//! The cost of finding work, and how long workers wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trestle_api::{Database, Request, Response, ResponseFuture};
use trestle_engine::Engine;
use trestle_env::{Timestamp, VirtualClock};
use trestle_reindex::{ReindexScope, ReindexState, Reindexer, StartReindex};

use crate::support::{World, to_version};

/// Long enough for a busy machine. Without the timeout, a failure would hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn still() -> (Arc<VirtualClock>, World) {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    (clock.clone(), World::with_clock(clock))
}

async fn worked(reindexer: &Reindexer) -> ReindexState {
    let worked = tokio::time::timeout(PATIENCE, reindexer.work("one")).await;
    worked.expect("a worker waits for time to pass").unwrap().state
}

/// The clock stands still: anything that waits for a later time waits forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_worker_waits_after_the_last_work_item() {
    for round in 0..20 {
        let (_clock, world) = still();
        world.fill(30);
        let reindexer = world.reindexer();
        // More workers than work: most of them wait for others.
        let asked = StartReindex {
            workers: 8,
            scope: ReindexScope::First(30),
            ..to_version("one", 7)
        };
        reindexer.start(asked).await.unwrap();
        assert_eq!(worked(&reindexer).await, ReindexState::Done, "round {round}");
        assert_eq!(world.at_version(7), 30);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_worker_waits_after_a_reindex_was_cancelled() {
    let (_clock, world) = still();
    world.fill(3_000);
    let reindexer = world.reindexer();
    let asked = StartReindex {
        workers: 8,
        scope: ReindexScope::First(3_000),
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    let canceller = reindexer.clone();
    let cancelled = async move {
        while canceller.status("one").await.unwrap().counts.read == 0 {
            tokio::task::yield_now().await;
        }
        canceller.cancel("one").await.unwrap();
    };
    let (state, ()) = tokio::join!(worked(&reindexer), cancelled);
    assert_eq!(state, ReindexState::Cancelled);
}

/// A database that counts the rows that queries look at.
struct Looks {
    engine: Engine,
    rows: AtomicU64,
}

impl Database for Looks {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            let answer = self.engine.execute(request).await?;
            if let Response::Query(page) = &answer {
                self.rows
                    .fetch_add(u64::from(page.scanned_count), Ordering::SeqCst);
            }
            Ok(answer)
        })
    }
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_work_items_there_are() {
    let items = 1_200;
    let world = World::new();
    world.fill(items);
    let looks = Arc::new(Looks {
        engine: world.engine.clone(),
        rows: 0.into(),
    });
    let reindexer = world.reindexer_at(looks.clone());
    // Each partition is a work item.
    let ids = (0..items).map(|number| format!("w{number:05}"));
    let asked = StartReindex {
        workers: 2,
        scope: ReindexScope::Ids(ids.collect()),
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    looks.rows.store(0, Ordering::SeqCst);
    assert_eq!(worked(&reindexer).await, ReindexState::Done);
    assert_eq!(world.at_version(7), items);
    // Each row is read once, and each work item in few passes: to find it free, and to find it done.
    let looked_at = looks.rows.load(Ordering::SeqCst);
    assert!(
        looked_at < 6 * items as u64,
        "{looked_at} rows were looked at for {items} work items"
    );
}

#[tokio::test]
async fn leases_of_an_earlier_opening_do_not_hold() {
    let (_clock, world) = still();
    world.fill(100);
    let before = world.reindexer().of_opening("before.");
    let asked = StartReindex {
        workers: 2,
        ..to_version("one", 7)
    };
    before.start(asked).await.unwrap();
    let stuck = Arc::new(Stuck(world.engine.clone()));
    let killed = world.reindexer_over(stuck).of_opening("before.");
    let working = tokio::spawn(async move { killed.work("one").await });
    while before.status("one").await.unwrap().workers.len() < 2 {
        tokio::task::yield_now().await;
    }
    working.abort();
    let _ = working.await;
    let status = before.status("one").await.unwrap();
    assert_eq!((status.workers.len(), status.processes), (2, 1));

    let after = world.reindexer().of_opening("after.");
    let status = after.status("one").await.unwrap();
    assert_eq!((status.workers.len(), status.processes), (0, 0));
    assert_eq!(worked(&after).await, ReindexState::Done);
    assert_eq!(world.at_version(7), 100);
}

/// A database that never answers reads of the table's rows.
struct Stuck(Engine);

impl Database for Stuck {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request {
            Request::Scan(_) => Box::pin(std::future::pending()),
            request => self.0.execute(request),
        }
    }
}
