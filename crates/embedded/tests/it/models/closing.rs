//! Closing a database does not wait for work that the next start continues.

use crate::models::support::{FILL, TestDb, empty, plain};
use serde_json::json;
use std::time::{Duration, Instant};
use trestle_api::{BatchWriteItem, PutRequest, WriteRequest};
use trestle_binding::Step;
use trestle_embedded::Watcher;

const ROWS: u64 = 10_000;
const MODEL: &str = r##"
model = "people"
[table.people]
key = ["pk"]
entity_attribute = "kind"
[entity.person]
table = "people"
key = { pk = "person#{id}" }
attributes = { id = "string", email = "string" }
"##;
const UNIQUE: &str = "[entity.person.unique.email]\nkey.pk = \"email#{email}\"\n";

/// Stops the work when the fill begins.
#[derive(Default)]
struct StopsAtFill(bool);

impl Watcher for StopsAtFill {
    fn step(&mut self, step: &Step) {
        self.0 |= matches!(step, Step::FillIn { .. });
    }

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}

    fn stops(&self) -> bool {
        self.0
    }
}

/// People without the rows of their unique addresses, which a fill must add.
fn people() -> TestDb {
    let db = empty();
    db.apply(MODEL);
    let numbers: Vec<u64> = (0..ROWS).collect();
    for some in numbers.chunks(25) {
        let requests = some.iter().map(|number| WriteRequest {
            put_request: Some(PutRequest {
                item: plain(json!({"id": number.to_string(), "email": format!("{number}@example.org")})),
            }),
            delete_request: None,
        });
        db.run(BatchWriteItem {
            request_items: [("people".to_owned(), requests.collect())].into(),
            ..BatchWriteItem::default()
        })
        .unwrap();
    }
    let unique = format!("{MODEL}{UNIQUE}");
    let stopped = db.db().models().apply(&unique, FILL, &mut StopsAtFill::default());
    assert!(stopped.is_err());
    assert!(!is_filled_in(&db));
    db
}

fn is_filled_in(db: &TestDb) -> bool {
    db.db().models().list().iter().all(|model| model.filled_in)
}

fn count(db: &TestDb) -> u64 {
    db.view().row_count("people")
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_close_does_not_wait_until_rows_are_filled_in_and_the_next_start_goes_on() {
    let db = people();
    let before = count(&db);
    db.db().begin_work().unwrap();
    let db = db.restarted();
    assert!(!is_filled_in(&db), "closed before it began");

    db.db().begin_work().unwrap();
    until("the fill has begun", || count(&db) > before);
    let db = db.restarted();
    assert!(!is_filled_in(&db), "closed in the middle of it");
    assert!(count(&db) < before + ROWS);

    db.db().begin_work().unwrap();
    until("all rows are filled in", || is_filled_in(&db));
    assert_eq!(count(&db), ROWS * 2);
}
