//! Rollback to the previous version: byte for byte, or refused.

use super::{FAST, Shop, former_key, new_layout, order};
use crate::models::support::{PLAIN, SHOP, text};
use serde_json::json;
use trestle_binding::{BindError, MigrationPlan, MigrationState, Outcome};
use trestle_embedded::{StartOptions, Unwatched};

fn rolled_back(shop: &Shop) -> MigrationPlan {
    let plan = shop
        .db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap();
    plan.unwrap()
}

#[test]
fn every_row_comes_back_byte_for_byte_from_every_state() {
    for state in [
        MigrationState::Dual,
        MigrationState::Sweeping,
        MigrationState::Verifying,
        MigrationState::Verified,
    ] {
        let shop = Shop::with_orders(300);
        let before = shop.lying();
        shop.start(FAST);
        shop.sweep_until(state);
        if state == MigrationState::Sweeping {
            shop.pages(1);
        }
        let plan = rolled_back(&shop);
        assert!(!plan.is_refused(), "{plan}");
        assert_eq!(shop.state(), MigrationState::RollingBack);
        assert_eq!(shop.db().models().list()[0].version, 3);
        let status = shop.sweep();
        assert_eq!(status.state, MigrationState::RolledBack, "{status}");
        assert_eq!(status.rolled_back_as, Some(3));
        assert_eq!(shop.lying(), before, "from {state}");
        assert_eq!(shop.models.try_apply(SHOP, PLAIN).outcome, Outcome::NothingToDo);
    }
}

#[test]
fn what_the_new_version_gave_rows_is_taken_back() {
    let wider = new_layout()
        .replace("shop/{customer}", "shop/{tenant}/{customer}")
        .replace(
            "customer = \"string\"",
            "customer = \"string\"\ntenant = \"string\"",
        )
        + "\n[entity.order.migrate]\nset = { tenant = \"main\" }\n";
    let shop = Shop::with_orders(20);
    let before = shop.lying();
    let plan = shop.try_start(&wider, FAST);
    assert!(!plan.is_refused(), "{plan}");
    shop.sweep();
    assert_eq!(shop.former(), 0);
    let plan = rolled_back(&shop);
    assert!(!plan.is_refused(), "{plan}");
    shop.sweep();
    assert_eq!(shop.lying(), before);
}

#[test]
fn rows_that_the_version_before_cannot_hold_refuse_the_way_back() {
    let wider = new_layout()
        .replace("shop/{customer}", "shop/{tenant}/{customer}")
        .replace(
            "customer = \"string\"",
            "customer = \"string\"\ntenant = \"string\"",
        )
        + "\n[entity.order.migrate]\nset = { tenant = \"main\" }\n";
    let shop = Shop::with_orders(2);
    shop.try_start(&wider, FAST);
    let mut other = order(1);
    other["tenant"] = json!("second");
    shop.models.put("shop", other.clone()).unwrap();
    let plan = rolled_back(&shop);
    assert_eq!(plan.report.outcome, Outcome::Refused, "{plan}");
    assert!(plan.to_string().contains("shop/second/ann"), "{plan}");
    assert!(
        plan.to_string()
            .contains("cannot be rolled back; nothing was changed"),
        "{plan}"
    );
    assert_eq!(shop.state(), MigrationState::Dual);
    assert_eq!(shop.db().models().list()[0].version, 2);
    let delete = trestle_api::DeleteItem {
        table_name: "shop".to_owned(),
        key: crate::models::support::plain(json!({"customer": "ann", "number": 1, "tenant": "second"})),
        ..trestle_api::DeleteItem::default()
    };
    shop.models.run(delete).unwrap();
    assert!(!rolled_back(&shop).is_refused());
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
}

#[test]
fn what_was_written_meanwhile_comes_back_too_and_both_keys_are_understood_on_the_way() {
    let shop = Shop::with_orders(300);
    shop.start(FAST);
    shop.pages(1);
    shop.models.put("shop", order(301)).unwrap();
    shop.models
        .update(
            "shop",
            json!({"customer": "ann", "number": 5}),
            "SET note = :n",
            json!({":n": "x"}),
        )
        .unwrap();
    rolled_back(&shop);
    shop.models
        .update(
            "shop",
            json!({"pk": "shop/ann", "sk": "o/00000006"}),
            "SET note = :n",
            json!({":n": "y"}),
        )
        .unwrap();
    for number in [1, 5, 301] {
        let row = shop.order(number).unwrap();
        assert_eq!(text(&row, "sk"), format!("order#{number:08}"));
    }
    shop.sweep();
    assert_eq!(shop.former(), 301);
    let noted = |number| text(&shop.models.get("shop", former_key(number)).unwrap(), "note").to_owned();
    assert_eq!((noted(5).as_str(), noted(6).as_str()), ("x", "y"));
}

#[test]
fn a_rollback_is_paused_and_resumed_and_not_finished_or_turned_round_again() {
    let shop = Shop::with_orders(600);
    shop.start(FAST);
    shop.sweep();
    rolled_back(&shop);
    shop.pages(1);
    shop.db().models().pause_migration(None).unwrap();
    let left = shop.former();
    assert_eq!(shop.sweep().state, MigrationState::RollingBack);
    assert_eq!(shop.former(), left);
    assert!(matches!(
        shop.db().models().finish_migration(None),
        Err(BindError::NotNow { .. })
    ));
    assert!(matches!(
        shop.db().models().roll_back_migration(None, &mut Unwatched),
        Err(BindError::OnTheMove { .. })
    ));
    shop.db().models().resume_migration(None, None).unwrap();
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    let again = shop.try_start(&new_layout(), StartOptions { finish: true, ..FAST });
    assert!(!again.is_refused(), "{again}");
    assert_eq!(shop.sweep().state, MigrationState::Done);
}

#[test]
fn a_way_back_in_the_midst_of_a_sweep_looks_at_every_row_once() {
    let shop = Shop::empty();
    shop.models.apply(SHOP);
    for number in 1..=2000 {
        let mut order = order(number);
        order["customer"] = json!(format!("c{}", number % 300));
        order["note"] = json!("n".repeat(1500));
        shop.models.put("shop", order).unwrap();
    }
    shop.start(FAST);
    shop.pages(2);
    let plan = rolled_back(&shop);
    assert!(!plan.is_refused(), "{plan}");
    assert_eq!(plan.report.rows[0].looked_at, 2000, "{plan}");
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    assert_eq!(shop.former(), 2000);
}

#[test]
fn a_paused_way_back_and_a_migration_that_is_over_name_what_can_be_done() {
    let shop = Shop::with_orders(3);
    shop.start(FAST);
    shop.sweep();
    rolled_back(&shop);
    let db = shop.db();
    let paused = db.models().pause_migration(None).unwrap();
    assert_eq!(
        paused.next,
        "`trestle migrate resume shop` continues the rollback"
    );
    db.models().resume_migration(None, None).unwrap();
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    let refused = db.models().finish_migration(None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there is no migration of any model that is not over; `trestle migrate plan FILE` plans one"
    );
}
