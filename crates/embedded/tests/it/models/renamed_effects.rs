//! Effects whose rows get another tag while their keys stay: with another name, with exchanged names, or for
//! another attribute. No row is missing at any moment, and obsolete rows are removed.

use crate::models::support::{FILL, Found, PLAIN, TestDb, empty, text};
use serde_json::json;
use std::time::{Duration, Instant};
use trestle_binding::{Outcome, Step};
use trestle_embedded::{VerifyOptions, Watcher, verify};

const ROWS: i64 = 100;

const BY_TAG: &str = r#"
    [entity.run.entries.by_tag]
    of = "tags"
    member = "word"
    key = { pk = "tag#{word}", sk = "{group}#{id}" }
"#;

const BY_LABEL: &str = r#"
    [entity.run.entries.by_label]
    of = "labels"
    member = "word"
    key = { pk = "label#{word}", sk = "{group}#{id}" }
"#;

const UNIQUE: &str = r#"
    [entity.run.unique.number]
    key = { pk = "number#{number}", sk = "-" }
    [entity.run.unique.code]
    key = { pk = "code#{code}", sk = "-" }
"#;

const HEAD: &str = r#"
    [entity.run.head]
    tag = "newest"
    key = { pk = "newest#{group}", sk = "-" }
    newest_by = "number"
"#;

fn model(effects: &str) -> String {
    format!(
        r#"
        model = "runs"
        [table.runs]
        key = ["pk", "sk"]
        entity_attribute = "kind"
        [entity.run]
        table = "runs"
        key = {{ pk = "run#{{group}}", sk = "{{id}}" }}
        [entity.run.attributes]
        group = {{ type = "string", chars = "a-z" }}
        id = {{ type = "string", chars = "a-z0-9" }}
        number = "integer"
        code = {{ type = "string", optional = true }}
        tags = {{ type = "list", optional = true }}
        labels = {{ type = "list", optional = true }}
        {effects}
        "#
    )
}

fn open(text: &str) -> String {
    text.replace(
        "entity_attribute = \"kind\"",
        "entity_attribute = \"kind\"\nopen = true",
    )
}

fn filled(text: &str) -> TestDb {
    let models = empty();
    models.apply(text);
    for n in 0..ROWS {
        let row = json!({
            "kind": "run", "group": "g", "id": format!("r{n}"), "number": n, "code": format!("c{n}"),
            "tags": ["all", format!("t{n}")], "labels": ["every"],
        });
        models.put("runs", row).unwrap();
    }
    models
}

/// The keys and tags of the rows that the database keeps.
fn kept(models: &TestDb) -> Vec<String> {
    let rows = models.rows("runs");
    let kept = rows.iter().filter(|row| text(row, "kind") != "run");
    let mut kept: Vec<String> = kept
        .map(|row| format!("{} {} {}", text(row, "pk"), text(row, "sk"), text(row, "kind")))
        .collect();
    kept.sort();
    kept
}

/// The same without the tags.
fn keys(models: &TestDb) -> Vec<String> {
    let without = |row: String| row.rsplit_once(' ').unwrap().0.to_owned();
    kept(models).into_iter().map(without).collect()
}

fn assert_same(rows: &[String], wanted: &[String]) {
    let without = |rows: &[String], others: &[String]| {
        let rows = rows.iter().filter(|row| !others.contains(row));
        rows.cloned().collect::<Vec<_>>()
    };
    let (too_many, missing) = (without(rows, wanted), without(wanted, rows));
    assert_eq!((too_many, missing), (Vec::new(), Vec::new()));
}

fn is_clearing(models: &TestDb) -> bool {
    let documents = models.documents();
    documents.iter().any(|(name, _)| name.starts_with("clearing/"))
}

/// Lets background work remove obsolete rows.
fn cleared(models: &TestDb) {
    models.db().begin_work().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while is_clearing(models) {
        assert!(Instant::now() < deadline, "the removal does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn clean(models: &TestDb) {
    let mut found = Found::default();
    let (mut view, now) = (models.view(), models.now());
    let verified = verify(&mut view, now, VerifyOptions::default(), &mut found).unwrap();
    assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
    assert_eq!(verified.models[0].to_do.facts_to_fill, 0);
    assert_eq!(verified.models[0].to_do.rows_to_clear, 0);
}

/// Stops when the fill begins.
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

/// Applies one version after another and lets background work run: rows at the same keys exist at every
/// moment, and the result is the same as if the later version had been the first.
fn follows(before: &str, after: &str) {
    for text in [str::to_owned, open as fn(&str) -> String] {
        let (before, after) = (text(before), text(after));
        let wanted = kept(&filled(&after));
        for restarts in [false, true] {
            let mut models = filled(&before);
            let report = models.try_apply(&after, FILL);
            assert_eq!(report.outcome, Outcome::Applied, "{report}");
            if restarts {
                models = models.restarted();
            }
            cleared(&models);
            assert_same(&kept(&models), &wanted);
            clean(&models);
        }
        // The process ends after the version took effect, and before the fill.
        let models = filled(&before);
        let there = keys(&models);
        let mut stops = StopsAtFill::default();
        let stopped = models.db().models().apply(&after, FILL, &mut stops);
        assert!(stopped.is_err(), "{stopped:?}");
        let models = models.restarted();
        // Obsolete rows are removed first, before anything is filled in.
        models.try_apply(&after, PLAIN);
        assert!(!is_clearing(&models));
        let now = keys(&models);
        let wanted_keys = keys(&filled(&after));
        let stays = wanted_keys.iter().filter(|key| there.contains(key));
        let lost = stays.filter(|key| !now.contains(key));
        assert_eq!(lost.collect::<Vec<_>>(), Vec::<&String>::new());
        cleared(&models);
        let report = models.try_apply(&after, FILL);
        assert_ne!(report.outcome, Outcome::Refused, "{report}");
        assert_same(&kept(&models), &wanted);
        clean(&models);
    }
}

#[test]
fn entries_under_another_name_stay() {
    follows(&model(BY_TAG), &model(&BY_TAG.replace("by_tag", "by_word")));
}

#[test]
fn entries_that_swap_names_stay() {
    let both = [BY_TAG, BY_LABEL].concat();
    let swapped = both
        .replace("by_tag", "other")
        .replace("by_label", "by_tag")
        .replace("other", "by_label");
    follows(&model(&both), &model(&swapped));
}

#[test]
fn entries_of_another_attribute_at_such_keys_replace_those_of_before() {
    let other = BY_TAG
        .replace("by_tag", "by_word")
        .replace("\"tags\"", "\"labels\"");
    follows(&model(BY_TAG), &model(&other));
}

#[test]
fn what_keeps_values_unique_stays_under_another_name() {
    follows(
        &model(UNIQUE),
        &model(&UNIQUE.replace("unique.number", "unique.no")),
    );
    let swapped = UNIQUE
        .replace("unique.number", "unique.other")
        .replace("unique.code", "unique.number")
        .replace("unique.other", "unique.code");
    follows(&model(UNIQUE), &model(&swapped));
}

#[test]
fn a_head_with_another_tag_stays() {
    follows(&model(HEAD), &model(&HEAD.replace("\"newest\"", "\"latest\"")));
}

#[test]
fn entries_take_the_keys_of_unique_values() {
    let unique = "[entity.run.unique.word]\nkey = { pk = \"code#{code}\", sk = \"g#x\" }\n";
    let entries = "[entity.run.entries.word]\nof = \"tags\"\nmember = \"word\"\nkey = { pk = \"code#{word}\", sk = \"{group}#{id}\" }\n";
    follows(&model(unique), &model(entries));
}
