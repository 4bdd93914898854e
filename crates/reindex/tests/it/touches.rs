//! Every row is touched once, and nothing else changes.

use std::sync::Arc;

use trestle_api::{DeleteItem, Error, TouchRows, Touched, UpdateItem};
use trestle_item::{AttributeValue, Item};
use trestle_reindex::{ReindexError, ReindexState, StartReindex, Touch as _, TouchByUpdate};

use crate::support::{TABLE, VERSION, World, to_version};

#[tokio::test]
async fn every_row_gets_the_version_by_one_record_and_a_rerun_writes_nothing() {
    let world = World::new();
    world.fill(500);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    assert_eq!(world.at_version(7), 500);
    let records = world.records();
    assert_eq!(records.len(), 500);
    assert!(records.values().all(|count| *count == 1), "{records:?}");
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(
        (status.rows, status.counts.read, status.counts.done),
        (500, 500, 500)
    );
    assert_eq!((status.waiting, status.gaps, status.percent), (0, 0, 100.0));
    assert!(!status.rows_are_estimated);

    reindexer.start(to_version("again", 7)).await.unwrap();
    reindexer.work("again").await.unwrap();
    let status = reindexer.status("again").await.unwrap();
    assert_eq!((status.counts.done, status.counts.unchanged), (0, 500));
    assert_eq!(world.records(), records);
}

#[tokio::test]
async fn an_update_touches_only_rows_with_the_expected_values() {
    let world = World::new();
    world.put("a", "1", &[("revision", 2_u64.into())]);
    world.put("b", "1", &[("revision", 1_u64.into())]);
    world.put("c", "1", &[("revision", 1_u64.into()), (VERSION, 9_u64.into())]);
    let key = |pk: &str| Item::from([("pk", pk), ("sk", "1")]);
    let touch = TouchByUpdate::new(Arc::new(world.engine.clone()));
    let touched = touch.touch(TouchRows {
        table: TABLE.to_owned(),
        attribute: VERSION.to_owned(),
        version: 7,
        keys: ["a", "b", "c", "d"].map(key).into(),
        expected: Item::from([("revision", 2_u64)]),
        ..TouchRows::default()
    });
    let failed = || Touched::Refused(Error::condition_failed(None));
    // If a row does not exist, an endpoint only reports that the condition failed.
    assert_eq!(
        touched.await.unwrap().rows,
        [Touched::Raised, failed(), Touched::AlreadyThere, failed()]
    );
    assert_eq!(world.at_version(7), 1);
}

#[tokio::test]
async fn a_version_is_never_lowered_and_other_attributes_stay() {
    let world = World::new();
    world.put("a", "1", &[(VERSION, 90_u64.into()), ("title", "later".into())]);
    world.put("b", "1", &[(VERSION, 3_u64.into()), ("title", "earlier".into())]);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 50)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let expected = |pk: &str, version: u64, title: &str| {
        let mut row = Item::from([("pk", pk), ("sk", "1"), ("title", title)]);
        row.insert(VERSION, version);
        Some(row)
    };
    assert_eq!(world.get("a", "1"), expected("a", 90, "later"));
    assert_eq!(world.get("b", "1"), expected("b", 50, "earlier"));
}

#[tokio::test]
async fn a_row_that_changes_while_it_is_touched_keeps_both_changes_and_a_deleted_one_stays_deleted() {
    let world = World::new();
    world.fill(300);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    let engine = world.engine.clone();
    let writer = tokio::task::spawn_blocking(move || {
        for number in 0..300 {
            let key = Item::from([("pk", format!("w{number:05}")), ("sk", "a".to_owned())]);
            if number % 3 == 0 {
                let delete = DeleteItem {
                    table_name: TABLE.to_owned(),
                    key,
                    ..DeleteItem::default()
                };
                engine.run(delete).unwrap();
                continue;
            }
            let update = UpdateItem {
                table_name: TABLE.to_owned(),
                key,
                update_expression: Some("SET title = :new".to_owned()),
                expression_attribute_values: Some(Item::from([(":new", "new")])),
                ..UpdateItem::default()
            };
            engine.run(update).unwrap();
        }
    });
    reindexer.work("one").await.unwrap();
    writer.await.unwrap();
    let rows = world.rows();
    assert_eq!(rows.len(), 200);
    for row in rows {
        assert_eq!(row.get("title"), Some(&AttributeValue::from("new")), "{row:?}");
        assert_eq!(row.get(VERSION), Some(&AttributeValue::from(7_u64)), "{row:?}");
    }
}

#[tokio::test]
async fn a_lower_version_a_second_job_and_an_unheard_touch_are_refused() {
    let world = World::new();
    world.table("silent", false);
    world.fill(3);
    let reindexer = world.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    let refused = |error: ReindexError, part: &str| {
        let text = error.to_string();
        assert!(text.contains(part), "{text}");
    };
    refused(
        reindexer.start(to_version("one", 8)).await.unwrap_err(),
        "there is a reindex one already",
    );
    refused(
        reindexer.start(to_version("two", 8)).await.unwrap_err(),
        "trestle reindex cancel one",
    );
    assert_eq!(
        reindexer.list().await.unwrap().len(),
        1,
        "what was refused is not kept"
    );
    reindexer.work("one").await.unwrap();
    refused(
        reindexer.start(to_version("two", 6)).await.unwrap_err(),
        "touched with version 7",
    );
    refused(
        reindexer.start(StartReindex::touch("nowhere")).await.unwrap_err(),
        "no table nowhere",
    );
    refused(
        reindexer.start(StartReindex::touch("silent")).await.unwrap_err(),
        "has no stream",
    );
    let forced = StartReindex {
        force: true,
        ..StartReindex::touch("silent")
    };
    let started = reindexer.start(forced).await.unwrap();
    assert!(
        started.warnings[0].contains("has no stream"),
        "{:?}",
        started.warnings
    );
}
