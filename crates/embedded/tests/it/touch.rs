//! Touches on an open database: what a reindex does to rows.

use std::future::Future;
use std::time::Instant;

use serde_json::json;
use trestle_api::{
    AttributeDefinition, BatchWriteItem, BillingMode, CreateTable, KeySchemaElement, KeyType, PutRequest,
    StreamSpecification, StreamViewType, TouchRows, Touched, WriteRequest,
};
use trestle_embedded::{Embedded, Options};
use trestle_item::{Item, ScalarType};

use crate::support::{World, plain};

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
    db.run(table("T")).unwrap();
    crate::support::put(&db, "T", json!({"id": "a"}));
    let key = || vec![plain(json!({"id": "a"}))];
    drop(db.touch(rows("T", 4, key())));
    let again = db.touch(rows("T", 4, key())).await.unwrap();
    assert_eq!(again, [Touched::AlreadyThere]);
}

/// Prints how many rows a second are touched on disk, with a stream, by so many calls at once. In release:
/// `cargo test --release -p trestle-embedded --test it touch_rate -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn touch_rate_on_disk() {
    const ROWS: usize = 300_000;
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    db.run(table("T")).unwrap();
    fill(&db, ROWS);
    let keys: Vec<Item> = (0..ROWS).map(key).collect();
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
            under_way.push_back(Box::pin(db.touch(rows("T", version, page.to_vec()))));
        }
        while !under_way.is_empty() {
            wait(under_way.pop_front());
        }
        let rate = ROWS as f64 / begun.elapsed().as_secs_f64();
        println!("{rows_at_once} rows a call, {calls} calls at once: {rate:.0} rows a second");
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

/// Rows as a catalogue has them: an id, a version and where the payload lies.
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
            request_items: [("T".to_owned(), requests.collect())].into(),
            ..BatchWriteItem::default()
        })
        .unwrap();
    }
}
