//! A start that was ended on its way is finished by the process that works on the reindex.

use std::sync::Arc;
use std::time::Duration;

use trestle_reindex::{ReindexError, ReindexState, StartReindex};

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
