//! Filling in rows that are older than the model, and deriving rows from them.

use crate::models::support::{DRY_FILL, FILL, Found, PLAIN, SHOP, TestDb, create, empty, text};
use serde_json::json;
use trestle_binding::Outcome;
use trestle_embedded::{VerifyOptions, verify};
use trestle_item::Item;

fn fill(models: &TestDb, text: &str) -> trestle_binding::Report {
    let report = models.try_apply(text, FILL);
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
    assert!(models.db().models().list().iter().all(|model| model.filled_in));
    let again = models.try_apply(text, FILL);
    assert_eq!(again.outcome, Outcome::NothingToDo, "{again}");
    report
}

#[test]
fn index_keys_tags_and_defaults_are_filled_in() {
    let models = empty();
    create(&models, "shop", &["pk", "sk"]);
    for number in 1..=700 {
        let row = json!({
            "pk": "customer#ann", "sk": format!("order#{number:08}"), "placed": "2026-11-15T10:00:00.000Z",
        });
        models.put("shop", row).unwrap();
    }
    let report = fill(&models, SHOP);
    assert_eq!(report.rows[0].to_fill_in, 700);
    let rows = models.rows("shop");
    assert_eq!(rows.len(), 700);
    for row in &rows {
        assert_eq!(text(row, "kind"), "order");
        assert_eq!(text(row, "status_key"), "open#ann");
        assert_eq!(text(row, "customer"), "ann");
        assert!(row.contains_key("number"));
    }
    assert_eq!(
        models
            .partition("shop", "by_status", "status_key", "open#ann")
            .len(),
        700
    );
}

const VERSIONS: &str = r#"
    model = "versions"
    [table.things]
    key = ["pk", "sk"]
    entity_attribute = "kind"
    ttl = "until"
    [entity.version]
    table = "things"
    key = { pk = "thing#{thing}", sk = "version#{number:04}" }
    attributes = { thing = "string", number = "integer", state = { type = "string", optional = true } }
    [entity.version.head]
    key.sk = "head"
    newest_by = "number"
    promote = { set = { state = "latest" } }
    demote = { set = { state = "old" }, expire_after = "1d" }
"#;

fn versions(models: &TestDb, thing: &str, numbers: impl IntoIterator<Item = i64>) {
    for number in numbers {
        let row = json!({
            "pk": format!("thing#{thing}"), "sk": format!("version#{number:04}"), "thing": thing, "number": number,
        });
        models.put("things", row).unwrap();
    }
}

fn head(models: &TestDb, thing: &str) -> Item {
    let key = json!({"pk": format!("thing#{thing}"), "sk": "head"});
    models.get("things", key).unwrap()
}

#[test]
fn heads_are_made_of_the_newest_and_nothing_old_is_demoted() {
    let models = empty();
    create(&models, "things", &["pk", "sk"]);
    versions(&models, "a", [3, 1, 9, 4]);
    versions(&models, "b", [1]);
    fill(&models, VERSIONS);
    assert_eq!(head(&models, "a").get("number"), Some(&9_i64.into()));
    assert_eq!(head(&models, "b").get("number"), Some(&1_i64.into()));
    let rows = models.rows("things");
    let latest = rows
        .iter()
        .filter(|row| text(row, "sk") != "head" && text(row, "state") == "latest");
    assert_eq!(latest.count(), 2);
    assert!(
        rows.iter().all(|row| !row.contains_key("until")),
        "what was there does not expire"
    );
}

#[test]
fn the_newest_is_found_by_time_and_by_what_only_the_key_has() {
    let models = empty();
    create(&models, "things", &["pk", "sk"]);
    for (number, at) in [(1, "2026-11-15T10:00:00.500Z"), (2, "2026-11-15T10:00:00.000Z")] {
        let key = format!("version#{number:04}");
        let row = json!({"pk": "thing#a", "sk": key, "at": at});
        models.put("things", row).unwrap();
    }
    let by_time = VERSIONS
        .replace("newest_by = \"number\"", "newest_by = \"at\"")
        .replace("thing = \"string\",", "thing = \"string\", at = \"timestamp\",");
    fill(&models, &by_time);
    assert_eq!(head(&models, "a").get("number"), Some(&1_i64.into()));

    let models = empty();
    create(&models, "things", &["pk", "sk"]);
    for number in [3, 11, 4] {
        let row = json!({"pk": "thing#a", "sk": format!("version#{number:04}")});
        models.put("things", row).unwrap();
    }
    fill(&models, VERSIONS);
    assert_eq!(head(&models, "a").get("number"), Some(&11_i64.into()));
}

#[test]
fn a_head_that_was_set_back_stays_where_it_is() {
    let models = empty();
    create(&models, "things", &["pk", "sk"]);
    versions(&models, "a", [1, 2]);
    let set_back = json!({"pk": "thing#a", "sk": "head", "thing": "a", "number": 1});
    models.put("things", set_back).unwrap();
    fill(&models, VERSIONS);
    assert_eq!(head(&models, "a").get("number"), Some(&1_i64.into()));
    assert_eq!(text(&head(&models, "a"), "kind"), "version.head");
}

#[test]
fn heads_are_made_anew_where_the_attribute_of_the_tag_changes() {
    for other in ["", "entity_attribute = \"type\""] {
        let models = empty();
        models.apply(VERSIONS);
        for number in 1..4 {
            let row = json!({"kind": "version", "thing": "a", "number": number});
            models.put("things", row).unwrap();
        }
        let text = VERSIONS.replace("entity_attribute = \"kind\"", other);
        let refused = models.try_apply(&text, PLAIN);
        assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
        fill(&models, &text);
        assert_eq!(head(&models, "a").get("number"), Some(&3_i64.into()));
        let mut found = Found::default();
        let (mut view, now) = (models.view(), models.now());
        let verified = verify(&mut view, now, VerifyOptions::default(), &mut found).unwrap();
        assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
    }
}

const USERS: &str = r#"
    model = "users"
    [table.users]
    key = ["pk"]
    entity_attribute = "kind"
    [entity.user]
    table = "users"
    key = { pk = "user#{id}" }
    attributes = { id = "string", email = "string", team = "string" }
    [entity.user.unique.email]
    key = { pk = "email#{email|lower}" }
    [entity.user.inverse.members]
    entity = "team"
    of = "team"
    set = "members"
    [entity.team]
    table = "users"
    key = { pk = "team#{name}" }
    attributes = { name = "string", members = { type = "string-set", optional = true } }
"#;

fn user(models: &TestDb, id: &str, email: &str) {
    let row = json!({"pk": format!("user#{id}"), "id": id, "email": email, "team": "red"});
    models.put("users", row).unwrap();
}

#[test]
fn unique_values_and_inverses_are_made() {
    let models = empty();
    create(&models, "users", &["pk"]);
    user(&models, "1", "ann@x");
    user(&models, "2", "bob@x");
    fill(&models, USERS);
    let team = models.get("users", json!({"pk": "team#red"})).unwrap();
    let members = crate::models::support::plain(json!({"members": ["SS", "1", "2"]}));
    assert_eq!(team.get("members"), members.get("members"));
    let taken = models.put("users", json!({"id": "3", "email": "ANN@x", "team": "red"}));
    assert!(taken.is_err(), "the value of a row of before is taken");
}

#[test]
fn rows_that_share_a_value_which_shall_be_unique_are_named_and_nothing_changes() {
    let models = empty();
    create(&models, "users", &["pk"]);
    user(&models, "1", "ann@x");
    user(&models, "2", "Ann@x");
    user(&models, "3", "bob@x");
    for options in [DRY_FILL, FILL, PLAIN] {
        let report = models.try_apply(USERS, options);
        assert_eq!(report.outcome, Outcome::Refused, "{report}");
        let misfits = report.rows[0].misfits.iter();
        assert!(misfits.map(|misfit| misfit.rows).sum::<u64>() > 0, "{report}");
    }
    assert!(models.db().models().list().is_empty());
    assert_eq!(models.rows("users").len(), 3, "nothing was made");
    // Either row can be corrected.
    let email = json!({":e": "ann2@x"});
    let key = json!({"pk": "user#2"});
    models.update("users", key, "SET email = :e", email).unwrap();
    fill(&models, USERS);
    assert_eq!(models.try_apply(USERS, PLAIN).outcome, Outcome::NothingToDo);
}
