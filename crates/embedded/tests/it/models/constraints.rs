//! Effects that are added and removed: rows of a removed effect are deleted, and it can be added again.

use crate::models::support::{DRY_FILL, FILL, PLAIN, TestDb, empty, text};
use serde_json::json;
use std::time::{Duration, Instant};
use trestle_binding::Outcome;
use trestle_embedded::{PlanOptions, Unwatched};

/// A model of documents with some of its effects.
fn model(head: bool, unique: bool, index_key: &str) -> String {
    let mut text = format!(
        r##"
        model = "docs"
        [table.docs]
        key = ["pk", "sk"]
        entity_attribute = "kind"
        [table.docs.index.by_title]
        key = ["title_key", "sk"]
        [entity.doc]
        table = "docs"
        key = {{ pk = "doc#{{name}}", sk = "v#{{version:06}}", title_key = "{index_key}" }}
        attributes = {{ name = "string", version = "integer", title = "string" }}
        "##
    );
    if head {
        text += "[entity.doc.head]\nkey.sk = \"head\"\nnewest_by = \"version\"\n";
    }
    if unique {
        text += "[entity.doc.unique.title]\nkey = { pk = \"title#{title}\", sk = \"title\" }\n";
    }
    text
}

fn write(models: &TestDb, versions: std::ops::Range<u64>) {
    for version in versions {
        let row = json!({"name": "a", "version": version, "title": format!("t{version}")});
        models.put("docs", row).unwrap();
    }
}

fn of_kind(models: &TestDb, kind: &str) -> usize {
    let rows = models.rows("docs");
    rows.iter().filter(|row| text(row, "kind") == kind).count()
}

/// Lets background work continue until a kind of rows is deleted.
fn wait_until_gone(models: &TestDb, kind: &str) {
    models.db().begin_work().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while of_kind(models, kind) > 0 {
        assert!(Instant::now() < deadline, "rows of {kind} stay");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn rows_of_an_effect_that_was_dropped_go_in_the_background() {
    let models = empty();
    models.apply(&model(true, true, "{title}"));
    write(&models, 0..1200);
    assert_eq!(
        (of_kind(&models, "doc.head"), of_kind(&models, "doc.unique.title")),
        (1, 1200)
    );
    let report = models.try_apply(&model(true, false, "{title}"), PLAIN);
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
    wait_until_gone(&models, "doc.unique.title");
    assert_eq!((of_kind(&models, "doc.head"), of_kind(&models, "doc")), (1, 1200));
}

#[test]
fn an_effect_that_was_dropped_can_be_added_again_at_once() {
    let models = empty();
    models.apply(&model(true, true, "{title}"));
    write(&models, 0..50);
    models.apply(&model(false, false, "{title}"));
    // A value is free while nothing keeps it unique.
    models
        .put("docs", json!({"name": "b", "version": 1, "title": "t1"}))
        .unwrap();
    let refused = models.try_apply(&model(true, true, "{title}"), FILL);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let key = json!({"name": "b", "version": 1});
    models
        .update("docs", key, "SET title = :t", json!({":t": "own"}))
        .unwrap();
    let added = models.try_apply(&model(true, true, "{title}"), FILL);
    assert_eq!(added.outcome, Outcome::Applied, "{added}");
    assert_eq!(
        (of_kind(&models, "doc.head"), of_kind(&models, "doc.unique.title")),
        (2, 51)
    );
}

#[test]
fn what_is_left_of_a_dropped_effect_is_to_do_and_no_fault() {
    let models = empty();
    models.apply(&model(true, true, "{title}"));
    write(&models, 0..20);
    models.apply(&model(false, false, "{title}"));
    let facts = models
        .db()
        .models()
        .repair(&Default::default(), &mut Unwatched)
        .unwrap();
    assert!(facts.is_clean(), "{facts}");
    assert_eq!(facts.models[0].facts.to_do.rows_to_clear, 21, "{facts}");
}

#[test]
fn a_dry_run_and_a_plan_remove_nothing_and_take_no_leftover_for_a_row_that_does_not_fit() {
    let models = empty();
    models.apply(&model(true, true, "{title}"));
    write(&models, 0..20);
    models.apply(&model(false, false, "{title}"));
    let kept = || (of_kind(&models, "doc.head"), of_kind(&models, "doc.unique.title"));
    assert_eq!(kept(), (1, 20));
    let dry = models.try_apply(&model(false, false, "title-{title}"), DRY_FILL);
    assert_eq!(dry.outcome, Outcome::Planned, "{dry}");
    let moved = model(false, false, "{title}").replace("doc#", "document#");
    let options = PlanOptions {
        dry_run: true,
        ..PlanOptions::default()
    };
    let db = models.db();
    let plan = db
        .models()
        .plan_migration(&moved, options, &mut Unwatched)
        .unwrap();
    assert!(!plan.is_refused(), "{}", plan.report);
    assert_eq!(kept(), (1, 20));
}

#[test]
fn a_removal_goes_on_after_a_restart() {
    let models = empty();
    models.apply(&model(true, true, "{title}"));
    write(&models, 0..30);
    models.apply(&model(false, false, "{title}"));
    let models = models.restarted();
    wait_until_gone(&models, "doc.unique.title");
    wait_until_gone(&models, "doc.head");
    assert_eq!(of_kind(&models, "doc"), 30);
}

#[test]
fn an_index_key_of_another_template_is_filled_in() {
    let models = empty();
    models.apply(&model(false, false, "{title}"));
    write(&models, 0..10);
    let next = model(false, false, "title-{title}");
    let refused = models.try_apply(&next, PLAIN);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    assert!(refused.to_string().contains("--fill"), "{refused}");
    let report = models.try_apply(&next, FILL);
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
    assert_eq!(
        models
            .partition("docs", "by_title", "title_key", "title-t3")
            .len(),
        1
    );
    assert_eq!(models.partition("docs", "by_title", "title_key", "t3").len(), 0);
}

#[test]
fn heads_whose_keys_cannot_move_are_made_anew() {
    let models = empty();
    models.apply(&model(true, false, "{title}"));
    write(&models, 0..20);
    // One head for all: the group of a former head cannot be determined from its key.
    let other =
        model(true, false, "{title}").replace("key.sk = \"head\"", "key = { pk = \"docs\", sk = \"head\" }");
    let refused = models.try_apply(&other, PLAIN);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let filled = models.try_apply(&other, FILL);
    assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
    let head = models.get("docs", json!({"pk": "docs", "sk": "head"})).unwrap();
    assert_eq!(text(&head, "title"), "t19");
    wait_until_gone_at(&models, "doc#a", "head");
}

fn wait_until_gone_at(models: &TestDb, pk: &str, sk: &str) {
    models.db().begin_work().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while models.get("docs", json!({"pk": pk, "sk": sk})).is_some() {
        assert!(Instant::now() < deadline, "the row stays");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn unique_values_whose_keys_cannot_move_are_made_anew() {
    let models = empty();
    models.apply(&model(false, true, "{title}"));
    write(&models, 0..20);
    // A key of the former layout could also be one of this one: no migration can distinguish them.
    let other = model(false, true, "{title}").replace("title#{title}", "t{title}");
    let refused = models.try_apply(&other, PLAIN);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let why = "effects of this version have not followed";
    assert!(refused.to_string().contains(why), "{refused}");
    let filled = models.try_apply(&other, FILL);
    assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
    for version in 0..20 {
        wait_until_gone_at(&models, &format!("title#t{version}"), "title");
    }
    let rows = models.rows("docs");
    assert_eq!(of_kind(&models, "doc.unique.title"), 20);
    assert_eq!(
        rows.iter()
            .filter(|row| text(row, "pk").starts_with("tt"))
            .count(),
        20
    );
    let taken = models.put("docs", json!({"name": "b", "version": 1, "title": "t1"}));
    assert!(taken.unwrap_err().message().contains("is taken by"));
}
