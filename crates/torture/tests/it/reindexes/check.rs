//! The checks after a reindex, regardless of what was killed meanwhile.

use super::clients::{Known, Writer, explain, known};
use super::name_of;
use super::process::Commands;
use super::table::{Key, TABLE, UNTOUCHABLE, VERSION, key_of, n_of, untouchable, version_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trestle_torture::audit::{all, records};
use trestle_torture::http::Client;
use trestle_torture::workload::succeed;

type Rows = BTreeMap<Key, Value>;

/// The number of touches in the stream, for each row and version.
type Touches = BTreeMap<(Key, u64), u64>;

/// All rows; each occurs once.
fn rows(client: &mut Client) -> Rows {
    let found = all(
        client,
        "Scan",
        &json!({"TableName": TABLE, "ConsistentRead": true}),
    );
    let count = found.len();
    let rows: Rows = found.into_iter().map(|row| (key_of(&row), row)).collect();
    assert_eq!(rows.len(), count, "a scan has a row twice");
    rows
}

/// Checks that rows are as clients last wrote them, and that there are no others.
fn check_rows(rows: &Rows, known: &BTreeMap<&Key, &Known>) {
    for (key, known) in known {
        explain(key, known, rows.get(*key)).unwrap_or_else(|fault| panic!("{fault}"));
    }
    for key in rows.keys() {
        let is_untouchable = key.0.starts_with("untouchable-");
        assert!(
            is_untouchable || known.contains_key(key),
            "{key:?} was never written"
        );
    }
    let untouched = |number| rows[&untouchable(number)][VERSION] == json!({"S": "none"});
    assert!((0..UNTOUCHABLE).all(untouched));
}

/// The reports of commands about the reindexes to these versions.
pub(super) struct Told {
    /// Each version with its dead letters.
    versions: BTreeMap<u64, BTreeSet<Key>>,
    /// The status of the last one.
    status: Value,
    /// Its rows that are not at the version.
    gaps: BTreeSet<Key>,
}

impl Told {
    pub(super) fn by(commands: &Commands, versions: &[u64]) -> Self {
        let last = name_of(*versions.last().unwrap());
        let letters = |version: &u64| (*version, dead_letters(commands, &name_of(*version)));
        Told {
            versions: versions.iter().map(letters).collect(),
            status: commands.status(&last).unwrap(),
            gaps: commands
                .lines(&["gaps", &last])
                .iter()
                .map(|line| gap(line))
                .collect(),
        }
    }

    /// The last version, and its dead letters.
    fn last(&self) -> (u64, &BTreeSet<Key>) {
        let (version, letters) = self.versions.last_key_value().unwrap();
        (*version, letters)
    }
}

/// The keys of dead letters, each of which has a reason.
fn dead_letters(commands: &Commands, name: &str) -> BTreeSet<Key> {
    let lines = commands.lines(&["dead-letters", name, "--json"]);
    let letter = |line: &String| {
        let letter: Value = serde_json::from_str(line).unwrap();
        let reason = letter["reason"].as_str().unwrap();
        assert!(!reason.is_empty(), "{letter}");
        key_of(&letter["key"])
    };
    lines.iter().map(letter).collect()
}

fn gap(line: &str) -> Key {
    let id: Value = serde_json::from_str(line).unwrap();
    let text = |name: &str| id[name].as_str().unwrap().to_owned();
    (text("pk"), text("sk"))
}

fn untouchables() -> BTreeSet<Key> {
    (0..UNTOUCHABLE).map(untouchable).collect()
}

/// Compares the reports with rows and stream. `by` is the service that touches rows, if the stream names one.
pub(super) fn check(client: &mut Client, told: &Told, writers: &[Writer], by: Option<&str>) {
    let (rows, known) = (rows(client), known(writers));
    check_rows(&rows, &known);
    let (version, letters) = told.last();
    for (key, row) in &rows {
        let is_reached = version_of(row) == version || letters.contains(key);
        assert!(
            is_reached || is_inserted(key),
            "{key:?} was missed: {row}, {:?}",
            known.get(key)
        );
    }
    assert!(letters.is_superset(&untouchables()), "{letters:?}");
    assert_eq!(told.gaps, below_version(&rows, version));
    let touches = touches(client, &rows, by);
    check_touches(&touches, &rows, &told.versions);
    let touched = touches.keys().filter(|(_, raised)| *raised == version).count();
    check_status(&told.status, letters.len(), touched, &rows);
}

/// Rows that the last reindex did not reach: they are not at its version, and are not dead letters.
pub(super) fn passed_over(client: &mut Client, told: &Told) -> BTreeSet<Key> {
    let (version, letters) = told.last();
    let mut below = below_version(&rows(client), version);
    below.retain(|key| !letters.contains(key));
    below
}

fn below_version(rows: &Rows, version: u64) -> BTreeSet<Key> {
    let below = rows.iter().filter(|(_, row)| version_of(row) < version);
    below.map(|(key, _)| key.clone()).collect()
}

/// The status of a reindex: it is done, no process works on it, and each row read has one outcome.
fn check_status(status: &Value, letters: usize, touched: usize, rows: &Rows) {
    let told = |name: &str| status["counts"][name].as_u64().unwrap();
    let ends = ["done", "unchanged", "gone", "left_out", "failed"].map(told);
    assert_eq!(status["state"], "done", "{status}");
    assert_eq!(status["percent"], json!(100.0), "{status}");
    assert_eq!(status["waiting"], 0, "{status}");
    assert_eq!(status["processes"], 0, "{status}");
    assert_eq!(status["workers"], json!([]), "{status}");
    assert_eq!(status["dead_letters"], letters, "{status}");
    assert_eq!(told("read"), ends.iter().sum::<u64>(), "{status}");
    assert_eq!(status["rows"], told("read"), "{status}");
    let from_the_beginning = rows.keys().filter(|key| !is_inserted(key)).count();
    assert!(told("read") >= from_the_beginning as u64, "{status}");
    // Rows of a page that was in progress when its process was killed may already have the version when they are read again.
    assert!(told("done") <= touched as u64, "{touched} touched: {status}");
}

/// Retries dead letters, and reindexes once more to the same version. Returns the reports of both.
pub(super) fn replay(commands: &Commands, versions: &[u64]) -> (Told, Value) {
    let (name, version) = (
        name_of(*versions.last().unwrap()),
        versions.last().unwrap().to_string(),
    );
    commands.run(&["replay", &name]);
    let told = Told::by(commands, versions);
    commands.run(&[
        "start",
        TABLE,
        "--name",
        "again",
        "--version",
        &version,
        "--force",
    ]);
    (told, commands.status("again").unwrap())
}

/// After a replay without faults, only rows that cannot be touched remain dead letters; a second reindex to the
/// same version writes nothing for rows that have it.
pub(super) fn check_after_replay(
    client: &mut Client,
    (told, again): &(Told, Value),
    passed_over: &BTreeSet<Key>,
    writers: &[Writer],
    by: Option<&str>,
) {
    let rows = rows(client);
    check_rows(&rows, &known(writers));
    let (version, letters) = told.last();
    // A dead letter whose row was deleted afterwards is removed.
    assert_eq!(*letters, untouchables());
    assert_eq!(below_version(&rows, version), untouchables());
    let touches = touches(client, &rows, by);
    check_touches(&touches, &rows, &told.versions);
    assert_eq!(again["counts"]["done"], passed_over.len(), "{again}");
}

fn is_inserted(key: &Key) -> bool {
    key.0.starts_with("new-")
}

/// Replays the stream: each record begins where the previous one ended, and a touch raises the version and
/// changes nothing else.
fn touches(client: &mut Client, rows: &Rows, by: Option<&str>) -> Touches {
    let table = succeed(client, "DescribeTable", &json!({"TableName": TABLE}));
    let stream = table["Table"]["LatestStreamArn"].as_str().unwrap().to_owned();
    let described = succeed(client, "DescribeStream", &json!({"StreamArn": stream}));
    let (mut images, mut touches) = (Rows::new(), Touches::new());
    for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
        for record in records(client, &stream, &shard["ShardId"]) {
            let change = &record["dynamodb"];
            let key = key_of(&change["Keys"]);
            let before = images.remove(&key).unwrap_or_default();
            assert_eq!(before, change["OldImage"], "{key:?}");
            let Some(after) = change.get("NewImage") else {
                continue;
            };
            if let Some(version) = raised(&key, &before, after) {
                *touches.entry((key.clone(), version)).or_default() += 1;
                assert_eq!(record["userIdentity"]["PrincipalId"].as_str(), by, "{record}");
            }
            images.insert(key, after.clone());
        }
    }
    assert_eq!(&images, rows, "the stream does not end as the table is");
    touches
}

/// The version to which a change raised a row, if it did.
fn raised(key: &Key, before: &Value, after: &Value) -> Option<u64> {
    if before.is_null() || before[VERSION] == after[VERSION] {
        return None;
    }
    assert!(
        version_of(after) > version_of(before),
        "{key:?} lost its version: {before} became {after}"
    );
    assert_eq!(n_of(before), n_of(after), "a touch changed more of {key:?}");
    let without = |image: &Value| {
        let mut image = image.clone();
        image.as_object_mut().unwrap().remove(VERSION);
        image
    };
    assert_eq!(without(before), without(after), "a touch changed more of {key:?}");
    Some(version_of(after))
}

/// Exactly one touch of each row and version, unless the row is a dead letter.
fn check_touches(touches: &Touches, rows: &Rows, versions: &BTreeMap<u64, BTreeSet<Key>>) {
    for ((key, version), count) in touches {
        assert_eq!(*count, 1, "{key:?} was touched {count} times with {version}");
        assert!(
            versions.contains_key(version),
            "{key:?} was touched with {version}"
        );
    }
    for key in rows.keys().filter(|key| !is_inserted(key)) {
        for (version, letters) in versions {
            let is_touched = touches.contains_key(&(key.clone(), *version));
            assert!(
                is_touched || letters.contains(key),
                "no record of {key:?} with {version}"
            );
        }
    }
}
