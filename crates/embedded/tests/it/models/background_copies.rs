//! Background copies: without a limit, across restarts and migrations, and distinguished from faults
//! meanwhile.

use std::time::{Duration, Instant};

use crate::models::support::{Found, TestDb, empty, plain, text};
use serde_json::{Value, json};
use trestle_api::{BatchWriteItem, DeleteItem, PutRequest, Scan, WriteRequest};
use trestle_binding::ToDo;
use trestle_embedded::{RepairOptions, StartOptions, Unwatched, VerifyOptions, verify};
use trestle_item::Item;
use trestle_model::{COPIES_TABLE, CopyNote};

const MODEL: &str = r##"
model = "library"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.rows.index.by_author]
key = ["author", "sk"]
project = "keys"
[table.rows.index.by_name]
key = ["names", "pk"]
[table.rows.index.by_book]
key = ["of_book", "sk"]
[entity.author]
table = "rows"
key = { pk = "author#{id}", sk = "author" }
attributes = { id = "string", name = "string" }
[entity.book]
table = "rows"
key = { pk = "book#{title}", sk = "book#{title}", author = "{writer}", names = "{authorName}" }
attributes = { title = "string", writer = "string", authorName = "string" }
[entity.book.copy.author]
from = "author"
with = { id = "writer" }
attributes = { name = "authorName" }
in_step = "books_of_author"
background = true
[entity.review]
table = "rows"
key = { pk = "review#{number}", sk = "review", of_book = "{title}" }
attributes = { number = "string", title = "string", byName = "string" }
[entity.review.copy.book]
from = "book"
attributes = { authorName = "byName" }
in_step = "reviews_of_book"
background = true
[access.books_of_author]
query = "by_author"
where = { writer = "{id}" }
returns = "book"
[access.reviews_of_book]
query = "by_book"
where = { title = "{title}" }
returns = "review"
"##;

const PATIENCE: Duration = Duration::from_secs(120);

/// An author with so many books.
fn library(model: &str, books: usize) -> TestDb {
    let db = empty();
    db.apply(model);
    author(&db, "N");
    let all: Vec<Value> = (0..books).map(|number| book(&title(number))).collect();
    for some in all.chunks(25) {
        let requests = some.iter().map(|item| WriteRequest {
            put_request: Some(PutRequest {
                item: plain(item.clone()),
            }),
            delete_request: None,
        });
        db.run(BatchWriteItem {
            request_items: [("rows".to_owned(), requests.collect())].into(),
            ..BatchWriteItem::default()
        })
        .unwrap();
    }
    db
}

fn title(number: usize) -> String {
    format!("{number:05}")
}

fn book(title: &str) -> Value {
    json!({"kind": "book", "title": title, "writer": "1"})
}

fn author(db: &TestDb, name: &str) {
    let author = json!({"kind": "author", "id": "1", "name": name});
    db.put("rows", author).unwrap();
}

/// All rows of a table that have an attribute.
fn having(db: &TestDb, table: &str, attribute: &str) -> Vec<Item> {
    let (mut rows, mut start) = (Vec::new(), None);
    loop {
        let scan = Scan {
            table_name: table.to_owned(),
            exclusive_start_key: start,
            ..Scan::default()
        };
        let page = db.run(scan).unwrap();
        rows.extend(page.items.into_iter().flatten());
        start = page.last_evaluated_key;
        if start.is_none() {
            rows.retain(|row| row.contains_key(attribute));
            return rows;
        }
    }
}

/// How many books have this author's name, in their attribute and in the index key derived from it.
fn named(db: &TestDb, name: &str) -> usize {
    let books = having(db, "rows", "authorName").into_iter();
    books
        .filter(|row| text(row, "kind") == "book")
        .filter(|row| {
            assert_eq!(text(row, "names"), text(row, "authorName"));
            text(row, "authorName") == name
        })
        .count()
}

fn notes(db: &TestDb) -> Vec<CopyNote> {
    let rows = having(db, COPIES_TABLE, "stamp");
    rows.iter().map(|row| CopyNote::from_item(row).unwrap()).collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn work_off(db: &TestDb) {
    db.db().begin_work().unwrap();
    until("all notes are worked off", || notes(db).is_empty());
}

/// What is wrong, and how many copies are pending.
fn verified(db: &TestDb) -> (Vec<String>, u64) {
    let mut found = Found::default();
    let verified = verify(&mut db.view(), db.now(), VerifyOptions::default(), &mut found).unwrap();
    assert_eq!(verified.disagreements(), found.0.len() as u64);
    (found.0, to_do(db).rows_to_copy)
}

fn to_do(db: &TestDb) -> ToDo {
    let options = VerifyOptions::default();
    let verified = verify(&mut db.view(), db.now(), options, &mut Found::default()).unwrap();
    verified
        .models
        .first()
        .map(|model| model.to_do.clone())
        .unwrap_or_default()
}

#[test]
fn twenty_five_thousand_copies_follow_across_a_restart_and_a_second_change() {
    let db = library(MODEL, 25_000);
    let begun = Instant::now();
    author(&db, "P");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(named(&db, "N"), 25_000);
    assert_eq!(verified(&db), (Vec::new(), 25_000));

    db.db().begin_work().unwrap();
    until("the walk has begun", || {
        notes(&db).iter().any(|note| note.walk.is_some())
    });
    author(&db, "Q");
    let db = db.restarted();
    let note = notes(&db).remove(0);
    assert!(
        note.walk.is_some_and(|walk| walk.stamp < note.stamp),
        "a walk is under way"
    );
    let (wrong, to_do) = verified(&db);
    assert!(wrong.is_empty() && to_do > 0, "{to_do} {wrong:?}");

    work_off(&db);
    assert_eq!(named(&db, "Q"), 25_000);
    assert_eq!(verified(&db), (Vec::new(), 0));
}

#[test]
fn a_copy_that_is_written_meanwhile_is_the_newest_and_stays() {
    let db = library(MODEL, 3);
    author(&db, "P");
    db.put("rows", book(&title(1))).unwrap();
    assert_eq!((named(&db, "N"), named(&db, "P")), (2, 1));
    assert_eq!(verified(&db), (Vec::new(), 2));
    work_off(&db);
    assert_eq!(named(&db, "P"), 3);
}

#[test]
fn copies_of_copies_follow_in_turn() {
    let db = library(MODEL, 2);
    for number in ["1", "2"] {
        let review = json!({"kind": "review", "number": number, "title": title(1)});
        db.put("rows", review).unwrap();
    }
    author(&db, "P");
    work_off(&db);
    let reviews = having(&db, "rows", "byName");
    assert!(reviews.len() == 2 && reviews.iter().all(|row| text(row, "byName") == "P"));
    assert_eq!(verified(&db), (Vec::new(), 0));
}

#[test]
fn a_repair_does_not_wait_for_the_background() {
    let db = library(MODEL, 3);
    author(&db, "P");
    let report = db
        .db()
        .models()
        .repair(&RepairOptions::default(), &mut Unwatched)
        .unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((named(&db, "P"), verified(&db)), (3, (Vec::new(), 0)));
    work_off(&db);
}

#[test]
fn one_row_that_cannot_follow_does_not_hold_up_the_others() {
    let unique = "[entity.book.unique.place]\nkey = { pk = \"place#{authorName}#{shelf}\", sk = \"place\" }\n[entity.review]";
    let text = MODEL
        .replace(
            "authorName = \"string\"",
            "authorName = \"string\", shelf = \"string\"",
        )
        .replacen("[entity.review]", unique, 1);
    let db = empty();
    db.apply(&text);
    db.put("rows", json!({"kind": "author", "id": "1", "name": "N"}))
        .unwrap();
    db.put("rows", json!({"kind": "author", "id": "2", "name": "M"}))
        .unwrap();
    for (title, writer, shelf) in [("a", "1", "x"), ("b", "1", "y"), ("c", "1", "z"), ("d", "2", "y")] {
        let book = json!({"kind": "book", "title": title, "writer": writer, "shelf": shelf});
        db.put("rows", book).unwrap();
    }
    author(&db, "M");
    work_off(&db);
    assert_eq!((named(&db, "N"), named(&db, "M")), (1, 3));
    let (wrong, to_do) = verified(&db);
    assert_eq!((wrong.len(), to_do), (1, 0));
    assert!(
        wrong[0].contains("copy author of book") && wrong[0].contains("book#b"),
        "{wrong:?}"
    );
}

#[test]
fn the_copies_of_an_original_that_goes_stay_as_they_are() {
    let db = library(MODEL, 3);
    author(&db, "P");
    db.run(DeleteItem {
        table_name: "rows".to_owned(),
        key: plain(json!({"kind": "author", "id": "1"})),
        ..DeleteItem::default()
    })
    .unwrap();
    work_off(&db);
    assert_eq!((named(&db, "N"), verified(&db)), (3, (Vec::new(), 0)));
    author(&db, "S");
    until("the new original is followed", || notes(&db).is_empty());
    assert_eq!(named(&db, "S"), 3);
}

#[test]
fn another_version_works_off_what_is_noted_and_drops_what_it_does_not_have() {
    let db = library(MODEL, 3);
    author(&db, "P");
    let exact = MODEL.replace("background = true\n", "");
    db.apply(&exact);
    assert_eq!(verified(&db), (Vec::new(), 3), "nothing is to be filled in");
    work_off(&db);
    assert_eq!(named(&db, "P"), 3);

    let db = library(MODEL, 3);
    author(&db, "P");
    let once = MODEL.replace("in_step = \"books_of_author\"\nbackground = true\n", "");
    db.apply(&once);
    work_off(&db);
    assert_eq!(named(&db, "N"), 3);

    let db = library(MODEL, 3);
    author(&db, "P");
    db.db().models().remove("library").unwrap();
    work_off(&db);
    assert_eq!(named(&db, "N"), 3);
}

#[test]
fn copies_follow_while_rows_move_to_other_keys() {
    let db = library(MODEL, 250);
    author(&db, "P");
    let moved = MODEL.replace("pk = \"book#{title}\"", "pk = \"b#{title}\"");
    let options = StartOptions {
        paused: true,
        ..StartOptions::default()
    };
    db.db()
        .models()
        .start_migration(&moved, options, &mut Unwatched)
        .unwrap();
    assert_eq!(verified(&db), (Vec::new(), 250));
    assert_eq!(to_do(&db).rows_to_move, 250);
    work_off(&db);
    assert_eq!((named(&db, "P"), verified(&db)), (250, (Vec::new(), 0)));
    assert_eq!(to_do(&db).rows_to_move, 0, "a row that follows moves first");
}

/// Numbers that look random, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// One random write. Some are refused, such as a book without its author.
fn write_something(db: &TestDb, draw: &mut Draw) {
    let (id, title) = (draw.below(3).to_string(), draw.below(400).to_string());
    let delete = |key: Value| {
        db.run(DeleteItem {
            table_name: "rows".to_owned(),
            key: plain(key),
            ..DeleteItem::default()
        })
        .unwrap();
    };
    match draw.below(20) {
        0..3 => {
            let name = draw.below(1000).to_string();
            let author = json!({"kind": "author", "id": id, "name": name});
            db.put("rows", author).unwrap();
        }
        3 => delete(json!({"kind": "author", "id": id})),
        4..6 => delete(json!({"kind": "book", "title": title})),
        6..9 => {
            let review = json!({"kind": "review", "number": draw.below(50).to_string(), "title": title});
            let _ = db.put("rows", review);
        }
        _ => {
            let book = json!({"kind": "book", "title": title, "writer": id});
            let _ = db.put("rows", book);
        }
    }
}

#[test]
fn whatever_clients_write_meanwhile_everything_agrees_in_the_end() {
    let db = library(MODEL, 0);
    db.db().begin_work().unwrap();
    for round in 0..3 {
        std::thread::scope(|scope| {
            for client in 0..4 {
                let db = &db;
                scope.spawn(move || {
                    let mut draw = Draw(1000 * round + client);
                    for _ in 0..500 {
                        write_something(db, &mut draw);
                    }
                });
            }
        });
        let (wrong, _) = verified(&db);
        assert_eq!(wrong, Vec::<String>::new(), "while copies follow");
        until("all notes are worked off", || notes(&db).is_empty());
        assert_eq!(verified(&db), (Vec::new(), 0));
    }
}

#[test]
fn exact_copies_follow_in_one_commit_up_to_ten_thousand() {
    let exact = MODEL.replace("background = true\n", "");
    let db = library(&exact, 10_000);
    author(&db, "P");
    assert_eq!(named(&db, "P"), 10_000);
    db.put("rows", book(&title(10_000))).unwrap();
    let author = json!({"kind": "author", "id": "1", "name": "Q"});
    let refused = db.put("rows", author).unwrap_err();
    assert_eq!(
        refused.message(),
        "Entity author: copy author of 10001 rows of entity book would follow the row with id \"1\" in one commit, and \
         10000 are the most; declare the copy with background = true"
    );
    assert_eq!(named(&db, "P"), 10_001, "nothing of it is left behind");
}

#[test]
fn background_without_in_step_is_an_error() {
    let db = empty();
    let text = MODEL.replace("in_step = \"books_of_author\"\n", "");
    let refused = db.db().models().apply(&text, Default::default(), &mut Unwatched);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("nothing finds the copies")
    );
}

/// Changes the author's name after each group of repairs.
struct Renames<'d> {
    db: &'d TestDb,
    audits: u32,
}

impl trestle_embedded::Watcher for Renames<'_> {
    fn step(&mut self, _: &trestle_binding::Step) {}

    fn rows(&mut self, doing: &'static str, _: &str, _: u64) {
        match doing {
            "checking rows" => self.audits += 1,
            _ => author(self.db, &format!("N{}", self.audits)),
        }
    }
}

#[test]
fn a_repair_ends_although_clients_go_on_changing_originals() {
    let db = library(MODEL, 3);
    author(&db, "M");
    let mut renames = Renames { db: &db, audits: 0 };
    let report = db.db().models().repair(&RepairOptions::default(), &mut renames);
    assert!(report.unwrap().is_clean());
    assert!(renames.audits < 10, "{} audits", renames.audits);
    work_off(&db);
    assert_eq!(verified(&db), (Vec::new(), 0));
}
