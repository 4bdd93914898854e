//! Reindexes of a database in this process: after a crash, and after their table is deleted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trestle_api::{DeleteTable, DescribeTable, ErrorKind, PutItem};
use trestle_embedded::{Embedded, EngineOptions};
use trestle_engine::Engine;
use trestle_env::VirtualClock;
use trestle_item::{AttributeValue, Item};
use trestle_reindex::{Against, ReindexDestination, ReindexScope, ReindexState, StartReindex};

use crate::support::{CATALOGUE, World, apply, put, rows, until};

/// Long enough for a busy machine. A test that hangs fails after it.
const PATIENCE: Duration = Duration::from_secs(60);

fn to_version(name: &str, version: u64) -> StartReindex {
    StartReindex {
        name: Some(name.to_owned()),
        to: ReindexDestination::Stream {
            attribute: None,
            version: Some(version),
        },
        force: true,
        page_rows: 1,
        ..StartReindex::touch("catalogue")
    }
}

fn record(db: &Embedded, id: &str) {
    put(db, "catalogue", json!({"kind": "record", "id": id}));
}

fn delete_table(db: &Embedded, clock: &VirtualClock) {
    let table_name = "catalogue".to_owned();
    db.run(DeleteTable {
        table_name: table_name.clone(),
    })
    .unwrap();
    until(clock, "the table is gone", || {
        let table_name = table_name.clone();
        let described = db.run(DescribeTable { table_name });
        described.is_err_and(|error| error.kind() == ErrorKind::ResourceNotFound)
    });
}

/// The catalogue, with an entry for each tag of a record.
fn tagged() -> String {
    let with_tags = CATALOGUE.replace("id = \"string\", body", "id = \"string\", tags = \"list\", body");
    with_tags
        + r##"
[entity.record.entries.by_tag]
of = "tags"
member = "tag"
key = { pk = "tag#{tag}#{id}" }
"##
}

#[tokio::test]
async fn rows_that_the_database_keeps_are_left_out_and_are_no_gaps() {
    let world = World::new();
    let db = world.open();
    apply(&db, &tagged());
    for number in 0..10 {
        let mut item = Item::from([("kind", "record"), ("id", &number.to_string())]);
        item.insert("tags", AttributeValue::L(vec!["a".into(), "b".into()]));
        db.run(PutItem {
            table_name: "catalogue".to_owned(),
            item,
            ..PutItem::default()
        })
        .unwrap();
    }
    assert_eq!(rows(&db, "catalogue").len(), 30);
    let reindexer = db.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    let counts = reindexer.status("one").await.unwrap().counts;
    assert_eq!((counts.done, counts.left_out, counts.unchanged), (10, 20, 0));
    let mut named = Vec::new();
    let mut on_gap = |id: &str| {
        named.push(id.to_owned());
        Ok(())
    };
    let gaps = reindexer
        .gaps("one", &Against::Itself, &mut on_gap)
        .await
        .unwrap();
    assert_eq!((gaps, named), (0, Vec::new()));
    let page = reindexer
        .gap_page("one", &Against::Itself, None, 100)
        .await
        .unwrap();
    assert_eq!(page.ids, Vec::<String>::new());

    let first = StartReindex {
        scope: ReindexScope::First(4),
        ..to_version("two", 8)
    };
    reindexer.start(first).await.unwrap();
    reindexer.work("two").await.unwrap();
    assert_eq!(
        reindexer.status("two").await.unwrap().counts.done,
        4,
        "entries are not among the first"
    );
}

/// The clock does not advance, so that no lease expires.
#[tokio::test]
async fn after_a_crash_the_work_goes_on_at_once() {
    let world = World::new();
    let db = world.open();
    apply(&db, CATALOGUE);
    for number in 0..300 {
        record(&db, &number.to_string());
    }
    let reindexer = db.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    let killed = reindexer.clone();
    let working = tokio::spawn(async move { killed.work("one").await });
    while reindexer.status("one").await.unwrap().workers.is_empty() {
        tokio::task::yield_now().await;
    }
    working.abort();
    assert!(working.await.is_err(), "it was killed before it was done");
    assert!(!reindexer.status("one").await.unwrap().workers.is_empty());
    drop(reindexer);
    drop(db);

    let db = world.open();
    let reindexer = db.reindexer();
    assert_eq!(reindexer.status("one").await.unwrap().processes, 0);
    let worked = tokio::time::timeout(PATIENCE, reindexer.work("one")).await;
    assert_eq!(worked.unwrap().unwrap().state, ReindexState::Done);
    let is_at = |row: &&trestle_item::Item| row.get("reindexVersion") == Some(&7_u64.into());
    assert_eq!(rows(&db, "catalogue").iter().filter(is_at).count(), 300);
}

#[tokio::test]
async fn a_new_table_of_the_same_name_begins_without_a_version() {
    let world = World::new();
    let db = world.open();
    apply(&db, CATALOGUE);
    let reindexer = db.reindexer();
    reindexer.start(to_version("one", 7)).await.unwrap();
    reindexer.work("one").await.unwrap();
    record(&db, "a");
    assert!(rows(&db, "catalogue")[0].contains_key("reindexVersion"));
    delete_table(&db, &world.clock);
    assert_eq!(db.reindex_version("catalogue", "record"), None);
    apply(&db, CATALOGUE);
    record(&db, "b");
    assert!(!rows(&db, "catalogue")[0].contains_key("reindexVersion"));
    // Versions of the earlier table do not count either.
    reindexer.start(to_version("two", 3)).await.unwrap();
    reindexer.work("two").await.unwrap();
    assert_eq!(
        rows(&db, "catalogue")[0].get("reindexVersion"),
        Some(&3_u64.into())
    );
    let lower = reindexer.start(to_version("three", 2)).await.unwrap_err();
    assert!(lower.to_string().contains("version 3"), "{lower}");
}

#[test]
fn a_version_of_a_table_without_a_model_goes_with_the_table() {
    let world = World::new();
    let db = world.open();
    apply(&db, CATALOGUE);
    db.set_reindex_version("catalogue", None, 7).unwrap();
    db.models().remove("shop").unwrap();
    delete_table(&db, &world.clock);
    apply(&db, CATALOGUE);
    record(&db, "a");
    assert!(!rows(&db, "catalogue")[0].contains_key("reindexVersion"));
}

#[test]
fn a_version_goes_at_the_next_opening_if_a_crash_came_between() {
    let world = World::new();
    let db = world.open();
    apply(&db, CATALOGUE);
    db.set_reindex_version("catalogue", None, 7).unwrap();
    drop(db);
    // The engine deletes the table, and is stopped before the rest is done.
    let engine = Engine::on(
        Arc::clone(&world.store) as _,
        Arc::clone(&world.clock) as _,
        EngineOptions::default(),
    )
    .unwrap();
    let table_name = "catalogue".to_owned();
    engine.run(DeleteTable { table_name }).unwrap();
    engine.close().unwrap();
    drop(engine);
    let db = world.open();
    assert_eq!(db.reindex_version("catalogue", "record"), None);
    until(&world.clock, "the table is gone", || {
        let table_name = "catalogue".to_owned();
        db.run(DescribeTable { table_name }).is_err()
    });
    apply(&db, CATALOGUE);
    record(&db, "a");
    assert!(!rows(&db, "catalogue")[0].contains_key("reindexVersion"));
    drop(db);
    // It is removed permanently.
    assert_eq!(world.open().reindex_version("catalogue", "record"), None);
}
