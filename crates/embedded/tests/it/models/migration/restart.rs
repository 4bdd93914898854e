//! Kill -9 in every state: the same versions are in effect after the restart, and the migration continues.

use super::{FAST, Shop, former_key, own_row};
use serde_json::json;
use std::time::Duration;
use trestle_binding::MigrationState;
use trestle_embedded::{PlanOptions, StartOptions, Unwatched};

#[test]
fn a_plan_survives_and_changes_nothing() {
    let shop = Shop::with_orders(3);
    let planned =
        shop.db()
            .models()
            .plan_migration(&super::new_layout(), PlanOptions::default(), &mut Unwatched);
    planned.unwrap();
    let shop = shop.restarted();
    assert_eq!(shop.state(), MigrationState::Planned);
    assert_eq!(
        shop.db().models().planned_model(Some("shop")).unwrap(),
        super::new_layout()
    );
    assert_eq!(shop.former(), 3);
    assert_eq!(shop.db().models().list()[0].version, 1);
    shop.models.put("shop", super::order(4)).unwrap();
    assert_eq!(shop.former(), 4, "the version before is in effect");
}

/// Reads and writes in both layouts, as during a migration.
fn both_layouts_are_understood(shop: &Shop) {
    let rows = shop.lying().len();
    for number in 1..=rows as i64 {
        assert_eq!(shop.order(number), Some(own_row(number)), "order {number}");
        let by_old_key = shop.models.get("shop", former_key(number));
        assert_eq!(
            by_old_key,
            Some(own_row(number)),
            "order {number} by its former key"
        );
    }
    assert_eq!(shop.models.rows("shop").len(), rows);
}

#[test]
fn a_restart_in_any_state_goes_on_where_it_was() {
    for state in [
        MigrationState::Dual,
        MigrationState::Sweeping,
        MigrationState::Verifying,
        MigrationState::Verified,
    ] {
        let shop = Shop::with_orders(300);
        shop.start(FAST);
        shop.sweep_until(state);
        let shop = shop.restarted();
        assert_eq!(shop.state(), state);
        both_layouts_are_understood(&shop);
        assert_eq!(shop.sweep().state, MigrationState::Verified, "after {state}");
        assert_eq!(shop.former(), 0, "after {state}");
        both_layouts_are_understood(&shop);
        shop.db().models().finish_migration(None).unwrap();
        let shop = shop.restarted();
        assert_eq!(shop.state(), MigrationState::Done);
        assert_eq!(shop.models.get("shop", former_key(1)), None, "its key is history");
    }
}

#[test]
fn a_restart_after_every_page_loses_and_repeats_nothing() {
    let mut shop = Shop::with_orders(700);
    shop.start(StartOptions { finish: true, ..FAST });
    let mut restarts = 0;
    while shop.state() != MigrationState::Done {
        shop.pages(1);
        shop = shop.restarted();
        assert_eq!(shop.lying().len(), 700);
        restarts += 1;
        assert!(restarts < 100, "{}", shop.status());
    }
    assert_eq!(shop.former(), 0);
    assert_eq!(shop.models.rows("shop").len(), 700);
}

/// Orders of many customers, distributed over the table.
fn of_many_customers(shop: &Shop, number: i64) -> Vec<Option<trestle_item::Item>> {
    let customers = (0..60).map(|at| format!("c{at}"));
    let get = |customer: String| {
        shop.models
            .get("shop", json!({"customer": customer, "number": number}))
    };
    customers.map(get).collect()
}

#[test]
fn what_was_swept_before_a_restart_is_read_in_one_place_and_nothing_is_missed() {
    let shop = Shop::empty();
    shop.models.apply(super::super::support::SHOP);
    for (at, number) in (0..60).flat_map(|at| [(at, 1), (at, 2), (at, 3)]) {
        let mut order = super::order(number);
        order["customer"] = json!(format!("c{at}"));
        shop.models.put("shop", order).unwrap();
    }
    shop.start(FAST);
    shop.pages(4);
    // The progress is stored with the next page.
    shop.clock.advance(Duration::from_secs(3));
    let moved = shop.pages(1).rows_moved;
    assert!((40..140).contains(&moved), "{moved}");
    let shop = shop.restarted();
    let before = shop.status().double_reads;
    assert!(of_many_customers(&shop, 2).iter().all(Option::is_some));
    assert!(of_many_customers(&shop, 9).iter().all(Option::is_none));
    let double_reads = shop.status().double_reads - before;
    assert!((20..110).contains(&double_reads), "{double_reads} of 120");

    // During a rollback, the places of the new version are the former ones.
    shop.db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap();
    assert!(of_many_customers(&shop, 2).iter().all(Option::is_some));
    let shop = shop.restarted();
    assert!(of_many_customers(&shop, 3).iter().all(Option::is_some));
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    assert!(of_many_customers(&shop, 1).iter().all(Option::is_some));
    assert_eq!(shop.former(), 180);
}

#[test]
fn a_pause_a_rate_and_the_wish_to_finish_survive() {
    let shop = Shop::with_orders(3);
    let rate = "77".parse().unwrap();
    shop.start(StartOptions {
        rate,
        finish: true,
        ..FAST
    });
    shop.db().models().pause_migration(None).unwrap();
    let status = shop.restarted().status();
    assert_eq!(
        (status.rate, status.paused, status.finishes_by_itself),
        (rate, true, true)
    );
}

#[test]
fn a_rollback_goes_on_after_a_restart() {
    let shop = Shop::with_orders(600);
    shop.start(FAST);
    shop.pages(2);
    shop.db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap();
    let shop = shop.restarted();
    assert_eq!(shop.state(), MigrationState::RollingBack);
    shop.pages(1);
    let shop = shop.restarted();
    let row = shop
        .models
        .get("shop", json!({"pk": "shop/ann", "sk": "o/00000007"}));
    assert_eq!(row.unwrap().get("sk"), Some(&"order#00000007".into()));
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    assert_eq!(shop.former(), 600);
}

#[test]
fn how_often_former_places_were_read_is_remembered_across_states() {
    let shop = Shop::with_orders(3);
    shop.start(FAST);
    for number in 1..=3 {
        shop.order(number);
    }
    assert_eq!(shop.status().double_reads, 3);
    shop.sweep();
    let shop = shop.restarted();
    assert_eq!(shop.status().double_reads, 3);
}
