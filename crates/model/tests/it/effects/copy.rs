//! `copy`: attributes of another row, once or in step.

use crate::database::{Database, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.rows.index.by_author]
key = ["author", "sk"]
project = "keys"
[entity.author]
table = "rows"
key = { pk = "author#{id}", sk = "author" }
attributes = { id = "string", name = "string", town = { type = "string", optional = true } }
[entity.book]
table = "rows"
key = { pk = "book#{title}", sk = "book", author = "{writer}" }
attributes = { title = "string", writer = { type = "string", optional = true }, authorName = "string", town = { type = "string", optional = true } }
[entity.book.copy.author]
from = "author"
with = { id = "writer" }
attributes = { name = "authorName", town = "town" }
in_step = "books_of_author"
[access.books_of_author]
query = "by_author"
where = { writer = "{id}" }
returns = "book"
"##;

fn book(database: &Database) -> String {
    let row = database.row("rows", "title=b").unwrap();
    line(&row, &["pk", "sk", "kind", "author", "title"])
}

fn written(text: &str) -> Database {
    let mut database = Database::new(text);
    database.put("rows", "kind=author id=1 name=N town=T").unwrap();
    database.put("rows", "kind=author id=2 name=M").unwrap();
    database.put("rows", "kind=book title=b writer=1").unwrap();
    assert_eq!(book(&database), "authorName=N town=T writer=1");
    database
}

#[test]
fn a_copy_in_step_follows_its_original() {
    let mut database = written(MODEL);
    database
        .update("rows", "kind=author id=1", "name=P", &["town"])
        .unwrap();
    assert_eq!(
        (book(&database).as_str(), database.followed),
        ("authorName=P writer=1", 1)
    );
    database
        .update("rows", "kind=author id=2", "name=Q", &[])
        .unwrap();
    assert_eq!(database.followed, 0);
    database.update("rows", "title=b", "writer=2", &[]).unwrap();
    assert_eq!(book(&database), "authorName=Q writer=2");
    database
        .put("rows", "kind=book title=b writer=2 authorName=Q")
        .unwrap();
    assert_eq!(book(&database), "authorName=Q writer=2");
    // The original is removed, its copies stay, also when they are written.
    database.delete("rows", "kind=author id=2").unwrap();
    database.put("rows", "kind=book title=b writer=2 note=n").unwrap();
    assert_eq!(book(&database), "authorName=Q note=n writer=2");
    database.put("rows", "kind=author id=2 name=R").unwrap();
    assert_eq!(book(&database), "authorName=R note=n writer=2");
}

#[test]
fn a_copy_that_follows_nothing_cannot_be_changed_elsewhere() {
    let mut once = written(&MODEL.replace("in_step = \"books_of_author\"", ""));
    let mut alone = written(MODEL);
    alone.delete("rows", "kind=author id=1").unwrap();
    for (database, why) in [
        (&mut once, "and keeps the value of the first write"),
        (&mut alone, "which is not there"),
    ] {
        let refused = database
            .update("rows", "title=b", "authorName=Z", &[])
            .unwrap_err();
        let text = format!(
            "Entity book: attribute authorName is copied from attribute name of the row of entity author with id \"1\", \
             {why}; it is the string \"N\", and was given as the string \"Z\"; leave it out"
        );
        assert_eq!(refused, text);
    }
}

#[test]
fn a_copy_is_kept_as_it_was() {
    let mut database = written(&MODEL.replace("in_step = \"books_of_author\"", ""));
    database
        .update("rows", "kind=author id=1", "name=P", &[])
        .unwrap();
    assert_eq!(database.followed, 0);
    database.put("rows", "kind=book title=b writer=1").unwrap();
    assert_eq!(book(&database), "authorName=N town=T writer=1");
    let refused = database
        .put("rows", "kind=book title=b writer=1 authorName=P")
        .unwrap_err();
    assert!(
        refused.contains("it is the string \"N\", and was given as the string \"P\""),
        "{refused}"
    );
    database.put("rows", "kind=book title=b writer=2").unwrap();
    assert_eq!(
        book(&database),
        "authorName=M writer=2",
        "of another original, it is another copy"
    );
}

#[test]
fn a_missing_original_is_refused_unless_a_row_can_do_without() {
    let mut database = Database::new(MODEL);
    let refused = database.put("rows", "kind=book title=b writer=9").unwrap_err();
    assert_eq!(
        refused,
        "Entity book: copy author finds no row of entity author with id \"9\"; write that row first, or in the same \
         transaction"
    );
    let text = MODEL.replace(
        "authorName = \"string\"",
        "authorName = { type = \"string\", optional = true }",
    );
    let mut database = Database::new(&text);
    let refused = database
        .put("rows", "kind=book title=b writer=9 authorName=mine")
        .unwrap_err();
    assert!(
        refused.contains("it is missing, and was given as the string \"mine\""),
        "{refused}"
    );
    database.put("rows", "kind=book title=b writer=9").unwrap();
    assert_eq!(book(&database), "writer=9");
    database.put("rows", "kind=author id=9 name=N").unwrap();
    assert_eq!(book(&database), "authorName=N writer=9");
}

#[test]
fn another_value_than_the_original_has_is_refused() {
    let mut database = written(MODEL);
    let text = "Entity book: attribute authorName is copied from attribute name of the row of entity author with id \"1\"; \
                it is the string \"N\", and was given as the string \"mine\"; leave it out, or change it there";
    let before = database.rows.clone();
    let put = database.put("rows", "kind=book title=b writer=1 authorName=mine");
    assert_eq!(put, Err(text.to_owned()));
    let update = database.update("rows", "title=b", "authorName=mine", &[]);
    assert_eq!(update, Err(text.to_owned()));
    let new = database.put("rows", "kind=book title=c writer=1 authorName=mine");
    assert_eq!(new, Err(text.to_owned()));
    assert_eq!(database.rows, before);
    database
        .update("rows", "title=b", "note=n", &["authorName"])
        .unwrap();
    assert_eq!(book(&database), "authorName=N note=n town=T writer=1");
}
