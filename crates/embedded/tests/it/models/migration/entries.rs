//! Entries during a migration: those of moved rows and of rows that have not moved, and entries whose own
//! keys change.

use super::{FAST, Shop};
use crate::models::support::{FILL, Found, plain, text};
use serde_json::{Value, json};
use trestle_api::{DeleteItem, Query};
use trestle_binding::{MigrationState, Outcome};
use trestle_embedded::{PlanOptions, Unwatched, VerifyOptions, verify};
use trestle_item::{AttributeValue, Item};

const BEFORE: &str = r##"
model = "shop"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.run]
table = "rows"
key = { pk = "{tenant}#run", sk = "{id}" }
[entity.run.attributes]
tenant = { type = "string", chars = "a-z" }
id = { type = "string", chars = "a-z0-9" }
started = "integer"
phase = { type = "string", optional = true }
tags = { type = "list", optional = true }
[entity.run.entries.by_tag]
of = "tags"
member = "tag"
key = { pk = "{tenant}#tag#{tag}", sk = "{started:06}#{id}" }
project = ["phase"]
"##;

/// The model with other keys of the runs.
fn runs_moved() -> String {
    BEFORE.replace("{tenant}#run", "runs/{tenant}")
}

/// The model with other keys of the entries.
fn entries_moved() -> String {
    BEFORE
        .replace("{tenant}#tag#{tag}", "tags/{tenant}/{tag}")
        .replace("{started:06}#{id}", "{started:06}/{id}")
}

/// The model with other keys of both.
fn both_moved() -> String {
    entries_moved().replace("{tenant}#run", "runs/{tenant}")
}

fn run(n: i64, tags: &[&str]) -> Value {
    json!({"kind": "run", "tenant": "t", "id": format!("r{n}"), "started": n, "tags": tags})
}

fn key(n: i64) -> Value {
    json!({"kind": "run", "tenant": "t", "id": format!("r{n}")})
}

fn filled() -> Shop {
    let shop = Shop::empty();
    shop.models.apply(BEFORE);
    for n in 0..40 {
        shop.models
            .put("rows", run(n, &["all", if n % 2 == 0 { "even" } else { "odd" }]))
            .unwrap();
    }
    shop
}

/// The runs with a tag, in order, with the status that their entries have. `pk` is the key of the tag's partition.
fn tagged(shop: &Shop, pk: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut bookmark: Option<Item> = None;
    loop {
        let page = shop
            .models
            .run(Query {
                table_name: "rows".to_owned(),
                key_condition_expression: Some("pk = :p".to_owned()),
                expression_attribute_values: Some(plain(json!({":p": pk}))),
                limit: Some(7),
                exclusive_start_key: bookmark,
                ..Query::default()
            })
            .unwrap();
        let rows = page.items.unwrap().to_vec();
        found.extend(
            rows.iter()
                .map(|row| format!("{}{}", text(row, "id"), text(row, "phase"))),
        );
        bookmark = page.last_evaluated_key;
        if bookmark.is_none() {
            return found;
        }
    }
}

/// Changes a few runs, some of which may have moved.
fn change(shop: &Shop) {
    let rows = &shop.models;
    rows.update("rows", key(3), "SET phase = :s", json!({":s": "-done"}))
        .unwrap();
    rows.update("rows", key(4), "SET tags = :t", json!({":t": ["all", "fourth"]}))
        .unwrap();
    rows.update("rows", key(5), "REMOVE tags", json!({})).unwrap();
    rows.update("rows", key(6), "SET started = :n", json!({":n": 100}))
        .unwrap();
    rows.put("rows", run(41, &["all", "odd"])).unwrap();
    rows.put("rows", run(7, &["odd"])).unwrap();
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: plain(key(8)),
        ..DeleteItem::default()
    };
    rows.run(delete).unwrap();
}

/// The result of `change` for a tag.
fn changed(tag: &str) -> Vec<String> {
    let with = |n: &i64| match (*n, tag) {
        (5 | 8, _) => false,
        (7, "all") => false,
        (4, tag) => ["all", "fourth"].contains(&tag),
        (n, "even") => n % 2 == 0,
        (n, "odd") => n % 2 == 1,
        (_, "all") => true,
        _ => false,
    };
    let mut runs: Vec<i64> = (0..40).chain([41]).filter(with).collect();
    runs.sort_by_key(|n| if *n == 6 { 100 } else { *n });
    runs.iter()
        .map(|n| format!("r{n}{}", if *n == 3 { "-done" } else { "" }))
        .collect()
}

fn check(shop: &Shop, pk: &dyn Fn(&str) -> String) {
    for tag in ["all", "even", "odd", "fourth"] {
        assert_eq!(tagged(shop, &pk(tag)), changed(tag), "{tag}");
    }
    let mut found = Found::default();
    let verified = verify(
        &mut shop.models.view(),
        shop.models.now(),
        VerifyOptions::default(),
        &mut found,
    )
    .unwrap();
    assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
}

fn before(tag: &str) -> String {
    format!("t#tag#{tag}")
}

fn after(tag: &str) -> String {
    format!("tags/t/{tag}")
}

#[test]
fn entries_are_right_at_every_moment_of_a_migration_and_of_the_way_back() {
    type Case = (String, fn(&str) -> String);
    let cases: [Case; 3] = [
        (runs_moved(), before),
        (entries_moved(), after),
        (both_moved(), after),
    ];
    for (text, place) in cases {
        // Before a row has moved, after some have, after all have.
        for pages in [Some(0), Some(1), None] {
            let shop = filled();
            let plan = shop.try_start(&text, FAST);
            assert!(!plan.is_refused(), "{plan}");
            match pages {
                Some(pages) => drop(shop.pages(pages)),
                None => assert_eq!(shop.sweep().state, MigrationState::Verified),
            }
            let shop = shop.restarted();
            change(&shop);
            check(&shop, &place);
            assert_eq!(shop.sweep().state, MigrationState::Verified);
            check(&shop, &place);
            shop.db()
                .models()
                .roll_back_migration(None, &mut Unwatched)
                .unwrap();
            check(&shop, &before);
            shop.models
                .update(
                    "rows",
                    key(9),
                    "SET tags = :t",
                    json!({":t": ["all", "odd", "late"]}),
                )
                .unwrap();
            assert_eq!(tagged(&shop, "t#tag#late"), ["r9"]);
            assert_eq!(shop.sweep().state, MigrationState::RolledBack);
            check(&shop, &before);
        }
    }
}

#[test]
fn a_write_looks_once_into_the_former_place_of_its_row_and_of_each_entry() {
    let shop = filled();
    shop.try_start(&both_moved(), FAST);
    let counted = |operation: trestle_api::OperationName, write: &dyn Fn()| {
        let before = shop.db().storage_reads();
        write();
        let reads = shop.db().storage_reads().since(&before).of(operation);
        (reads.point_lookups, reads.double_reads)
    };
    let update = || {
        let rows = &shop.models;
        rows.update("rows", key(3), "SET phase = :s", json!({":s": "-done"}))
            .unwrap();
    };
    assert_eq!(counted(trestle_api::OperationName::UpdateItem, &update), (6, 3));
    let delete = || {
        let delete = DeleteItem {
            table_name: "rows".to_owned(),
            key: plain(key(8)),
            ..DeleteItem::default()
        };
        shop.models.run(delete).unwrap();
    };
    assert_eq!(counted(trestle_api::OperationName::DeleteItem, &delete), (6, 3));
}

#[test]
fn all_entries_are_the_same_as_without_a_migration() {
    let rows = |shop: &Shop| {
        let mut rows: Vec<String> = shop
            .lying()
            .iter()
            .map(|(_, row)| serde_json::to_value(row).unwrap().to_string())
            .collect();
        rows.sort();
        rows
    };
    let moved = filled();
    moved.try_start(&both_moved(), FAST);
    moved.pages(1);
    change(&moved);
    moved.sweep();
    let fresh = Shop::empty();
    fresh.models.apply(&both_moved());
    for n in 0..40 {
        fresh
            .models
            .put("rows", run(n, &["all", if n % 2 == 0 { "even" } else { "odd" }]))
            .unwrap();
    }
    change(&fresh);
    assert_eq!(rows(&moved), rows(&fresh));
}

#[test]
fn clients_of_the_former_layout_search_on() {
    let shop = filled();
    shop.try_start(&both_moved(), FAST);
    shop.pages(1);
    let odd: Vec<String> = (0..20).map(|n| format!("r{}", 2 * n + 1)).collect();
    assert_eq!(tagged(&shop, "t#tag#odd"), odd);
    assert_eq!(tagged(&shop, "tags/t/odd"), odd);
}

#[test]
fn what_set_gives_is_in_entries_that_have_it() {
    let shop = filled();
    let text = both_moved()
        .replace("runs/{tenant}\"", "runs/{tenant}/{region}\"")
        .replace("tags/{tenant}/{tag}", "tags/{tenant}/{region}/{tag}")
        .replace(
            "started = \"integer\"",
            "started = \"integer\"\nregion = { type = \"string\", chars = \"a-z\" }",
        )
        .replace(
            "[entity.run.entries",
            "[entity.run.migrate]\nset = { region = \"eu\" }\n[entity.run.entries",
        );
    let plan = shop.try_start(&text, FAST);
    assert!(!plan.is_refused(), "{plan}");
    shop.pages(1);
    let mut moved = key(3);
    moved["region"] = json!("eu");
    shop.models
        .update("rows", moved, "SET tags = :t", json!({":t": ["third"]}))
        .unwrap();
    assert_eq!(tagged(&shop, "tags/t/eu/third"), ["r3"]);
    assert_eq!(tagged(&shop, "tags/t/eu/all").len(), 39);
    assert_eq!(shop.sweep().state, MigrationState::Verified);
    assert_eq!(tagged(&shop, "tags/t/eu/all").len(), 39);
    let entries = shop.lying();
    let mut entries = entries
        .iter()
        .filter(|(_, row)| text_of(row, "kind").contains("entries"));
    assert!(entries.all(|(_, row)| row.get("region") == Some(&AttributeValue::from("eu"))));
}

fn text_of<'r>(row: &'r Item, name: &str) -> &'r str {
    text(row, name)
}

#[test]
fn a_key_that_does_not_say_where_an_entry_lay_is_in_the_way_with_a_way_out() {
    let shop = filled();
    let text = runs_moved().replace("{started:06}#{id}", "{id}");
    let plan = shop.try_start(&text, FAST);
    assert!(plan.is_refused(), "{plan}");
    let said = plan.to_string();
    assert!(said.contains("entity `run.entries.by_tag` had the key"), "{said}");
    assert!(said.contains("give the entries another name"), "{said}");
}

#[test]
fn what_a_move_gives_a_row_its_entries_get_too_or_it_is_in_the_way() {
    for given in [
        "[entity.run.migrate]\nset = { phase = \"open\" }\n[entity.run.entries",
        "[entity.run.entries",
    ] {
        let with = |text: String| {
            let text = text.replace("[entity.run.entries", given);
            match given.contains("migrate") {
                true => text,
                false => text.replace(
                    "phase = { type = \"string\", optional = true }",
                    "phase = { type = \"string\", default = \"open\" }",
                ),
            }
        };
        let shop = filled();
        let plan = shop.try_start(&with(runs_moved()), FAST);
        assert!(plan.is_refused(), "{plan}");
        let said = plan.to_string();
        assert!(
            said.contains(
                "entity `run.entries.by_tag` carries `phase`, which rows of `run` get when they move"
            ),
            "{said}"
        );
        let plan = shop.try_start(&with(both_moved()), FAST);
        assert!(!plan.is_refused(), "{plan}");
        shop.pages(1);
        assert_eq!(tagged(&shop, "tags/t/all")[..2], ["r0open", "r1open"]);
        assert_eq!(shop.sweep().state, MigrationState::Verified);
        let mut found = Found::default();
        let (mut view, now) = (shop.models.view(), shop.models.now());
        let verified = verify(&mut view, now, VerifyOptions::default(), &mut found).unwrap();
        assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
        shop.db()
            .models()
            .roll_back_migration(None, &mut Unwatched)
            .unwrap();
        assert_eq!(shop.sweep().state, MigrationState::RolledBack);
        let verified = verify(&mut shop.models.view(), now, VerifyOptions::default(), &mut found).unwrap();
        assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
    }
}

fn says_that_rows_are_removed(plan: &trestle_binding::MigrationPlan) -> bool {
    let mut notes = plan.report.notes.iter();
    notes.any(|note| note.contains("are removed in the background"))
}

#[test]
fn entries_that_move_are_not_said_to_be_removed() {
    for text in [runs_moved(), entries_moved(), both_moved()] {
        let shop = filled();
        let db = shop.db();
        let plan = db
            .models()
            .plan_migration(&text, PlanOptions::default(), &mut Unwatched);
        assert!(!says_that_rows_are_removed(&plan.unwrap()));
        assert!(!says_that_rows_are_removed(&shop.try_start(&text, FAST)));
        let back = db.models().roll_back_migration(None, &mut Unwatched).unwrap();
        assert!(!says_that_rows_are_removed(&back.unwrap()));
    }
}

/// The model with other keys of the runs, and without entries.
fn entries_dropped() -> String {
    let text = runs_moved();
    let (without, _) = text.split_once("[entity.run.entries").unwrap();
    without.to_owned()
}

fn open(text: &str) -> String {
    text.replace(
        "entity_attribute = \"kind\"",
        "entity_attribute = \"kind\"\nopen = true",
    )
}

fn entries_lying(shop: &Shop) -> usize {
    let lying = shop.lying();
    let entries = lying
        .iter()
        .filter(|(_, row)| text_of(row, "kind").contains("entries"));
    entries.count()
}

/// Lets background work run until nothing is left to remove.
fn cleared(shop: &Shop) {
    shop.db().begin_work().unwrap();
    let is_clearing = || {
        let documents = shop.models.documents();
        documents.iter().any(|(name, _)| name.starts_with("clearing/"))
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while is_clearing() {
        assert!(std::time::Instant::now() < deadline, "entries stay");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn entries_that_a_migration_drops_are_removed_once_it_is_finished() {
    for text in [entries_dropped(), open(&entries_dropped())] {
        for restarts in [false, true] {
            let shop = filled();
            let plan = shop.try_start(&text, FAST);
            assert!(!plan.is_refused(), "{plan}");
            assert!(says_that_rows_are_removed(&plan), "{plan}");
            shop.pages(1);
            shop.models.put("rows", run(50, &["all"])).unwrap();
            assert_eq!(shop.sweep().state, MigrationState::Verified);
            assert_eq!(entries_lying(&shop), 80);
            let mut found = Found::default();
            let (mut view, now) = (shop.models.view(), shop.models.now());
            let verified = verify(&mut view, now, VerifyOptions::default(), &mut found).unwrap();
            assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
            assert_eq!(verified.models[0].to_do.rows_to_clear, 80);
            shop.db().models().finish_migration(None).unwrap();
            let shop = if restarts { shop.restarted() } else { shop };
            cleared(&shop);
            assert_eq!(entries_lying(&shop), 0);
            assert_eq!(shop.lying().len(), 41);
        }
    }
}

#[test]
fn entries_that_only_the_version_of_the_migration_has_go_on_the_way_back() {
    let shop = Shop::empty();
    shop.models
        .apply(BEFORE.split_once("[entity.run.entries").unwrap().0);
    assert!(!shop.try_start(&both_moved(), FAST).is_refused());
    shop.models.put("rows", run(1, &["all", "odd"])).unwrap();
    assert_eq!(entries_lying(&shop), 2);
    let back = shop
        .db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap()
        .unwrap();
    assert!(!back.is_refused(), "{back}");
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    cleared(&shop);
    assert_eq!(entries_lying(&shop), 0);
    assert_eq!(shop.lying().len(), 1);
}

#[test]
fn a_migration_that_drops_an_effect_says_that_there_is_no_way_back_and_what_there_is() {
    let shop = filled();
    let plan = shop.try_start(&entries_dropped(), FAST);
    assert!(!plan.can_be_rolled_back, "{plan}");
    let said = plan.to_string();
    assert!(said.contains("it cannot be rolled back: "), "{said}");
    assert!(said.contains("(entries by_tag of entity run)"), "{said}");
    assert!(!said.contains("it can be rolled back"), "{said}");
    assert_eq!(shop.sweep().state, MigrationState::Verified);
    let db = shop.db();
    let back = db
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap()
        .unwrap();
    assert!(back.is_refused(), "{back}");
    assert!(back.to_string().contains("`trestle migrate finish`"), "{back}");
    // Its advice leads back.
    db.models().finish_migration(None).unwrap();
    let without = BEFORE.split_once("[entity.run.entries").unwrap().0;
    assert!(!shop.try_start(without, FAST).is_refused());
    assert_eq!(shop.sweep().state, MigrationState::Verified);
    db.models().finish_migration(None).unwrap();
    assert_eq!(shop.models.try_apply(BEFORE, FILL).outcome, Outcome::Applied);
    assert_eq!(entries_lying(&shop), 80);
}
