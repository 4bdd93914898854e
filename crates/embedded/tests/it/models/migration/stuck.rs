//! Rows that cannot move: shown with the reason, never lost.

use super::{FAST, Shop, former_key, own_row};
use crate::models::support::plain;
use serde_json::{Value, json};
use trestle_api::{DeleteItem, PutItem};
use trestle_binding::{BindError, MigrationState};
use trestle_embedded::Unwatched;

/// Writes without models, as no client can.
fn behind_the_models(shop: &Shop, write: impl Fn(&Shop)) {
    shop.models.behind_the_models(|_| write(shop));
}

fn spoil(shop: &Shop, number: i64) {
    let mut row: Value = former_key(number);
    row["kind"] = json!("order");
    row["customer"] = json!("ann");
    row["number"] = json!(number);
    let put = PutItem {
        table_name: "shop".to_owned(),
        item: plain(row),
        ..PutItem::default()
    };
    behind_the_models(shop, |shop| {
        shop.models.run(put.clone()).unwrap();
    });
}

#[test]
fn a_row_that_cannot_move_holds_the_migration_up_until_it_can() {
    let shop = Shop::with_orders(5);
    shop.start(FAST);
    spoil(&shop, 7);
    let status = shop.sweep();
    assert_eq!(status.state, MigrationState::Sweeping, "{status}");
    assert!(status.held_up, "{status}");
    assert_eq!((status.rows_moved, status.stuck.rows), (5, 1), "{status}");
    let stuck = &status.stuck.shown[0];
    assert_eq!(stuck.key, serde_json::to_value(plain(former_key(7))).unwrap());
    assert!(stuck.reason.contains("placed"), "{}", stuck.reason);
    let text = status.to_string();
    assert!(text.lines().next().unwrap().ends_with("; held up"), "{text}");
    assert!(text.contains("cannot move: table shop, {\"pk\":"), "{text}");
    assert_eq!(
        shop.order(5),
        Some(own_row(5)),
        "the others are where they belong"
    );
    assert!(matches!(
        shop.db().models().finish_migration(None),
        Err(BindError::NotNow { .. })
    ));

    let shop = shop.restarted();
    let status = shop.sweep();
    assert!(status.held_up && status.stuck.rows == 1, "{status}");
    shop.db().models().resume_migration(None, None).unwrap();
    assert!(shop.sweep().held_up, "tried again, and still stuck");

    behind_the_models(&shop, |shop| {
        let delete = DeleteItem {
            table_name: "shop".to_owned(),
            key: plain(former_key(7)),
            ..DeleteItem::default()
        };
        shop.models.run(delete).unwrap();
    });
    shop.db().models().resume_migration(None, None).unwrap();
    let status = shop.sweep();
    assert_eq!(status.state, MigrationState::Verified, "{status}");
    assert_eq!(status.stuck.rows, 0);
}

#[test]
fn a_row_that_appears_after_the_sweep_is_found_by_the_look_that_follows() {
    let shop = Shop::with_orders(3);
    shop.start(FAST);
    shop.sweep_until(MigrationState::Verifying);
    let mut late = super::order(9);
    for (name, value) in former_key(9).as_object().unwrap() {
        late[name] = value.clone();
    }
    behind_the_models(&shop, |shop| shop.models.put("shop", late.clone()).unwrap());
    let status = shop.sweep();
    assert_eq!(status.state, MigrationState::Verified, "{status}");
    assert_eq!((status.rows_moved, shop.former()), (4, 0), "{status}");
}

#[test]
fn a_row_that_cannot_move_is_no_hindrance_on_the_way_back() {
    let shop = Shop::with_orders(5);
    shop.start(FAST);
    spoil(&shop, 7);
    assert!(shop.sweep().held_up);
    let plan = shop
        .db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap()
        .unwrap();
    assert!(!plan.is_refused(), "{plan}");
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    assert_eq!(shop.former(), 6);
}

#[test]
fn only_the_first_rows_that_cannot_move_are_shown_and_all_are_counted() {
    let shop = Shop::with_orders(1);
    shop.start(FAST);
    for number in 100..130 {
        spoil(&shop, number);
    }
    let status = shop.sweep();
    assert_eq!((status.stuck.rows, status.stuck.shown.len()), (30, 20));
    assert!(status.to_string().contains("and 10 more rows"), "{status}");
}
