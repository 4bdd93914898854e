//! `inverse`: both directions of a relation agree.

use crate::database::{Database, line};

/// Each side keeps the other.
const BOTH: &str = r##"
model = "m"
[table.persons]
key = ["id"]
[table.groups]
key = ["id"]
[entity.person]
table = "persons"
attributes = { id = "string", groups = { type = "string-set", optional = true }, name = { type = "string", optional = true } }
[entity.person.inverse.members]
entity = "group"
of = "groups"
set = "members"
[entity.group]
table = "groups"
attributes = { id = "string", members = { type = "string-set", optional = true }, title = { type = "string", optional = true } }
[entity.group.inverse.groups]
entity = "person"
of = "members"
set = "groups"
"##;

/// One row for each row.
const ROWS: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.follows]
table = "rows"
key = { pk = "from#{from}", sk = "to#{to}" }
attributes = { from = "string", to = "string", since = { type = "string", optional = true }, note = { type = "string", optional = true } }
[entity.follows.inverse.follower]
entity = "follower"
with = { whom = "to", who = "from", since = "since" }
[entity.follower]
table = "rows"
key = { pk = "whom#{whom}", sk = "who#{who}" }
attributes = { whom = "string", who = "string", since = { type = "string", optional = true }, seen = { type = "boolean", optional = true } }
"##;

fn rows(database: &Database, table: &str) -> String {
    let rows: Vec<String> = database
        .all(table)
        .map(|row| line(row, &["pk", "sk", "kind"]))
        .collect();
    rows.join(" | ")
}

#[test]
fn two_entities_that_keep_each_other_end() {
    let mut database = Database::new(BOTH);
    database.put("persons", "id=p groups@=g,h").unwrap();
    assert_eq!(rows(&database, "groups"), "id=g members@=p | id=h members@=p");
    database.put("groups", "id=g members@=p,q title=t").unwrap();
    assert_eq!(rows(&database, "persons"), "groups@=g,h id=p | groups@=g id=q");
    database.put("groups", "id=g title=t").unwrap();
    assert_eq!(rows(&database, "persons"), "groups@=h id=p | id=q");
    assert_eq!(rows(&database, "groups"), "id=g title=t | id=h members@=p");
    database.delete("persons", "id=p").unwrap();
    assert_eq!(rows(&database, "groups"), "id=g title=t | id=h");
}

#[test]
fn a_row_that_refers_to_itself_is_one_row() {
    let mut database = Database::new(
        r##"
model = "m"
[table.persons]
key = ["id"]
[entity.node]
table = "persons"
attributes = { id = "string", up = { type = "string", optional = true }, down = { type = "string-set", optional = true } }
[entity.node.inverse.down]
entity = "node"
of = "up"
set = "down"
"##,
    );
    database.put("persons", "id=n up=n").unwrap();
    assert_eq!(
        (rows(&database, "persons").as_str(), database.followed),
        ("down@=n id=n up=n", 0)
    );
    database.put("persons", "id=m up=n").unwrap();
    database.update("persons", "id=n", "", &["up"]).unwrap();
    assert_eq!(rows(&database, "persons"), "id=m up=n | down@=m id=n");
    database.update("persons", "id=m", "up=k", &[]).unwrap();
    assert_eq!(rows(&database, "persons"), "down@=m id=k | id=m up=k | id=n");
}

#[test]
fn a_row_for_each_row_comes_changes_and_goes() {
    let mut database = Database::new(ROWS);
    database
        .put("rows", "kind=follows from=x to=y since=1 note=n")
        .unwrap();
    assert_eq!(
        rows(&database, "rows"),
        "from=x note=n since=1 to=y | since=1 who=x whom=y"
    );
    database
        .update("rows", "whom=y who=x", "seen?=true", &[])
        .unwrap();
    database.update("rows", "from=x to=y", "since=2", &[]).unwrap();
    assert_eq!(
        rows(&database, "rows"),
        "from=x note=n since=2 to=y | seen?=true since=2 who=x whom=y"
    );
    database.update("rows", "from=x to=y", "", &["since"]).unwrap();
    assert_eq!(
        rows(&database, "rows"),
        "from=x note=n to=y | seen?=true who=x whom=y"
    );
    database.delete("rows", "from=x to=y").unwrap();
    assert!(database.rows.is_empty());
}

/// Only one side declares the relation; a child has one parent.
const TREE: &str = r##"
model = "m"
[table.nodes]
key = ["id"]
[entity.node]
table = "nodes"
attributes = { id = "string", up = { type = "string", optional = true }, down = { type = "string-set", optional = true } }
[entity.node.inverse.down]
entity = "node"
of = "up"
set = "down"
"##;

#[test]
fn the_side_that_declares_nothing_keeps_the_relation_as_well() {
    let mut database = Database::new(TREE);
    database.put("nodes", "id=a down@=x,y").unwrap();
    assert_eq!(rows(&database, "nodes"), "down@=x,y id=a | id=x up=a | id=y up=a");
    database.put("nodes", "id=b down@=y").unwrap();
    assert_eq!(
        rows(&database, "nodes"),
        "down@=x id=a | down@=y id=b | id=x up=a | id=y up=b"
    );
    database.update("nodes", "id=b", "", &["down"]).unwrap();
    database.delete("nodes", "id=a").unwrap();
    assert_eq!(rows(&database, "nodes"), "id=b | id=x | id=y");

    let mut database = Database::system("warehouse");
    database
        .put("WrhsDependent", "name=cart dependents@=button,icon")
        .unwrap();
    assert_eq!(
        rows(&database, "WrhsDependentOf"),
        "dependentOf@=cart pkg=button | dependentOf@=cart pkg=icon"
    );
    database
        .put("WrhsDependent", "name=cart dependents@=icon")
        .unwrap();
    assert_eq!(
        rows(&database, "WrhsDependentOf"),
        "pkg=button | dependentOf@=cart pkg=icon"
    );
}

#[test]
fn a_row_written_or_removed_on_the_other_side_is_written_or_removed_on_this_one() {
    let mut database = Database::new(ROWS);
    database
        .put("rows", "kind=follower whom=y who=x since=1")
        .unwrap();
    assert_eq!(
        rows(&database, "rows"),
        "from=x since=1 to=y | since=1 who=x whom=y"
    );
    database.update("rows", "whom=y who=x", "since=2", &[]).unwrap();
    assert_eq!(
        rows(&database, "rows"),
        "from=x since=2 to=y | since=2 who=x whom=y"
    );
    database.delete("rows", "whom=y who=x").unwrap();
    assert!(database.rows.is_empty());
}

#[test]
fn a_row_that_moves_on_the_other_side_stays_on_this_one() {
    let mut database = Database::new(
        r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.task]
table = "rows"
key = { pk = "task", sk = "{id}" }
attributes = { id = "string", state = { type = "string", optional = true } }
[entity.task.inverse.listed]
entity = "listed"
[entity.listed]
table = "rows"
key = { pk = "state#{state}", sk = "{id}" }
attributes = { id = "string", state = "string" }
"##,
    );
    database.put("rows", "kind=task id=t state=open").unwrap();
    database
        .update("rows", "kind=task id=t", "state=done", &[])
        .unwrap();
    assert_eq!(rows(&database, "rows"), "id=t state=done | id=t state=done");
    database.update("rows", "kind=task id=t", "", &["state"]).unwrap();
    assert_eq!(rows(&database, "rows"), "id=t");
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_reason() {
    let text = BOTH.replace(
        "title = { type = \"string\", optional = true }",
        "title = \"string\"",
    );
    let mut database = Database::new(&text);
    let refused = database.put("persons", "id=p groups@=g").unwrap_err();
    assert_eq!(
        refused,
        "Entity person: the write would create the row of entity group with id \"g\": Entity group needs the attribute title, which is missing; write that row first, or in the same transaction"
    );
    assert!(database.rows.is_empty());
    database.put("groups", "id=g title=t").unwrap();
    database.put("persons", "id=p groups@=g").unwrap();
    assert_eq!(rows(&database, "groups"), "id=g members@=p title=t");
}

#[test]
fn more_than_a_commit_holds_is_refused() {
    let mut database = Database::new(BOTH);
    let groups: Vec<String> = (0..12_000).map(|group| format!("g{group}")).collect();
    let refused = database
        .put("persons", &format!("id=p groups@={}", groups.join(",")))
        .unwrap_err();
    assert!(refused.contains("more than 10000 rows follow"), "{refused}");
}
