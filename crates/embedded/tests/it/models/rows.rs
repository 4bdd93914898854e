//! Rows that are older than the model: refused with their reasons.

use crate::models::support::{DRY, FILL, PLAIN, SHOP, TestDb, create, empty, text};
use serde_json::json;
use trestle_binding::{Outcome, Report};

fn whole(number: u32) -> serde_json::Value {
    json!({
        "pk": "customer#ann", "sk": format!("order#{number:08}"), "kind": "order", "customer": "ann",
        "number": number, "status": "open", "status_key": "open#ann", "placed": "2026-11-15T10:00:00.000Z",
    })
}

fn shop(rows: impl IntoIterator<Item = serde_json::Value>) -> TestDb {
    let models = empty();
    create(&models, "shop", &["pk", "sk"]);
    for row in rows {
        models.put("shop", row).unwrap();
    }
    models
}

/// The one reason why rows are refused.
fn misfit(models: &TestDb, text: &str) -> (String, u64) {
    let report = models.try_apply(text, FILL);
    assert_eq!(report.outcome, Outcome::Refused, "{report}");
    let [misfit] = &report.rows[0].misfits[..] else {
        panic!("{report}")
    };
    assert!(models.db().models().list().is_empty(), "nothing is stored");
    (format!("{} / {}", misfit.reason, misfit.example), misfit.rows)
}

fn without(mut row: serde_json::Value, attributes: &[&str]) -> serde_json::Value {
    for attribute in attributes {
        row.as_object_mut().unwrap().remove(*attribute);
    }
    row
}

fn with(mut row: serde_json::Value, attribute: &str, value: serde_json::Value) -> serde_json::Value {
    row[attribute] = value;
    row
}

#[test]
fn rows_that_are_whole_stay_as_they_are() {
    let models = shop((1..=30).map(whole));
    let before = models.rows("shop");
    let report = models.apply(SHOP);
    assert_eq!(report.rows[0].looked_at, 30);
    assert_eq!(report.rows[0].to_fill_in, 0);
    assert_eq!(models.rows("shop"), before);
    assert!(models.db().models().list()[0].filled_in);
}

#[test]
fn rows_of_no_entity_are_refused_ten_by_key_and_the_rest_by_number() {
    let strangers = (0..25).map(|at| json!({"pk": format!("x{at:02}"), "sk": "y", "kind": "stranger"}));
    let models = shop(strangers.chain([whole(1)]));
    let report = models.try_apply(SHOP, PLAIN);
    assert_eq!(report.outcome, Outcome::Refused);
    let misfit = &report.rows[0].misfits[0];
    assert_eq!((misfit.rows, misfit.keys.len()), (25, 10));
    assert_eq!(misfit.keys[0]["sk"]["S"], "y");
    let text = report.to_string();
    assert!(text.contains("25 rows: no entity of the model"), "{text}");
    assert!(text.contains("and 15 more"), "{text}");
    // An open table accepts them.
    models.apply(&SHOP.replace("entity_attribute", "open = true\nentity_attribute"));
}

#[test]
fn rows_that_could_be_either_of_two_are_refused() {
    let text = r#"
        model = "two"
        [table.shop]
        key = ["pk", "sk"]
        entity_attribute = "kind"
        same_shape = [["one", "other"]]
        [entity.one]
        table = "shop"
        key = { pk = "{a}", sk = "{b}" }
        attributes = { a = "string", b = "string" }
        [entity.other]
        table = "shop"
        key = { pk = "{c}", sk = "{d}" }
        attributes = { c = "string", d = "string" }
    "#;
    let models = shop([json!({"pk": "1", "sk": "2"})]);
    let (reason, rows) = misfit(&models, text);
    assert!(reason.starts_with("could be any of one, other"), "{reason}");
    assert_eq!(rows, 1);
}

#[test]
fn rows_whose_keys_are_not_what_their_attributes_give_need_a_migration() {
    let models = shop([with(whole(1), "pk", json!("cust/ann"))]);
    let (reason, _) = misfit(&models, SHOP);
    assert!(
        reason.contains("key pk is not what the attributes give: needs a migration"),
        "{reason}"
    );
    assert!(reason.contains("cust/ann"), "{reason}");

    // An index key can be derived anew in place.
    let models = shop([with(whole(1), "status_key", json!("ann/open"))]);
    assert_eq!(models.try_apply(SHOP, PLAIN).outcome, Outcome::Refused);
    let filled = models.try_apply(SHOP, FILL);
    assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
    assert_eq!(text(&models.rows("shop")[0], "status_key"), "open#ann");
}

#[test]
fn rows_that_lack_what_nobody_can_know_or_have_it_wrong_are_refused() {
    let models = shop([without(whole(1), &["placed"])]);
    assert!(misfit(&models, SHOP).0.contains("attribute placed is missing"));
    let models = shop([with(whole(1), "placed", json!("yesterday"))]);
    assert!(
        misfit(&models, SHOP)
            .0
            .contains("attribute placed is not as the model says")
    );
    let closed = SHOP.replace(
        "[entity.order.attributes]",
        "closed = true\n[entity.order.attributes]",
    );
    let models = shop([with(whole(1), "colour", json!("red"))]);
    assert!(
        misfit(&models, &closed)
            .0
            .contains("attribute colour is not declared")
    );
}

#[test]
fn another_template_of_the_tables_key_needs_a_migration() {
    let models = empty();
    models.apply(SHOP);
    for number in 1..=3 {
        models.put("shop", whole(number)).unwrap();
    }
    let changed = SHOP.replace("sk = \"order#{number:08}\"", "sk = \"order#{number:06}\"");
    let report = models.try_apply(&changed, FILL);
    assert_eq!(report.outcome, Outcome::Refused, "{report}");
    assert_eq!(report.rows[0].misfits[0].rows, 3);
    assert!(report.to_string().contains("needs a migration"), "{report}");
    assert_eq!(models.db().models().list()[0].version, 1);
}

#[test]
fn rows_that_lack_what_can_be_derived_are_refused_with_the_way_out() {
    let lacking = without(whole(1), &["kind", "status", "status_key"]);
    let models = shop([lacking, whole(2)]);
    let refused = |report: &Report| {
        assert_eq!(report.outcome, Outcome::Refused, "{report}");
        let text = report.to_string();
        assert!(text.contains("1 of 2 rows lack"), "{text}");
        assert!(text.contains("--fill fills them in"), "{text}");
    };
    refused(&models.try_apply(SHOP, PLAIN));
    refused(&models.try_apply(SHOP, DRY));
}
