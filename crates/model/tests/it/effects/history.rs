//! `history`: each change of a pointer is a row, in the same commit.

use proptest::prelude::*;
use trestle_model::{Severity, load};

use crate::database::{Database, line};

const RELEASES: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[entity.release]
table = "rows"
key = { pk = "head#{name}", sk = "release" }
attributes = { name = "string", version = { type = "semver", optional = true }, by = { type = "string", optional = true } }
[entity.release.history]
of = ["version", "by"]
key.sk = "move#{moved}"
previous = { from = "version" }
keep = 3
expire_after = "1d"
"##;

fn release(database: &mut Database, line: &str) -> Result<(), String> {
    database.put("rows", &format!("kind=release name=p {line}"))
}

/// The history as `from>to` with the milliseconds since the start, the oldest first.
fn history(database: &Database) -> Vec<String> {
    let rows = database
        .all("rows")
        .filter(|row| row.get("kind") == Some(&"release.history".into()));
    let rows = rows.map(|row| {
        let text = |name: &str| row.get(name).and_then(|value| value.as_s()).unwrap_or("-");
        let moved = trestle_env::parse_iso_8601(text("moved")).unwrap();
        format!(
            "{}>{} {}",
            text("from"),
            text("version"),
            moved.as_millis() - 1_577_734_334_000
        )
    });
    rows.collect()
}

#[test]
fn each_change_is_a_row_with_its_time_and_what_was_before() {
    let mut database = Database::new(RELEASES);
    release(&mut database, "version=1.0.0").unwrap();
    database.now_ms += 5;
    release(&mut database, "version=1.10.0 by=ann").unwrap();
    assert_eq!(history(&database), ["->1.0.0 0", "1.0.0>1.10.0 5"]);
    let row = database
        .row("rows", "pk=head#p sk=move#2019-12-30T19:32:14.005Z")
        .unwrap();
    assert_eq!(
        line(&row, &["kind", "pk", "sk"]),
        "by=ann expires:=1577820734 from=1.0.0 moved=2019-12-30T19:32:14.005Z name=p version=1.10.0"
    );
    release(&mut database, "version=1.10.0 by=ann note=x").unwrap();
    assert_eq!(
        history(&database).len(),
        2,
        "what the history is not of changes nothing"
    );
    assert_eq!(database.wrong(), Vec::<String>::new());
}

#[test]
fn times_only_go_forward_and_the_oldest_go() {
    let mut database = Database::new(RELEASES);
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        release(&mut database, &format!("version={version}")).unwrap();
    }
    assert_eq!(
        history(&database),
        ["->1.0.0 0", "1.0.0>2.0.0 1", "2.0.0>3.0.0 2"]
    );
    database.now_ms -= 1_000;
    release(&mut database, "version=1.0.0").unwrap();
    assert_eq!(
        history(&database),
        ["1.0.0>2.0.0 1", "2.0.0>3.0.0 2", "3.0.0>1.0.0 3"]
    );
}

#[test]
fn a_row_that_goes_leaves_its_history_and_goes_on_with_it() {
    let mut database = Database::new(RELEASES);
    release(&mut database, "version=1.0.0").unwrap();
    database.delete("rows", "kind=release name=p").unwrap();
    release(&mut database, "version=1.0.0").unwrap();
    assert_eq!(history(&database), ["->1.0.0 0", "->1.0.0 1"]);
    database
        .delete("rows", "pk=head#p sk=move#2019-12-30T19:32:14.000Z")
        .unwrap();
    database.expire("rows", "pk=head#p sk=move#2019-12-30T19:32:14.001Z");
    assert_eq!(history(&database), Vec::<String>::new());
}

#[test]
fn clients_do_not_write_a_history() {
    let mut database = Database::new(RELEASES);
    release(&mut database, "version=1.0.0").unwrap();
    let before = database.clone();
    let key = "pk=head#p sk=move#2019-12-30T19:32:14.000Z";
    for refused in [
        database.update("rows", key, "version=9.0.0", &[]),
        database.put(
            "rows",
            "kind=release.history name=p moved=2020-01-01T00:00:00.000Z",
        ),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            refused.contains(
                "Rows of entity release.history are kept by the database; write those of entity release"
            ),
            "{refused}"
        );
    }
    assert_eq!(database, before);
}

#[test]
fn a_history_that_could_not_be_kept_does_not_load() {
    for (from, to, says) in [
        (
            "sk = \"move#{moved}\"",
            "sk = \"move\"",
            "is identified by its row and its time",
        ),
        (
            "of = [\"version\", \"by\"]",
            "of = [\"version\", \"name\"]",
            "which identifies the row and never changes",
        ),
        (
            "previous = { from = \"version\" }",
            "previous = { from = \"note\" }",
            "keeps no changes of it",
        ),
        (
            "previous = { from = \"version\" }",
            "previous = { by = \"version\" }",
            "has `by` twice",
        ),
        ("keep = 3", "keep = 1001", "keeps 1001 rows"),
        ("ttl = \"expires\"\n", "", "their table has no `ttl`"),
        (
            "key.sk = \"move#{moved}\"",
            "key = { pk = \"move#{moved}\", sk = \"{name}\" }",
            "is not found with one query",
        ),
    ] {
        assert!(RELEASES.contains(from), "{from}");
        let loaded = load(&RELEASES.replacen(from, to, 1));
        let errors = loaded
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let shown: Vec<String> = errors.map(ToString::to_string).collect();
        assert!(
            shown.iter().any(|error| error.contains(says)),
            "{says}: {}",
            shown.join("\n")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The oracle: the last three changes, in order, for any clock.
    #[test]
    fn the_history_is_the_last_changes(steps in prop::collection::vec((0..4_u64, 0..3_u64, any::<bool>()), 1..12)) {
        let mut database = Database::new(RELEASES);
        let mut expected: Vec<String> = Vec::new();
        let mut current = "-".to_owned();
        for (version, millis, back) in steps {
            database.now_ms = if back { database.now_ms - millis } else { database.now_ms + millis };
            let to = format!("{version}.0.0");
            release(&mut database, &format!("version={to}")).unwrap();
            if to != current {
                expected.push(format!("{current}>{to}"));
            }
            current = to;
        }
        let last = expected.len().saturating_sub(3);
        let rows = database.all("rows").filter(|row| row.get("kind") == Some(&"release.history".into()));
        let found: Vec<String> = rows
            .map(|row| {
                let text = |name: &str| row.get(name).and_then(|value| value.as_s()).unwrap_or("-");
                format!("{}>{}", text("from"), text("version"))
            })
            .collect();
        prop_assert_eq!(&found[..], &expected[last..]);
        prop_assert_eq!(database.wrong(), Vec::<String>::new());
    }
}
