//! The content of a plan, before anything changes.

use super::{FAST, Shop, former_key, new_layout, order};
use crate::models::support::{SHOP, plain};
use serde_json::json;
use trestle_api::{PutItem, UpdateTable};
use trestle_binding::{BindError, MigrationPlan, MigrationState, Outcome, Step};
use trestle_embedded::{PlanOptions, Unwatched};

fn planned(shop: &Shop, text: &str) -> MigrationPlan {
    let options = PlanOptions {
        dry_run: true,
        ..PlanOptions::default()
    };
    shop.db()
        .models()
        .plan_migration(text, options, &mut Unwatched)
        .unwrap()
}

#[test]
fn a_plan_counts_what_moves_and_shows_both_keys() {
    let shop = Shop::with_orders(5);
    let plan = planned(&shop, &new_layout());
    assert_eq!(plan.report.outcome, Outcome::Planned, "{plan}");
    let moved = &plan.moves[0];
    assert_eq!(
        (moved.entity.as_str(), moved.table.as_str(), moved.rows),
        ("order", "shop", 5)
    );
    assert_eq!(moved.keys[1].before, "order#{number:08}");
    assert_eq!(moved.keys[1].now, "o/{number:08}");
    assert_eq!(
        plan.report.steps,
        [
            Step::StoreModel { version: 2 },
            Step::MoveRows {
                table: "shop".to_owned(),
                rows: 5
            }
        ]
    );
    assert!(plan.can_be_rolled_back);
    let text = plan.to_string();
    assert!(
        text.contains(
            "entity order, table shop: 5 rows move\n  pk: customer#{customer} -> shop/{customer}\n"
        ),
        "{text}"
    );
    assert!(text.contains("table shop: 5 rows, of which 5 move, "), "{text}");
    assert!(
        text.contains("note: it can be rolled back until it is finished"),
        "{text}"
    );
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<MigrationPlan>(&json).unwrap(), plan);
    assert!(
        shop.db().models().migrations().is_empty(),
        "a dry run keeps nothing"
    );
}

#[test]
fn what_else_is_new_in_the_version_comes_with_it_and_before_it() {
    let shop = Shop::with_orders(2);
    let text = new_layout()
        .replace(
            "[entity.order]\n",
            "[table.shop.index.by_day]\nkey = [\"day_key\"]\n\n[entity.order]\n",
        )
        .replace("status_key = \"", "day_key = \"day#{placed}\", status_key = \"")
        .replace(
            "placed = \"timestamp\"",
            "placed = \"timestamp\"\nurgent = { type = \"boolean\", default = false }",
        );
    let plan = shop.try_start(&text, FAST);
    assert!(!plan.is_refused(), "{plan}");
    assert!(matches!(plan.report.steps[0], Step::CreateIndex { .. }), "{plan}");
    let day = |shop: &Shop| {
        shop.models
            .partition("shop", "by_day", "day_key", "day#2026-11-15T10:00:00.000Z")
    };
    let before = day(&shop);
    assert_eq!(
        before.len(),
        2,
        "rows are found by a key that they are yet to get"
    );
    shop.sweep();
    assert_eq!(day(&shop), before);
    assert_eq!(before[0].get("urgent"), Some(&false.into()));
}

#[test]
fn rows_that_would_not_fit_are_named_with_the_reason_and_nothing_begins() {
    let shop = Shop::with_orders(2);
    let mut long = order(3);
    long["customer"] = json!("c".repeat(40));
    shop.models.put("shop", long).unwrap();
    let short = new_layout().replace(
        "customer = \"string\"",
        "customer = { type = \"string\", length = \"1..10\" }",
    );
    let plan = shop.try_start(&short, FAST);
    assert_eq!(plan.report.outcome, Outcome::Refused, "{plan}");
    let misfit = &plan.report.rows[0].misfits[0];
    assert_eq!(misfit.rows, 1);
    assert!(misfit.reason.contains("attribute customer"), "{plan}");
    assert!(misfit.keys[0].to_string().contains("order#00000003"), "{plan}");
    assert_eq!(shop.db().models().list()[0].version, 1);
    assert_eq!(shop.former(), 3);
}

#[test]
fn a_row_that_would_be_too_large_in_its_new_place_is_found_before_it_is_stuck() {
    let shop = Shop::with_orders(1);
    let mut large = order(2);
    // Room for its present key, but not for a longer one.
    large["note"] = json!("n".repeat(400 * 1024 - 160));
    shop.models.put("shop", large).unwrap();
    let longer = new_layout().replace(
        "shop/{customer}",
        &format!("shop/{}/{{customer}}", "x".repeat(100)),
    );
    let plan = shop.try_start(&longer, FAST);
    assert!(plan.is_refused(), "{plan}");
    assert!(plan.to_string().contains("Item size has exceeded"), "{plan}");
}

#[test]
fn a_row_that_has_the_place_of_another_is_a_collision() {
    let shop = Shop::empty();
    shop.models.apply(&open(SHOP));
    shop.models.put("shop", order(1)).unwrap();
    let stray = PutItem {
        table_name: "shop".to_owned(),
        item: plain(json!({"pk": "shop/ann", "sk": "o/00000001", "kind": "stray"})),
        ..PutItem::default()
    };
    shop.models.run(stray).unwrap();
    let plan = shop.try_start(&open(&new_layout()), FAST);
    assert!(plan.is_refused(), "{plan}");
    let taken = plan
        .report
        .rows
        .iter()
        .flat_map(|rows| &rows.misfits)
        .find(|misfit| misfit.reason.contains("taken by another row"));
    let taken = taken.unwrap_or_else(|| panic!("{plan}"));
    assert_eq!(taken.keys[0], serde_json::to_value(plain(former_key(1))).unwrap());
}

fn open(text: &str) -> String {
    text.replace("entity_attribute", "open = true\nentity_attribute")
}

#[test]
fn versions_that_cannot_be_told_apart_are_hindrances_with_a_way_out() {
    let shop = Shop::with_orders(1);
    let plan = planned(
        &shop,
        &SHOP.replace("order#{number:08}", "order#{number:08}x{customer}"),
    );
    let plain_move = planned(&shop, &SHOP.replace("customer#{customer}", "customer"));
    for plan in [plan, plain_move].iter().filter(|plan| plan.is_refused()) {
        assert!(!plan.hindrances.is_empty(), "{plan}");
        assert!(plan.to_string().contains("help: "), "{plan}");
        assert!(
            plan.to_string()
                .ends_with("cannot be migrated; nothing was changed"),
            "{plan}"
        );
    }
    // The customer is removed from the key: the former key of a row could not be computed.
    let lost = SHOP.replace("pk = \"customer#{customer}\"", "pk = \"all\"");
    let plan = planned(&shop, &lost);
    assert!(plan.is_refused(), "{plan}");
    assert_eq!(plan.hindrances[0].entity, "order");
}

#[test]
fn access_patterns_that_look_everywhere_meanwhile_are_noted() {
    let patterns = "\n[access.by_state]\nquery = \"by_status\"\nwhere = { status = \"{status}\", customer = \"{customer}\" }\nreturns = \"order\"\n[access.of_customer]\nquery = \"shop\"\nwhere = { customer = \"{customer}\" }\nreturns = \"order\"\n";
    let shop = Shop::with_orders(2);
    let plan = planned(&shop, &(new_layout() + patterns));
    assert_eq!(plan.slow_reads, [""; 0], "{plan}");
    // The former index key contains nothing that the present one does not contain.
    let other_index = new_layout().replace("{status}#{customer}", "{customer}.{status}");
    let plan = planned(&shop, &(other_index + patterns));
    assert_eq!(plan.slow_reads, [""; 0], "{plan}");
    let other_index = new_layout().replace("{status}#{customer}", "of {customer}");
    let by_customer = patterns.replace("status = \"{status}\", ", "");
    let plan = planned(&shop, &(other_index + &by_customer));
    assert_eq!(plan.slow_reads, ["by_state"], "{plan}");
    assert!(
        plan.to_string()
            .contains("access pattern by_state reads the whole table"),
        "{plan}"
    );
}

#[test]
fn nothing_to_move_and_no_model_are_said() {
    let shop = Shop::with_orders(1);
    let plan = |text: &str| {
        let options = PlanOptions::default();
        shop.db()
            .models()
            .plan_migration(text, options, &mut Unwatched)
            .unwrap_err()
    };
    let same = plan(&SHOP.replace("[\"open\", \"paid\"]", "[\"open\", \"paid\", \"sent\"]"));
    assert!(
        matches!(same, BindError::NothingMoves { version: 1, .. }),
        "{same}"
    );
    assert!(
        same.to_string().contains("`trestle model apply FILE --fill`"),
        "{same}"
    );
    let other = plan(&new_layout().replace("model = \"shop\"", "model = \"store\""));
    assert!(matches!(other, BindError::NoModel { .. }), "{other}");
}

#[test]
fn rows_that_stay_and_lack_something_must_be_filled_in_first() {
    let both = |text: &str| {
        text.to_owned()
            + "[entity.note]\ntable = \"shop\"\nkey = { pk = \"note#{id}\", sk = \"note\" }\nattributes = { id = \"string\" }\n"
    };
    let shop = Shop::empty();
    shop.models.apply(&both(SHOP));
    shop.models.put("shop", order(1)).unwrap();
    shop.models
        .put("shop", json!({"kind": "note", "id": "a"}))
        .unwrap();
    let new = both(&new_layout()).replace(
        "attributes = { id = \"string\" }",
        "attributes = { id = \"string\", colour = { type = \"string\", default = \"red\" } }",
    );
    let plan = shop.try_start(&new, FAST);
    assert!(plan.is_refused(), "{plan}");
    assert!(plan.to_string().contains("fill them in first"), "{plan}");
}

#[test]
fn a_plan_is_forgotten_by_rolling_it_back() {
    let shop = Shop::with_orders(1);
    let kept = shop
        .db()
        .models()
        .plan_migration(&new_layout(), PlanOptions::default(), &mut Unwatched);
    kept.unwrap();
    assert!(
        shop.db()
            .models()
            .roll_back_migration(None, &mut Unwatched)
            .unwrap()
            .is_none()
    );
    assert_eq!(shop.state(), MigrationState::RolledBack);
    assert!(shop.db().models().planned_model(Some("shop")).is_err());
}

#[test]
fn a_table_that_is_gone_has_nothing_to_move() {
    let shop = Shop::with_orders(3);
    shop.start(FAST);
    let streamless = UpdateTable {
        table_name: "shop".to_owned(),
        deletion_protection_enabled: Some(false),
        ..UpdateTable::default()
    };
    shop.models.run(streamless).unwrap();
    let delete = trestle_api::DeleteTable {
        table_name: "shop".to_owned(),
    };
    shop.models.run(delete).unwrap();
    assert_eq!(shop.sweep().state, MigrationState::Verified);
}

/// Writes while a migration begins: after the last check of the rows, before the new version is in effect.
struct Meanwhile<'s> {
    shop: &'s Shop,
    refused: Vec<String>,
}

impl trestle_embedded::Watcher for Meanwhile<'_> {
    fn step(&mut self, _: &Step) {
        let mut long = order(7);
        long["customer"] = json!("c".repeat(40));
        let refused = self.shop.models.put("shop", long).unwrap_err();
        self.refused.push(refused.message().to_owned());
        self.shop.models.put("shop", order(8)).unwrap();
    }

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}
}

#[test]
fn nothing_that_could_not_move_is_written_while_a_migration_begins() {
    let short = new_layout().replace(
        "customer = \"string\"",
        "customer = { type = \"string\", length = \"1..10\" }",
    );
    let shop = Shop::with_orders(2);
    let mut meanwhile = Meanwhile {
        shop: &shop,
        refused: Vec::new(),
    };
    let plan = shop
        .db()
        .models()
        .start_migration(&short, FAST, &mut meanwhile)
        .unwrap();
    assert!(!plan.is_refused(), "{plan}");
    assert!(
        meanwhile.refused[0].contains("a migration is about to begin"),
        "{:?}",
        meanwhile.refused
    );
    assert_eq!(shop.former(), 3);
    assert_eq!(shop.sweep().state, MigrationState::Verified);
}

#[test]
fn a_migration_that_is_refused_leaves_writes_as_they_were() {
    let short = new_layout().replace(
        "customer = \"string\"",
        "customer = { type = \"string\", length = \"1..10\" }",
    );
    let shop = Shop::with_orders(1);
    let mut long = order(3);
    long["customer"] = json!("c".repeat(40));
    shop.models.put("shop", long.clone()).unwrap();
    assert!(shop.try_start(&short, FAST).is_refused());
    shop.models.put("shop", long).unwrap();
}
