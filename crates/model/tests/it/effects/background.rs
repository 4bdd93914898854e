//! Copies that follow in the background: a note is committed with the original, and the copies are updated
//! later.

use trestle_model::audit::AuditOptions;
use trestle_model::{Bound, COPIES_TABLE, CopyNote, CopyPage, Model};

use crate::database::{Database, Write, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.rows.index.by_author]
key = ["author", "sk"]
project = "keys"
[table.rows.index.by_name]
key = ["names", "pk"]
[entity.author]
table = "rows"
key = { pk = "author#{id}", sk = "author" }
attributes = { id = "string", name = "string", town = { type = "string", optional = true } }
[entity.book]
table = "rows"
key = { pk = "book#{title}", sk = "book", author = "{writer}", names = "{authorName}" }
attributes = { title = "string", writer = { type = "string", optional = true }, authorName = "string" }
[entity.book.copy.author]
from = "author"
with = { id = "writer" }
attributes = { name = "authorName" }
in_step = "books_of_author"
background = true
[access.books_of_author]
query = "by_author"
where = { writer = "{id}" }
returns = "book"
"##;

fn book(database: &Database) -> String {
    let row = database.row("rows", "title=b").unwrap();
    line(&row, &["pk", "sk", "kind", "author", "title", "writer"])
}

fn written() -> Database {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=author id=1 name=N").unwrap();
    database.put("rows", "kind=book title=b writer=1").unwrap();
    assert_eq!(database.followed, 0, "a row that nothing refers to needs no note");
    database
}

fn notes(database: &Database) -> Vec<CopyNote> {
    let rows = database.all(COPIES_TABLE);
    rows.map(|row| CopyNote::from_item(row).unwrap()).collect()
}

/// Brings the copies of one note in step, all in one page.
fn catch_up(database: &mut Database, note: &CopyNote) {
    let model = database.model().clone();
    let noted = model.noted_copies(note).unwrap();
    let (table, key) = noted.original().unwrap();
    assert_eq!(table, "rows");
    let original = trestle_hook::Rows::get(database, table, key).unwrap().unwrap();
    let finder = noted.finder(&original).unwrap().unwrap();
    assert!(matches!(finder, Bound::Query { index: Some(index), .. } if index == "by_author"));
    let all: Vec<_> = database.all("rows").cloned().collect();
    let keys = noted.keys(all.iter()).unwrap();
    let page = CopyPage {
        keys,
        stamp: note.stamp,
        layout: "1".to_owned(),
        next: None,
    };
    let companions = model.catch_up_page(note, page, database, database.now()).unwrap();
    database.store(companions);
}

#[test]
fn the_original_commits_with_a_note_and_the_copies_come_later() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "town=T", &[])
        .unwrap();
    assert_eq!(database.followed, 0, "what is not copied needs no note");
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    assert_eq!(
        (book(&database).as_str(), database.followed),
        ("authorName=N names=N", 1)
    );
    let found = database.findings(AuditOptions::default());
    assert_eq!((found.total(), found.to_copy), (0, 1));
    let first = notes(&database).remove(0);
    database
        .update("rows", "kind=author id=1", "name=Q", &[])
        .unwrap();
    let second = notes(&database).remove(0);
    assert!(second.stamp > first.stamp, "within the same millisecond");
    catch_up(&mut database, &first);
    assert_eq!(
        book(&database),
        "authorName=Q names=Q",
        "with the keys made of it"
    );
    let found = database.findings(AuditOptions::default());
    assert_eq!((found.total(), found.to_copy), (0, 0));
}

#[test]
fn without_a_note_an_old_copy_is_a_fault() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    database.rows.retain(|(table, _), _| table != COPIES_TABLE);
    assert_eq!(database.wrong(), ["copy book: authorName is the string \"N\""]);
}

#[test]
fn a_repair_does_not_wait_for_the_background() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    assert!(database.repair(&AuditOptions::default()).is_empty());
    assert_eq!(book(&database), "authorName=P names=P");
}

#[test]
fn a_row_that_is_written_takes_its_copy_at_once() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    database.update("rows", "title=b", "note=n", &[]).unwrap();
    assert_eq!(book(&database), "authorName=P names=P note=n");
    database
        .transact(&[
            Write::Put("rows", "kind=book title=b writer=1"),
            Write::Update("rows", "kind=author id=1", "name=R"),
        ])
        .unwrap();
    assert_eq!(book(&database), "authorName=R names=R");
}

#[test]
fn the_copies_of_an_original_that_is_gone_stay() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    database.delete("rows", "kind=author id=1").unwrap();
    let note = notes(&database).remove(0);
    let model = database.model().clone();
    let noted = model.noted_copies(&note).unwrap();
    let all: Vec<_> = database.all("rows").cloned().collect();
    let keys = noted.keys(all.iter()).unwrap();
    let written = model.catch_up(&note, keys, &database, database.now());
    assert!(written.unwrap().is_empty());
    database.put("rows", "kind=author id=1 name=S").unwrap();
    assert!(notes(&database).remove(0).stamp > note.stamp);
}

#[test]
fn a_note_of_a_copy_that_the_model_no_longer_has_means_nothing() {
    let mut database = written();
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    let note = notes(&database).remove(0);
    let load = |text: &str| -> Model { trestle_model::load(text).model.unwrap() };
    assert!(
        load(&MODEL.replace("background = true", ""))
            .noted_copies(&note)
            .is_some()
    );
    let once = MODEL.replace("in_step = \"books_of_author\"\nbackground = true", "");
    assert!(load(&once).noted_copies(&note).is_none());
    assert!(
        load(&MODEL.replace("copy.author", "copy.other"))
            .noted_copies(&note)
            .is_none()
    );
}

#[test]
fn an_access_pattern_says_which_copies_may_be_old() {
    let model = trestle_model::load(MODEL).model.unwrap();
    let explained = model.access("books_of_author").unwrap().explain().to_string();
    assert!(
        explained.contains("authorName of book follows author in the background: it may be old for a moment"),
        "{explained}"
    );
}
