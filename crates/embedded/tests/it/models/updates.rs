//! Derived keys during concurrent updates of the same rows: no update is lost, and an index never shows a row
//! at a place that contradicts its attributes.

use crate::models::support::{SHOP, TestDb, empty, plain, text};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use trestle_api::UpdateItem;
use trestle_item::AttributeValue;

const WRITERS: i64 = 8;
const UPDATES: i64 = 40;
const ORDERS: i64 = 3;

fn set_status(models: &TestDb, number: i64, status: &str) {
    let update = UpdateItem {
        table_name: "shop".to_owned(),
        key: plain(json!({"customer": "ann", "number": number})),
        update_expression: Some("SET #s = :s ADD edits :one".to_owned()),
        expression_attribute_names: Some([("#s".to_owned(), "status".to_owned())].into()),
        expression_attribute_values: Some(plain(json!({":s": status, ":one": 1}))),
        ..UpdateItem::default()
    };
    models.run(update).unwrap();
}

/// Reads until `done`, and counts how often.
fn look(models: &TestDb, done: &AtomicBool) -> u64 {
    let mut looks = 0;
    while !done.load(Ordering::Relaxed) || looks == 0 {
        for status in ["open", "paid"] {
            for row in models.partition("shop", "by_status", "status_key", &format!("{status}#ann")) {
                assert_eq!(text(&row, "status"), status, "{row:?}");
            }
        }
        looks += 1;
    }
    looks
}

#[test]
fn among_many_writers_no_update_is_lost_and_the_index_always_fits() {
    let models = empty();
    models.apply(SHOP);
    for number in 0..ORDERS {
        let order = json!({"customer": "ann", "number": number, "placed": "2026-11-15T10:00:00.000Z"});
        models.put("shop", order).unwrap();
    }
    let (models, done) = (&models, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || look(models, done));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for update in 0..UPDATES {
                        let status = if (writer + update) % 2 == 0 {
                            "paid"
                        } else {
                            "open"
                        };
                        set_status(models, (writer + update) % ORDERS, status);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    let rows = models.rows("shop");
    let edits = rows
        .iter()
        .filter_map(|row| row.get("edits")?.as_n()?.to_string().parse::<i64>().ok());
    assert_eq!(edits.sum::<i64>(), WRITERS * UPDATES);
    let mut indexed = 0;
    for status in ["open", "paid"] {
        let there = models.partition("shop", "by_status", "status_key", &format!("{status}#ann"));
        indexed += there.len();
        for row in there {
            assert!(rows.contains(&row), "the index has what the table has");
            assert_eq!(row.get("status"), Some(&AttributeValue::from(status)));
        }
    }
    assert_eq!(indexed, rows.len(), "each row is in the index once");
}
