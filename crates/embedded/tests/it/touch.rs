//! Touches on an open database, as by a reindex.

use std::future::Future;
use std::time::Instant;

use serde_json::json;
use trestle_api::{
    AttributeDefinition, BatchWriteItem, BillingMode, CreateTable, KeySchemaElement, KeyType, PutRequest,
    Scan, StreamSpecification, StreamViewType, TouchRows, Touched, WriteRequest,
};
use trestle_embedded::{Embedded, Options, StartOptions, Unwatched};
use trestle_item::{Item, ScalarType};

use crate::support::{CATALOGUE, World, plain};

fn table(name: &str) -> CreateTable {
    CreateTable {
        table_name: name.to_owned(),
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "id".to_owned(),
            attribute_type: ScalarType::S,
        }],
        key_schema: vec![KeySchemaElement {
            attribute_name: "id".to_owned(),
            key_type: KeyType::Hash,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        stream_specification: Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        }),
        ..CreateTable::default()
    }
}

fn rows(table: &str, version: u64, keys: Vec<Item>) -> TouchRows {
    TouchRows {
        table: table.to_owned(),
        attribute: "reindexVersion".to_owned(),
        version,
        keys,
        ..TouchRows::default()
    }
}

#[tokio::test]
async fn tables_of_trestle_itself_and_missing_tables_are_refused() {
    let db = World::new().open();
    let own = db
        .touch(rows("_trestle.queues", 1, Vec::new()))
        .await
        .unwrap_err();
    assert!(own.message().contains("belongs to Trestle"), "{own}");
    let missing = db.touch(rows("missing", 1, Vec::new())).await.unwrap_err();
    assert_eq!(missing.kind(), trestle_api::ErrorKind::ResourceNotFound);
}

#[tokio::test]
async fn rows_are_raised_whether_or_not_the_answer_is_waited_for() {
    let world = World::new();
    let db = world.open();
    db.run(table("catalogue")).unwrap();
    crate::support::put(&db, "catalogue", json!({"id": "a"}));
    let key = || vec![plain(json!({"id": "a"}))];
    drop(db.touch(rows("catalogue", 4, key())));
    let again = db.touch(rows("catalogue", 4, key())).await.unwrap();
    assert_eq!(again, [Touched::AlreadyThere]);
}

/// Prints how many rows per second are touched on disk, with a stream, by this many concurrent calls. In
/// release: `cargo test --release -p trestle-embedded --test it touch_rate -- --ignored --nocapture`.
#[test]
#[ignore = "measures this machine and prints it; what must hold on any machine is asserted by the other tests here"]
fn touch_rate_on_disk() {
    const ROWS: usize = 300_000;
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    db.run(table("catalogue")).unwrap();
    fill(&db, ROWS);
    let keys = keys_in_order(&db);
    assert_eq!(keys.len(), ROWS);
    let mut version = 0;
    for (rows_at_once, calls) in [(1, 256), (100, 2), (100, 8), (500, 2), (500, 4), (1_000, 2)] {
        version += 1;
        let begun = Instant::now();
        let pages = keys.chunks(rows_at_once);
        let mut under_way = std::collections::VecDeque::new();
        for page in pages {
            if under_way.len() == calls {
                wait(under_way.pop_front());
            }
            under_way.push_back(Box::pin(db.touch(rows("catalogue", version, page.to_vec()))));
        }
        while !under_way.is_empty() {
            wait(under_way.pop_front());
        }
        let rate = ROWS as f64 / begun.elapsed().as_secs_f64();
        println!("{rows_at_once} rows a call, {calls} calls at once: {rate:.0} rows a second");
    }
}

/// The keys of all rows, in the order in which a reindex reads them.
fn keys_in_order(db: &Embedded) -> Vec<Item> {
    let mut scan = Scan {
        table_name: "catalogue".to_owned(),
        projection_expression: Some("id".to_owned()),
        ..Scan::default()
    };
    let mut keys = Vec::new();
    loop {
        let page = db.run(scan.clone()).unwrap();
        keys.extend(page.items.unwrap().to_vec());
        match page.last_evaluated_key {
            Some(last) => scan.exclusive_start_key = Some(last),
            None => return keys,
        }
    }
}

fn wait(touching: Option<impl Future<Output = Result<Vec<Touched>, trestle_api::Error>> + Unpin>) {
    use trestle_api::Wait as _;
    if let Some(touching) = touching {
        let touched = touching.wait().unwrap();
        assert!(touched.iter().all(|touched| *touched == Touched::Raised));
    }
}

fn key(at: usize) -> Item {
    plain(json!({"id": format!("sierra/b{at:07}")}))
}

/// Rows as in a catalogue: an id, a version and the location of the payload.
fn fill(db: &Embedded, rows: usize) {
    for page in 0..rows.div_ceil(25) {
        let requests = (page * 25..rows.min(page * 25 + 25)).map(|at| {
            let mut item = key(at);
            let location = format!("sierra/{}/{at:07}.json", at % 97);
            let more = json!({"version": 3, "sourceName": "sierra", "bucket": "wellcomecollection-vhs", "key": location});
            for (name, value) in plain(more) {
                item.insert(name, value);
            }
            WriteRequest {
                put_request: Some(PutRequest { item }),
                delete_request: None,
            }
        });
        db.run(BatchWriteItem {
            request_items: [("catalogue".to_owned(), requests.collect())].into(),
            ..BatchWriteItem::default()
        })
        .unwrap();
    }
}

fn version(db: &Embedded, id: &str) -> Option<i64> {
    let row = crate::support::rows(db, "catalogue").into_iter().find(|row| {
        let key = format!("record#{id}");
        row.get("pk").and_then(|pk| pk.as_s()) == Some(&key)
    });
    row.unwrap()
        .get("reindexVersion")
        .and_then(|version| version.as_n()?.to_i64())
}

fn record(id: &str) -> serde_json::Value {
    json!({"kind": "record", "id": id})
}

#[tokio::test]
async fn inserted_rows_get_the_version_in_force_and_are_not_touched_again() {
    let world = World::new();
    let db = world.open();
    crate::support::apply(&db, CATALOGUE);
    crate::support::put(&db, "catalogue", record("before"));
    db.set_reindex_version("catalogue", None, 5).unwrap();
    crate::support::put(&db, "catalogue", record("during"));
    crate::support::put(&db, "catalogue", json!({"kind": "note", "id": "n"}));
    assert_eq!((version(&db, "before"), version(&db, "during")), (None, Some(5)));
    let keys = ["before", "during"].map(|id| plain(json!({"pk": format!("record#{id}")})));
    let touched = db.touch(rows("catalogue", 5, keys.to_vec())).await.unwrap();
    assert_eq!(touched, [Touched::Raised, Touched::AlreadyThere]);
}

#[test]
fn the_version_in_force_is_durable_and_never_goes_down() {
    let world = World::new();
    let db = world.open();
    crate::support::apply(&db, CATALOGUE);
    db.set_reindex_version("catalogue", Some("record"), 5).unwrap();
    db.set_reindex_version("catalogue", Some("record"), 4).unwrap();
    crate::support::put(&db, "catalogue", record("a"));
    drop(db);
    let db = world.open();
    assert_eq!(db.reindex_version("catalogue", "record"), Some(5));
    crate::support::put(&db, "catalogue", record("b"));
    // Another version of the model, and of the table's reindex.
    crate::support::apply(&db, &CATALOGUE.replace("body = {", "text = {"));
    crate::support::put(&db, "catalogue", record("c"));
    db.set_reindex_version("catalogue", None, 3).unwrap();
    crate::support::put(&db, "catalogue", record("d"));
    db.set_reindex_version("catalogue", None, 9).unwrap();
    crate::support::put(&db, "catalogue", record("e"));
    let versions = ["a", "b", "c", "d", "e"].map(|id| version(&db, id));
    assert_eq!(versions, [Some(5), Some(5), Some(5), Some(5), Some(9)]);
}

#[test]
fn the_version_in_force_is_in_a_backup() {
    let world = World::new();
    let db = world.open();
    crate::support::apply(&db, CATALOGUE);
    db.set_reindex_version("catalogue", None, 5).unwrap();
    let mut archive = Vec::new();
    db.backup(&mut archive).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let restored = directory.path().join("restored");
    trestle_embedded::restore_directory(&mut archive.as_slice(), &restored, None).unwrap();
    let db = Embedded::open(&restored, Options::default()).unwrap();
    crate::support::put(&db, "catalogue", record("a"));
    assert_eq!(version(&db, "a"), Some(5));
}

#[test]
fn a_version_of_what_has_none_is_refused() {
    let db = World::new().open();
    crate::support::apply(&db, CATALOGUE);
    let refused = |table: &str, entity: Option<&str>| {
        let error = db.set_reindex_version(table, entity, 1).unwrap_err();
        error.message().to_owned()
    };
    assert!(refused("_trestle.routes", None).contains("belongs to Trestle"));
    assert!(refused("missing", None).contains("not found"));
    for entity in ["note", "missing"] {
        assert!(refused("catalogue", Some(entity)).contains("`reindex_version`"));
    }
}

/// Inserts race with the moment at which a version takes effect: each row is inserted before or after it.
#[test]
fn every_row_that_is_inserted_after_the_version_is_set_has_it() {
    let db = World::new().open();
    crate::support::apply(&db, CATALOGUE);
    let is_set = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let (db, is_set) = (&db, &is_set);
            scope.spawn(move || {
                let mut after = Vec::new();
                for at in 0..300 {
                    let id = format!("{writer}-{at}");
                    let must_have = is_set.load(std::sync::atomic::Ordering::SeqCst);
                    crate::support::put(db, "catalogue", record(&id));
                    after.extend(must_have.then_some(id));
                }
                after
            })
        });
        db.set_reindex_version("catalogue", None, 5).unwrap();
        is_set.store(true, std::sync::atomic::Ordering::SeqCst);
        for writer in writers {
            for id in writer.join().unwrap() {
                assert_eq!(version(&db, &id), Some(5), "{id}");
            }
        }
    });
}

#[tokio::test]
async fn while_rows_move_a_touch_finds_them_and_inserted_rows_get_the_version() {
    let db = World::new().open();
    crate::support::apply(&db, CATALOGUE);
    for id in ["a", "b"] {
        crate::support::put(&db, "catalogue", record(id));
    }
    db.set_reindex_version("catalogue", None, 5).unwrap();
    let paused = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    let moved = CATALOGUE.replace("record#{id}", "rec/{id}");
    let plan = db
        .models()
        .start_migration(&moved, paused, &mut Unwatched)
        .unwrap();
    assert!(!plan.is_refused(), "{plan}");
    let keys = ["rec/a", "record#b", "rec/gone"].map(|pk| plain(json!({"pk": pk})));
    let touch = rows("catalogue", 5, keys.to_vec());
    let touched = db.touch(touch.clone()).await.unwrap();
    assert_eq!(touched, [Touched::Raised, Touched::Raised, Touched::Gone]);
    crate::support::put(&db, "catalogue", record("c"));
    let mut told: Vec<_> = crate::support::rows(&db, "catalogue")
        .iter()
        .map(|row| {
            (
                row.get("pk").cloned().unwrap(),
                row.get("reindexVersion").cloned(),
            )
        })
        .collect();
    told.sort_by_key(|(pk, _)| pk.as_s().map(str::to_owned));
    let expected = ["rec/a", "rec/b", "rec/c"].map(|pk| (pk.into(), Some(5_i64.into())));
    assert_eq!(told, expected);
    let again = db.touch(touch).await.unwrap();
    assert_eq!(again[..2], [Touched::AlreadyThere, Touched::AlreadyThere]);
}
