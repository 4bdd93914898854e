//! Counts and sizes are exact, and an index made under live writes ends up complete.

use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::{DeleteItem, DeleteTable};
use trestle_engine::{Engine, Options};
use trestle_item::Item;
use trestle_store::Space;

use crate::oracle::{counted, only};
use crate::support::{
    Fixture, add_index, describe, n, number, put, rounds, s, scan, scan_all, sorted, table, transact_put,
    update,
};

/// Writes random changes to the partition `own` until told to stop.
fn churn(engine: &Engine, own: i64, seed: u64, stop: &AtomicBool) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !stop.load(Ordering::Relaxed) {
        let key = Item::from([("pk", n(own)), ("sk", n(rng.i64(0..200)))]);
        let mut item = key.clone();
        item.insert("text", s("x".repeat(rng.usize(..50))));
        if rng.bool() {
            item.insert("g", n(rng.i64(0..5)));
        }
        match rng.u32(..5) {
            0 => {
                let delete = DeleteItem {
                    table_name: "T".into(),
                    key,
                    ..DeleteItem::default()
                };
                engine.run(delete).unwrap();
            }
            1 => {
                let values = Item::from([(":g", n(rng.i64(0..5)))]);
                engine.run(update("T", key, "SET g = :g", values)).unwrap();
            }
            2 => {
                engine.run(update("T", key, "REMOVE g", Item::new())).unwrap();
            }
            3 => {
                let request = trestle_api::TransactWriteItems {
                    transact_items: vec![transact_put("T", item)],
                    ..trestle_api::TransactWriteItems::default()
                };
                engine.run(request).unwrap();
            }
            _ => {
                engine.run(put("T", item)).unwrap();
            }
        }
    }
}

/// What the index must hold, worked out from the table.
fn expected_rows(fixture: &Fixture) -> (Vec<Item>, Vec<Item>) {
    let (items, _) = scan_all(&fixture.engine, scan("T", None));
    let names: Vec<String> = ["pk", "sk", "g"].map(str::to_owned).to_vec();
    let rows = items
        .iter()
        .filter(|item| item.contains_key("g"))
        .map(|item| only(item, &names))
        .collect();
    (items, rows)
}

fn assert_exact(fixture: &Fixture) {
    let (items, rows) = expected_rows(fixture);
    let (found, _) = scan_all(&fixture.engine, scan("T", Some("late")));
    assert_eq!(
        sorted(found),
        sorted(rows.clone()),
        "the index holds what the table implies"
    );
    let described = describe(&fixture.engine, "T");
    assert_eq!(
        (described.item_count, described.table_size_bytes),
        counted(items.iter())
    );
    let index = described.global_secondary_indexes.unwrap().remove(0);
    assert_eq!((index.item_count, index.index_size_bytes), counted(rows.iter()));
}

fn grows_under_live_writes(mut fixture: Fixture, seed: u64) {
    fixture.engine.run(table("T", "pk:N | sk:N", &[], &[])).unwrap();
    // More than one piece of the backfill.
    for pk in 0..3 {
        for sk in 0..300 {
            let item = Item::from([("pk", n(pk)), ("sk", n(sk)), ("g", n(sk % 5))]);
            fixture.engine.run(put("T", item)).unwrap();
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for own in 0..3 {
            let (engine, stop) = (&fixture.engine, &stop);
            scope.spawn(move || churn(engine, own, seed + own as u64, stop));
        }
        fixture
            .engine
            .run(add_index("T", "late", "g:N | sk:N", "KEYS_ONLY"))
            .unwrap();
        fixture.until_active("T");
        stop.store(true, Ordering::Relaxed);
    });
    assert_exact(&fixture);
    fixture = fixture.reopen();
    assert_exact(&fixture);
}

#[test]
fn an_index_made_under_live_writes_is_complete_and_counted_exactly() {
    rounds(3, |rng| {
        grows_under_live_writes(Fixture::new(), rng.u64(..1 << 40))
    });
}

#[test]
fn an_index_made_under_live_writes_on_disk_is_complete_and_counted_exactly() {
    rounds(1, |rng| {
        grows_under_live_writes(Fixture::on_disk(Options::default()), rng.u64(..1 << 40));
    });
}

#[test]
fn a_backfill_that_is_interrupted_goes_on_after_opening() {
    let mut fixture = Fixture::on_disk(Options::default());
    fixture.engine.run(table("T", "pk:N | sk:N", &[], &[])).unwrap();
    for sk in 0..1500 {
        let item = Item::from([("pk", n(sk % 11)), ("sk", n(sk)), ("g", n(sk % 5))]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    fixture
        .engine
        .run(add_index("T", "late", "g:N | sk:N", "KEYS_ONLY"))
        .unwrap();
    // Close repeatedly, wherever the walk is.
    for sk in 0..4 {
        fixture = fixture.reopen();
        let item = Item::from([("pk", n(sk)), ("sk", n(sk)), ("changed", n(1))]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    fixture.until_active("T");
    assert_exact(&fixture);
}

/// An attribute that was not a key when it was written can have a value that no index accepts.
#[test]
fn a_backfill_leaves_out_what_the_index_cannot_hold() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:N | sk:N", &[], &[])).unwrap();
    let values = [
        s(""),
        s("x".repeat(2049)),
        s("x".repeat(100_000)),
        n(1),
        trestle_item::AttributeValue::Null,
        s("good"),
    ];
    for (sk, value) in values.into_iter().enumerate() {
        let item = Item::from([("pk", n(0)), ("sk", n(sk as i64)), ("g", value)]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    fixture
        .engine
        .run(add_index("T", "late", "g:S | sk:N", "KEYS_ONLY"))
        .unwrap();
    fixture.until_active("T");
    let (found, _) = scan_all(&fixture.engine, scan("T", Some("late")));
    assert_eq!(found.len(), 1);
    assert_eq!(number(&found[0], "sk"), 5);
    for sk in 0..6 {
        let delete = DeleteItem {
            table_name: "T".into(),
            key: Item::from([("pk", n(0)), ("sk", n(sk))]),
            ..DeleteItem::default()
        };
        fixture.engine.run(delete).unwrap();
    }
    let described = describe(&fixture.engine, "T");
    let index = described.global_secondary_indexes.unwrap().remove(0);
    assert_eq!((index.item_count, index.index_size_bytes), (0, 0));
    assert!(fixture.rows(Space::Index).is_empty());
}

#[test]
fn counts_go_back_to_zero() {
    let fixture = Fixture::new();
    let create = table("T", "pk:N | sk:N", &[], &[("late", "g:N", "KEYS_ONLY")]);
    fixture.engine.run(create).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (engine, stop) = (&fixture.engine, &stop);
        scope.spawn(move || churn(engine, 0, 1, stop));
        std::thread::sleep(std::time::Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
    });
    assert_exact(&fixture);
    for item in scan_all(&fixture.engine, scan("T", None)).0 {
        let delete = DeleteItem {
            table_name: "T".into(),
            key: only(&item, &["pk".to_owned(), "sk".to_owned()]),
            ..DeleteItem::default()
        };
        fixture.engine.run(delete).unwrap();
    }
    let described = describe(&fixture.engine, "T");
    assert_eq!((described.item_count, described.table_size_bytes), (0, 0));
    fixture
        .engine
        .run(DeleteTable {
            table_name: "T".into(),
        })
        .unwrap();
}
