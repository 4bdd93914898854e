//! Pause, resume, cancel, and processing rows again.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::Database;
use trestle_env::{Timestamp, VirtualClock};
use trestle_reindex::{EndpointHost, ReindexBudget, ReindexScope, ReindexState, StartReindex};

use crate::support::{TouchByEngine, VERSION, World, to_version};

#[tokio::test]
async fn a_paused_reindex_stands_still_until_it_is_resumed() {
    let world = World::new();
    world.fill(200);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.pause("one").await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Paused);
    assert_eq!(world.at_version(7), 0);
    reindexer.resume("one").await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    assert_eq!(world.at_version(7), 200);
}

#[tokio::test]
async fn a_cancelled_reindex_gives_its_table_back() {
    let world = World::new();
    world.fill(20);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.cancel("one").await.unwrap();
    assert_eq!(
        reindexer.work("one").await.unwrap().state,
        ReindexState::Cancelled
    );
    assert!(
        reindexer
            .resume("one")
            .await
            .unwrap_err()
            .to_string()
            .contains("is cancelled")
    );
    reindexer.start(to_version("two", 7)).await.unwrap();
    reindexer.work("two").await.unwrap();
    assert_eq!(world.at_version(7), 20);
}

#[tokio::test]
async fn rows_are_done_again_by_their_ids() {
    let world = World::new();
    world.fill(20);
    let reindexer = world.reindexer();
    let first = StartReindex {
        scope: ReindexScope::First(1),
        ..to_version("one", 7)
    };
    reindexer.start(first).await.unwrap();
    reindexer.work("one").await.unwrap();
    assert_eq!(world.at_version(7), 1);
    let rows = world.rows();
    let below = rows.iter().filter(|row| !row.contains_key(VERSION));
    let ids: Vec<String> = below
        .map(|row| row.get("pk").unwrap().as_s().unwrap().to_owned())
        .collect();
    let job = reindexer.resend("one", &ids).await.unwrap();
    assert_eq!(job.state, ReindexState::Running);
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    assert_eq!(world.at_version(7), 20);
}

#[tokio::test]
async fn rows_at_the_version_are_sent_again_by_a_database_that_can_record_them() {
    let world = World::new();
    world.fill(20);
    let engine: Arc<dyn Database> = Arc::new(world.engine.clone());
    let touch = Arc::new(TouchByEngine(world.engine.clone()));
    let reindexer = world.reindexer_with(engine, touch, Arc::new(EndpointHost::default()));
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let ids = ["w00003", r#"{"pk":"w00004","sk":"a"}"#].map(str::to_owned);
    for round in 1..3 {
        reindexer.resend("one", &ids).await.unwrap();
        reindexer.work("one").await.unwrap();
        let records = world.records();
        assert_eq!(records["w00003/a"], 1 + round);
        assert_eq!(records["w00004/a"], 1 + round);
        assert_eq!(records.values().sum::<usize>(), 20 + 2 * round);
    }
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.rows, status.counts.done, status.counts.unchanged),
        (20, 24, 0)
    );
}

#[tokio::test]
async fn rows_at_the_version_are_refused_where_no_stream_record_would_come_of_them() {
    let world = World::new();
    world.fill(3);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    world.put("w00002", "a", &[]);
    let all = ["w00000", r#"{"pk":"w00001","sk":"a"}"#, "w00002"].map(str::to_owned);
    let refused = reindexer.resend("one", &all).await.unwrap_err().to_string();
    assert!(
        refused.contains("2 of these rows are at version 7 or a later one already")
            && refused.contains("`trestle reindex start works --version N --ids FILE`"),
        "{refused}"
    );
    assert_eq!(
        reindexer.status("one").await.unwrap().waiting,
        0,
        "none is sent again"
    );
    // Its table is free for another reindex.
    reindexer.start(to_version("two", 8)).await.unwrap();
}

#[tokio::test]
async fn rows_of_a_page_that_takes_long_are_counted_before_it_is_done() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let world = World::with_clock(clock.clone());
    world.fill(400);
    let reindexer = world.reindexer();
    let asked = StartReindex {
        workers: 1,
        page_rows: 400,
        budget: ReindexBudget {
            write_units: Some(50.0),
            ..ReindexBudget::default()
        },
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    let at_work = reindexer.clone();
    let working = tokio::spawn(async move { at_work.work("one").await });
    let mut seen = Vec::new();
    while !working.is_finished() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let before = world.at_version(7) as u64;
        let status = reindexer.status("one").await.unwrap();
        assert!(status.counts.done <= world.at_version(7) as u64, "{status:?}");
        assert!(status.waiting >= 400 - world.at_version(7) as u64, "{status:?}");
        if status.work_items_done < status.work_items && before < 400 {
            seen.push(status.counts.done);
        }
        clock.advance(Duration::from_millis(100));
    }
    working.await.unwrap().unwrap();
    assert!(seen.iter().any(|done| *done > 0), "{seen:?}");
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.counts.done, status.counts.read),
        (400, 400),
        "each is counted once"
    );
}

#[tokio::test]
async fn a_write_budget_is_kept_by_the_clock() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let world = World::with_clock(clock.clone());
    world.fill(400);
    let reindexer = world.reindexer();
    let asked = StartReindex {
        workers: 1,
        budget: ReindexBudget {
            write_units: Some(100.0),
            ..ReindexBudget::default()
        },
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    let working = tokio::spawn(async move { reindexer.work("one").await });
    let mut passed = 0_u64;
    while !working.is_finished() {
        // As many rows as the budget allows, plus those of a tenth of a second.
        let done = world.at_version(7) as u64;
        assert!(done <= 10 + passed / 10, "{done} rows after {passed} ms");
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        clock.advance(Duration::from_millis(100));
        passed += 100;
    }
    working.await.unwrap().unwrap();
    assert_eq!(world.at_version(7), 400);
    assert!(
        passed >= 2_500,
        "400 rows take about four seconds, and took {passed} ms"
    );
}

#[tokio::test]
async fn rate_and_time_left_are_those_of_the_work_under_way() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let world = World::with_clock(clock.clone());
    world.fill(400);
    let reindexer = world.reindexer();
    let asked = StartReindex {
        scope: ReindexScope::First(1),
        workers: 1,
        budget: ReindexBudget {
            write_units: Some(50.0),
            ..ReindexBudget::default()
        },
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
    clock.advance(Duration::from_secs(3600));
    let id = |number: u32| format!(r#"{{"pk": "w{number:05}", "sk": "a"}}"#);
    let is_below = |id: &u32| {
        !world
            .get(&format!("w{id:05}"), "a")
            .unwrap()
            .contains_key(VERSION)
    };
    let ids: Vec<String> = (0..400).filter(is_below).map(id).collect();
    reindexer.resend("one", &ids).await.unwrap();
    let waiting = reindexer.status("one").await.unwrap();
    assert_eq!(
        (waiting.waiting, waiting.rate, waiting.seconds_left),
        (399, 0.0, None),
        "no process works on it"
    );
    let at_work = reindexer.clone();
    let working = tokio::spawn(async move { at_work.work("one").await });
    let mut passed = 0;
    while !working.is_finished() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        clock.advance(Duration::from_millis(100));
        passed += 100;
        let status = reindexer.status("one").await.unwrap();
        if status.state == ReindexState::Running && passed > 4_000 {
            assert!((20.0..=100.0).contains(&status.rate), "{status:?}");
            assert!(status.seconds_left.is_some_and(|left| left <= 20), "{status:?}");
        }
    }
    working.await.unwrap().unwrap();
    assert!(passed > 4_000, "{passed} ms");
    let done = reindexer.status("one").await.unwrap();
    assert!((20.0..=100.0).contains(&done.rate), "{done:?}");
    assert_eq!((done.rows, done.counts.done), (1, 400));
}
