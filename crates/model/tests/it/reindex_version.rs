//! The version of a row: a reindex raises it, and nothing else writes it.

use trestle_item::{AttributeValue, Item};
use trestle_model::audit::AuditOptions;
use trestle_model::load;

use crate::database::Database;

/// A record with an index on its version, one with every effect, and one that declares no version.
const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.rows.index.by_version]
key = ["shard", "gsk"]
[table.rows.index.tracker]
key = ["shard", "rv"]

[entity.plain]
table = "rows"
key = { pk = "plain#{id}", sk = "plain", gsk = "v#{rv:08}" }
updated = "changed"
reindex_version = "rv"
[entity.plain.attributes]
id = "string"
shard = { type = "string", optional = true }
body = "string"

[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:04}" }
updated = "changed"
reindex_version = "rv"
closed = true
[entity.doc.attributes]
name = "string"
version = "integer"
body = "string"
tags = { type = "string-set", optional = true }
state = { type = "string", optional = true }
owner = { type = "string", optional = true }
team = { type = "string", optional = true }
[entity.doc.head]
key.sk = "head"
newest_by = "version"
promote = { set = { state = "live" } }
demote = { set = { state = "old" } }
[entity.doc.unique.body]
key = { pk = "body#{body}", sk = "body" }
[entity.doc.entries.by_tag]
of = "tags"
member = "tag"
key = { pk = "tag#{tag}", sk = "{name}#{version:04}" }
[entity.doc.counter.docs]
entity = "owner"
attribute = "docs"
[entity.doc.copy.team]
from = "owner"
attributes = ["team"]

[entity.owner]
table = "rows"
key = { pk = "owner#{owner}", sk = "owner" }
reindex_version = "rv"
[entity.owner.attributes]
owner = "string"
team = "string"
docs = { type = "integer", default = 0 }

[entity.other]
table = "rows"
key = { pk = "other#{id}", sk = "other" }
[entity.other.attributes]
id = "string"
rv = { type = "integer", optional = true }
"##;

const PLAIN: &str = "pk=plain#a sk=plain";
const DOC: &str = "pk=doc#a sk=v#0001";
const HEAD: &str = "pk=doc#a sk=head";

fn database() -> Database {
    let mut database = Database::new(MODEL);
    for row in [
        "kind=plain id=a shard=s body=b",
        "kind=owner owner=o team=t",
        "kind=doc name=a version:=1 body=one tags@=x,y owner=o",
        "kind=other id=a",
    ] {
        database.put("rows", row).unwrap();
    }
    database
}

fn version(database: &Database, key: &str) -> Option<AttributeValue> {
    database.row("rows", key).unwrap().get("rv").cloned()
}

fn n(number: i64) -> Option<AttributeValue> {
    Some(number.into())
}

/// The differences between two states of a row.
fn differing(before: &Item, after: &Item) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut names: Vec<String> = names
        .filter(|name| before.get(name) != after.get(name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_touch_changes_the_version_and_the_index_key_that_is_made_of_it() {
    let mut database = database();
    let before = database.row("rows", PLAIN).unwrap();
    database.now_ms += 5_000;
    database.touch("rows", PLAIN, "rv:=3").unwrap();
    let after = database.row("rows", PLAIN).unwrap();
    assert_eq!(
        differing(&before, &after),
        ["gsk", "rv"],
        "its time of change stays"
    );
    assert_eq!(after.get("gsk"), Some(&"v#00000003".into()));
    assert_eq!(database.followed, 0);
}

#[test]
fn what_is_derived_from_a_row_follows_its_version() {
    let mut database = database();
    let before = database.row("rows", DOC).unwrap();
    let rows: Vec<Item> = database.all("rows").cloned().collect();
    database.now_ms += 5_000;
    database.touch("rows", DOC, "rv:=3").unwrap();
    assert_eq!(differing(&before, &database.row("rows", DOC).unwrap()), ["rv"]);
    assert_eq!(version(&database, HEAD), n(3), "the head has what its row has");
    assert_eq!(
        database.followed, 1,
        "entries, counts and unique rows stay as they are"
    );
    assert_eq!(database.all("rows").count(), rows.len());
    assert_eq!(database.audit(AuditOptions::default()), []);
}

#[test]
fn rows_that_the_database_keeps_follow_and_are_not_touched_themselves() {
    let mut database = database();
    let kept: Vec<Item> = database
        .all("rows")
        .filter(|row| row.get("kind").unwrap().as_s().unwrap().contains('.'))
        .cloned()
        .collect();
    assert_eq!(kept.len(), 4, "a head, a unique value and two entries: {kept:?}");
    let rows = database.rows.clone();
    for row in kept {
        let key = ["pk", "sk"].map(|name| format!("{name}={}", row.get(name).unwrap().as_s().unwrap()));
        database.touch("rows", &key.join(" "), "rv:=3").unwrap();
    }
    assert_eq!(database.rows, rows);
}

#[test]
fn clients_leave_the_version_out_or_give_it_as_it_is() {
    for (key, put) in [
        (PLAIN, "kind=plain id=a shard=s body="),
        (DOC, "kind=doc name=a version:=1 owner=o body="),
    ] {
        let mut database = database();
        let refused = database.update("rows", key, "rv:=1", &[]).unwrap_err();
        assert!(
            refused.contains("attribute rv is the version up to which the row was reindexed"),
            "{refused}"
        );
        assert!(
            refused.contains("it is not there, and was given as the number 1"),
            "{refused}"
        );
        assert!(
            refused.ends_with("Only a reindex changes it: `trestle reindex start` with --server or --data"),
            "{refused}"
        );
        database.touch("rows", key, "rv:=3").unwrap();
        assert!(
            database.update("rows", key, "rv=3", &[]).is_err(),
            "it is a number"
        );
        for given in ["rv:=2", "rv:=4"] {
            let refused = database.update("rows", key, given, &[]).unwrap_err();
            assert!(
                refused.contains("it is the number 3, and was given as"),
                "{refused}"
            );
        }
        database.put("rows", &format!("{put}two")).unwrap();
        database.put("rows", &format!("{put}three rv:=3")).unwrap();
        database.update("rows", key, "body=four", &["rv"]).unwrap();
        let row = database.row("rows", key).unwrap();
        assert_eq!(
            (row.get("rv").cloned(), row.get("body")),
            (n(3), Some(&"four".into()))
        );
        assert_eq!(database.audit(AuditOptions::default()), []);
    }
}

#[test]
fn a_row_that_is_inserted_gets_the_version_in_force_and_may_give_no_other() {
    for (entity, row, key) in [
        ("plain", "kind=plain id=b shard=s body=b", "pk=plain#b sk=plain"),
        (
            "doc",
            "kind=doc name=b version:=1 body=two owner=o",
            "pk=doc#b sk=v#0001",
        ),
    ] {
        let mut database = database();
        let refused = database.put("rows", &format!("{row} rv:=7")).unwrap_err();
        assert!(
            refused.contains("it is not there, and was given as the number 7"),
            "{refused}"
        );
        database.set_version(entity, 7);
        for given in ["rv:=6", "rv:=8"] {
            let refused = database.put("rows", &format!("{row} {given}")).unwrap_err();
            assert!(
                refused.contains("it is the number 7, and was given as"),
                "{refused}"
            );
        }
        database.put("rows", row).unwrap();
        assert_eq!(version(&database, key), n(7));
        database.delete("rows", key).unwrap();
        database.put("rows", &format!("{row} rv:=7")).unwrap();
        assert_eq!(version(&database, key), n(7));
        // Existing rows are raised by the reindex, not by clients.
        database.update("rows", PLAIN, "body=c", &[]).unwrap();
        assert_eq!(version(&database, PLAIN), None);
    }
}

#[test]
fn an_inserted_row_has_the_index_keys_of_its_version() {
    let mut database = database();
    database.set_version("plain", 7);
    database.put("rows", "kind=plain id=b shard=s body=b").unwrap();
    let row = database.row("rows", "pk=plain#b sk=plain").unwrap();
    assert_eq!(row.get("gsk"), Some(&"v#00000007".into()));
}

#[test]
fn a_touch_through_another_attribute_is_refused() {
    let mut database = database();
    for (key, line, expected) in [
        (
            PLAIN,
            "body:=1",
            "attribute body is not its version; reindex through rv",
        ),
        (
            PLAIN,
            "xx:=1",
            "attribute xx is not its version; reindex through rv",
        ),
        (
            "pk=other#a sk=other",
            "rv:=1",
            "attribute rv is not its version; declare one with `reindex_version",
        ),
    ] {
        let refused = database.touch("rows", key, line).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    database.touch("rows", "pk=other#a sk=other", "xx:=1").unwrap();
}

#[test]
fn a_row_that_is_not_whole_is_refused_and_stays_as_it_is() {
    let mut database = database();
    for (key, attribute) in [(PLAIN, "body"), (DOC, "body")] {
        let place = database
            .rows
            .iter()
            .find(|(_, row)| Some(*row) == database.row("rows", key).as_ref());
        let place = place.unwrap().0.clone();
        database.rows.get_mut(&place).unwrap().remove(attribute);
        let rows = database.rows.clone();
        let refused = database.touch("rows", key, "rv:=3").unwrap_err();
        assert!(refused.contains("body"), "{refused}");
        assert_eq!(database.rows, rows);
    }
}

/// A copy that is out of step, a missing tag: a touch repairs neither.
#[test]
fn a_touch_leaves_what_disagrees_as_it_is() {
    let mut database = database();
    let place = |database: &Database, key: &str| {
        let row = database.row("rows", key).unwrap();
        database
            .rows
            .iter()
            .find(|(_, known)| **known == row)
            .unwrap()
            .0
            .clone()
    };
    let owner = place(&database, "pk=owner#o sk=owner");
    database.rows.get_mut(&owner).unwrap().insert("team", "u");
    for key in [DOC, PLAIN] {
        let place = place(&database, key);
        database.rows.get_mut(&place).unwrap().remove("kind");
    }
    for key in [DOC, PLAIN] {
        let before = database.row("rows", key).unwrap();
        database.touch("rows", key, "rv:=3").unwrap();
        let changed = differing(&before, &database.row("rows", key).unwrap());
        assert!(
            changed.iter().all(|name| name == "rv" || name == "gsk"),
            "{changed:?}"
        );
    }
}

#[test]
fn an_attribute_that_cannot_hold_a_version_is_a_mistake() {
    for (from, to, expected) in [
        (
            "id = \"string\"\nshard",
            "id = \"string\"\nrv = \"integer\"\nshard",
            "is declared as something else",
        ),
        (
            "id = \"string\"\nshard",
            "id = \"string\"\nrv = \"string\"\nshard",
            "is declared as something else",
        ),
        (
            "reindex_version = \"rv\"\n[entity.plain.",
            "reindex_version = \"kind\"\n[entity.plain.",
            "entity attribute",
        ),
        (
            "reindex_version = \"rv\"\n[entity.plain.",
            "reindex_version = \"changed\"\n[entity.plain.",
            "is declared as something else",
        ),
        (
            "attribute = \"docs\"",
            "attribute = \"rv\"",
            "is kept by a counter",
        ),
        (
            "attributes = [\"team\"]",
            "attributes = [\"team\", \"rv\"]",
            "is a copy",
        ),
        (
            "newest_by = \"version\"",
            "newest_by = \"rv\"",
            "is used by its head",
        ),
        (
            "promote = { set = { state",
            "promote = { set = { rv = 1, state",
            "is used by its head",
        ),
    ] {
        assert!(MODEL.contains(from), "{from}");
        let problems = load(&MODEL.replacen(from, to, 1)).problems;
        let found = problems.iter().any(|problem| {
            problem.message.contains("cannot hold the version of a reindex")
                && problem.message.contains(expected)
        });
        assert!(found, "{to}: {problems:#?}");
    }
    let in_key = MODEL.replacen("pk = \"plain#{id}\"", "pk = \"plain#{id}#{rv}\"", 1);
    assert!(load(&in_key).model.is_none(), "a key never changes");
    assert!(
        load(MODEL)
            .problems
            .iter()
            .all(|problem| problem.severity != trestle_model::Severity::Error)
    );
}
