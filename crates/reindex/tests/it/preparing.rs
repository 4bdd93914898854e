//! A start that was interrupted is finished by the process that works on the reindex.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use trestle_reindex::{ReindexError, ReindexScope, ReindexState, ReindexWorkers, StartReindex};

use crate::leases::Dying;
use crate::support::{World, to_version};

fn asked(name: &str, version: u64) -> StartReindex {
    StartReindex {
        workers: 1,
        ..to_version(name, version)
    }
}

#[tokio::test]
async fn whenever_a_start_is_killed_the_reindex_is_unknown_or_can_be_worked_on() {
    let mut prepared = 0;
    for answers in 0..24 {
        let world = World::new();
        world.fill(50);
        let dying = Arc::new(Dying::new(world.engine.clone(), answers));
        let killed = world.reindexer_at(dying.clone());
        let started = dying.until_dead(killed.start(asked("one", 7))).await;
        let reindexer = world.reindexer();
        match reindexer.get("one").await {
            Err(ReindexError::Unknown(_)) => {
                assert!(started.is_none(), "after {answers} answers");
                reindexer.start(asked("one", 7)).await.unwrap();
            }
            Ok(job) => prepared += u32::from(job.state == ReindexState::Preparing),
            Err(error) => panic!("after {answers} answers: {error}"),
        }
        assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
        assert_eq!(world.at_version(7), 50, "after {answers} answers");
        reindexer.start(asked("two", 8)).await.unwrap();
    }
    assert!(prepared > 0);
}

#[tokio::test]
async fn a_start_by_ids_that_is_killed_never_ends_with_less_than_all_ids() {
    let mut cut_off = 0;
    for answers in 0..24 {
        let world = World::new();
        world.fill(50);
        let by_ids = |name: &str| StartReindex {
            scope: ReindexScope::Ids((0..50).map(|number| format!("w{number:05}")).collect()),
            ..asked(name, 7)
        };
        let dying = Arc::new(Dying::new(world.engine.clone(), answers));
        let killed = world.reindexer_at(dying.clone());
        let _ = dying.until_dead(killed.start(by_ids("one"))).await;
        let reindexer = world.reindexer();
        match reindexer.work("one").await {
            Ok(job) => assert_eq!((job.state, world.at_version(7)), (ReindexState::Done, 50)),
            Err(ReindexError::Unknown(_)) => {}
            Err(error) => {
                assert!(error.to_string().contains("cut off"), "{error}");
                assert_eq!(world.at_version(7), 0);
                // Nothing of it is left: neither its name nor its table is in use.
                assert_eq!(reindexer.list().await.unwrap(), []);
                let fewer = StartReindex {
                    scope: ReindexScope::Ids(vec!["w00003".to_owned()]),
                    ..asked("one", 7)
                };
                reindexer.start(fewer).await.unwrap();
                reindexer.work("one").await.unwrap();
                assert_eq!(world.at_version(7), 1, "after {answers} answers");
                cut_off += 1;
            }
        }
    }
    assert!(cut_off > 0);
}

/// Starts that were interrupted after some answers, and what the next process does with them when it opens
/// the database.
async fn resumed_after(scope: ReindexScope) -> u32 {
    let mut prepared = 0;
    for answers in 0..24 {
        let world = World::new();
        world.fill(50);
        let dying = Arc::new(Dying::new(world.engine.clone(), answers));
        let killed = world.reindexer_at(dying.clone());
        let asked = StartReindex {
            scope: scope.clone(),
            ..asked("one", 7)
        };
        let _ = dying.until_dead(killed.start(asked)).await;
        let reindexer = world.reindexer();
        let Ok(job) = reindexer.get("one").await else {
            continue;
        };
        let workers = ReindexWorkers::new(reindexer.clone(), Handle::current());
        let resumed = workers.resume().await.unwrap();
        let is_forgotten = job.state == ReindexState::Preparing && matches!(scope, ReindexScope::Ids(_));
        assert_eq!(resumed.is_empty(), is_forgotten, "after {answers} answers");
        while let Ok(job) = reindexer.get("one").await
            && job.state != ReindexState::Done
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rows = if is_forgotten { 0 } else { 50 };
        assert_eq!(world.at_version(7), rows, "after {answers} answers");
        prepared += u32::from(job.state == ReindexState::Preparing);
        workers.stop().await;
    }
    prepared
}

#[tokio::test]
async fn a_server_finishes_a_start_that_was_cut_off_and_forgets_one_by_ids() {
    assert!(resumed_after(ReindexScope::Complete).await > 0);
    let ids = (0..50).map(|number| format!("w{number:05}")).collect();
    assert!(resumed_after(ReindexScope::Ids(ids)).await > 0);
}
