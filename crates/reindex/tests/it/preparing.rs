//! A start that was ended on its way is finished by the process that works on the reindex.

use std::sync::Arc;
use std::time::Duration;

use trestle_reindex::{ReindexError, ReindexScope, ReindexState, StartReindex};

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
        let killed = world.reindexer_at(dying);
        let start = killed.start(asked("one", 7));
        let started = tokio::time::timeout(Duration::from_millis(40), start).await;
        let reindexer = world.reindexer();
        match reindexer.get("one").await {
            Err(ReindexError::Unknown(_)) => {
                assert!(started.is_err(), "after {answers} answers");
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
    let mut cancelled = 0;
    for answers in 0..24 {
        let world = World::new();
        world.fill(50);
        let by_ids = |name: &str| StartReindex {
            scope: ReindexScope::Ids((0..50).map(|number| format!("w{number:05}")).collect()),
            ..asked(name, 7)
        };
        let killed = world.reindexer_at(Arc::new(Dying::new(world.engine.clone(), answers)));
        let _ = tokio::time::timeout(Duration::from_millis(40), killed.start(by_ids("one"))).await;
        let reindexer = world.reindexer();
        match reindexer.work("one").await {
            Ok(job) => assert_eq!((job.state, world.at_version(7)), (ReindexState::Done, 50)),
            Err(ReindexError::Unknown(_)) => {}
            Err(error) => {
                assert!(error.to_string().contains("cut off"), "{error}");
                assert_eq!(world.at_version(7), 0);
                reindexer.start(by_ids("two")).await.unwrap();
                cancelled += 1;
            }
        }
    }
    assert!(cancelled > 0);
}
