//! What a client may write to rows that the database keeps.

use crate::database::{Database, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:04}" }
[entity.doc.attributes]
name = "string"
version = "integer"
rank = { type = "integer", optional = true }
body = "string"
state = { type = "string", optional = true }
[entity.doc.head]
key.sk = "head"
newest_by = "rank"
promote = { set = { state = "live" } }
demote = { set = { state = "old" } }
[entity.doc.unique.body]
key = { pk = "body#{body}", sk = "body" }
"##;

const HEAD: &str = "pk=doc#a sk=head";

fn database() -> Database {
    let mut database = Database::new(MODEL);
    for version in 1..=3 {
        let doc = format!("kind=doc name=a version:={version} rank:={version}0 body=b{version}");
        database.put("rows", &doc).unwrap();
    }
    database
}

fn live(database: &Database) -> String {
    let head = database.row("rows", HEAD).map(|head| head.get("body").cloned());
    let live = database
        .all("rows")
        .filter(|row| row.get("state") == Some(&"live".into()) && row.get("sk") != Some(&"head".into()));
    let live: Vec<_> = live.map(|row| row.get("body").cloned()).collect();
    assert_eq!(
        live,
        Vec::from_iter(head.clone()),
        "one is live, and the head is it"
    );
    head.flatten()
        .and_then(|body| body.as_s().map(str::to_owned))
        .unwrap_or_default()
}

#[test]
fn a_head_is_pointed_by_what_identifies_a_row_or_by_its_rank() {
    for (put, expected) in [
        ("version:=1", "b1"),
        ("rank:=20", "b2"),
        ("version:=2 rank:=20", "b2"),
        (
            "version:=1 rank:=10 body=b1 state=live kind=doc.head name=a",
            "b1",
        ),
        ("version:=3", "b3"),
    ] {
        let mut database = database();
        database.put("rows", &format!("{HEAD} {put}")).unwrap();
        assert_eq!(live(&database), expected, "put {put}");
    }
    for (update, expected) in [
        ("version:=1", "b1"),
        ("rank:=20", "b2"),
        ("rank:=30", "b3"),
        ("", "b3"),
    ] {
        let mut database = database();
        database.update("rows", HEAD, update, &[]).unwrap();
        assert_eq!(live(&database), expected, "update {update}");
    }
}

#[test]
fn a_head_is_written_in_no_other_way() {
    for (update, says) in [
        (
            "version:=7",
            "pointed at an existing row of entity doc, and there is none such: version is the number 7",
        ),
        ("rank:=7", "rank is the number 7"),
        (
            "body=x",
            "body is not what the row of entity doc has; write it there instead",
        ),
        ("version:=1 body=x", "body is not what the row of entity doc has"),
        ("more=x", "more is not what"),
    ] {
        let mut database = database();
        let before = database.rows.clone();
        let refused = database.update("rows", HEAD, update, &[]).unwrap_err();
        assert!(refused.contains(says), "{update}: {refused}");
        assert_eq!(database.rows, before);
    }
    let mut database = database();
    let refused = database.delete("rows", HEAD).unwrap_err();
    assert!(
        refused.contains("goes with the last row of entity doc"),
        "{refused}"
    );
    let refused = database.put("rows", "pk=doc#z sk=head version:=1").unwrap_err();
    assert!(refused.contains("version is the number 1"), "{refused}");
    let refused = database.put("rows", "pk=doc#z sk=head").unwrap_err();
    assert!(refused.contains("version is missing"), "{refused}");
}

#[test]
fn a_head_whose_row_is_gone_may_go() {
    let mut database = database();
    database
        .rows
        .retain(|_, row| row.get("sk") == Some(&"head".into()));
    database.delete("rows", HEAD).unwrap();
    assert!(database.rows.is_empty());
    database.delete("rows", HEAD).unwrap();
}

#[test]
fn a_head_from_before_the_model_gives_way() {
    let mut database = Database::new(MODEL);
    let place = ("rows".to_owned(), "S(\"doc#a\") S(\"head\")".to_owned());
    database.rows.insert(place, crate::database::item(HEAD));
    database
        .put("rows", "kind=doc name=a version:=1 rank:=1 body=b1")
        .unwrap();
    assert_eq!(live(&database), "b1");
}

#[test]
fn what_keeps_a_value_unique_is_not_for_clients() {
    let mut database = database();
    let key = "pk=body#b1 sk=body";
    for (result, what) in [
        (
            database.put("rows", "pk=body#b9 sk=body name=a version:=1 body=b9"),
            "put",
        ),
        (database.update("rows", key, "version:=2", &[]), "update"),
        (database.delete("rows", key), "delete"),
    ] {
        let refused = result.unwrap_err();
        assert!(
            refused.contains(
                "entity doc.unique.body are kept by the database; write those of entity doc instead"
            ),
            "{what}: {refused}"
        );
    }
    database.update("rows", key, "", &[]).unwrap();
    // A unique row whose owner is gone can be removed.
    database
        .rows
        .retain(|_, row| row.get("kind") == Some(&"doc.unique.body".into()));
    database.delete("rows", key).unwrap();
}

const CREATED: &str = r##"
model = "m"
[table.rows]
key = ["pk"]
[entity.note]
table = "rows"
key.pk = "note#{id}"
created = "since"
attributes = { id = "string", since = "timestamp", text = { type = "string", optional = true } }
[table.others]
key = ["pk"]
[entity.page]
table = "others"
key.pk = "page#{id}"
created = "since"
attributes = { id = "string", since = "timestamp", email = { type = "string", optional = true } }
[entity.page.unique.email]
key.pk = "email#{email}"
"##;

/// With effects and without.
#[test]
fn the_time_of_the_first_write_may_be_given_once() {
    for table in ["rows", "others"] {
        let entity = if table == "rows" { "note" } else { "page" };
        let mut database = Database::new(CREATED);
        let since = |database: &Database| line(&database.row(table, "id=a").unwrap(), &["pk", "id"]);
        database
            .put(table, "id=a since=2001-01-01T00:00:00.000Z")
            .unwrap();
        assert_eq!(since(&database), "since=2001-01-01T00:00:00.000Z");
        database.put(table, "id=a").unwrap();
        database
            .put(table, "id=a since=2001-01-01T00:00:00.000Z")
            .unwrap();
        database.update(table, "id=a", "", &["since"]).unwrap();
        assert_eq!(since(&database), "since=2001-01-01T00:00:00.000Z");
        let refused = database
            .put(table, "id=a since=2002-01-01T00:00:00.000Z")
            .unwrap_err();
        assert_eq!(
            refused,
            format!(
                "Entity {entity}: attribute since is the time of the row's first write; it is the string \
                 \"2001-01-01T00:00:00.000Z\", and was given as the string \"2002-01-01T00:00:00.000Z\"; leave it out"
            )
        );
    }
}
