//! From plan to end: each state, and the commands that are possible in it.

use super::{FAST, Shop, own_row};
use crate::models::support::{PLAIN, SHOP};
use std::time::Duration;
use trestle_binding::{BindError, MigrationState, Outcome, Rate};
use trestle_embedded::{PlanOptions, StartOptions, Unwatched};

#[test]
fn a_migration_goes_from_plan_to_end_and_every_row_moves() {
    let shop = Shop::with_orders(600);
    let plan =
        shop.db()
            .models()
            .plan_migration(&super::new_layout(), PlanOptions::default(), &mut Unwatched);
    assert_eq!(plan.unwrap().report.outcome, Outcome::Planned);
    assert_eq!(shop.state(), MigrationState::Planned);
    assert_eq!(shop.former(), 600);

    let text = shop.db().models().planned_model(None).unwrap();
    shop.try_start(&text, FAST);
    assert_eq!(shop.state(), MigrationState::Dual);
    assert_eq!(shop.db().models().list()[0].version, 2);
    assert_eq!(shop.former(), 600, "starting moves nothing");

    let status = shop.pages(1);
    assert_eq!(status.state, MigrationState::Sweeping);
    assert!(shop.former() > 0 && shop.former() < 600, "{}", shop.former());
    assert_eq!(status.rows_moved as usize, 600 - shop.former());
    assert_eq!(status.rows_remaining as usize, shop.former());
    assert!(status.done > 0.0 && status.done < 1.0, "{status}");

    shop.sweep_until(MigrationState::Verifying);
    assert_eq!(shop.former(), 0);
    let status = shop.sweep();
    assert_eq!(status.state, MigrationState::Verified, "{status}");
    assert_eq!(
        (status.rows_moved, status.rows_remaining, status.done),
        (600, 0, 1.0)
    );
    for number in [1, 300, 600] {
        assert_eq!(shop.order(number), Some(own_row(number)));
    }
    let status = shop.db().models().finish_migration(None).unwrap();
    assert_eq!(status.state, MigrationState::Done);
    assert_eq!(shop.lying().len(), 600);
}

#[test]
fn a_migration_that_finishes_by_itself_is_done_when_it_is_verified() {
    let shop = Shop::with_orders(3);
    shop.start(StartOptions { finish: true, ..FAST });
    assert_eq!(shop.sweep().state, MigrationState::Done);
}

#[test]
fn a_pause_holds_the_sweep_and_not_the_writes_and_a_resume_goes_on_at_another_rate() {
    let shop = Shop::with_orders(600);
    shop.start(FAST);
    shop.pages(1);
    let left = shop.former();
    assert!(shop.db().models().pause_migration(None).unwrap().paused);
    assert_eq!(shop.sweep().state, MigrationState::Sweeping);
    assert_eq!(shop.former(), left, "a sweep that is paused moves nothing");
    for number in 1..=600 {
        shop.models.put("shop", super::order(number)).unwrap();
    }
    assert_eq!(shop.former(), 0, "a row that is written moves");
    let rate = "7".parse().unwrap();
    let status = shop.db().models().resume_migration(None, Some(rate)).unwrap();
    assert_eq!((status.paused, status.rate), (false, rate));
    shop.db()
        .models()
        .resume_migration(None, Some(Rate::UNLIMITED))
        .unwrap();
    assert_eq!(shop.sweep().state, MigrationState::Verified);
}

#[test]
fn a_migration_that_starts_paused_stays_dual_until_it_is_resumed() {
    let shop = Shop::with_orders(3);
    shop.start(StartOptions { paused: true, ..FAST });
    assert_eq!(shop.sweep().state, MigrationState::Dual);
    assert_eq!(shop.former(), 3);
    shop.db().models().resume_migration(Some("shop"), None).unwrap();
    assert_eq!(shop.sweep().state, MigrationState::Verified);
}

#[test]
fn rows_move_no_faster_than_the_rate() {
    let shop = Shop::with_orders(100);
    let rate = "80".parse().unwrap();
    shop.start(StartOptions { rate, ..FAST });
    // A page has the rows of a fortieth of a second; the next one is not due while time does not advance.
    assert_eq!(shop.pages(2).rows_moved, 2);
    for pages in 1..=10 {
        shop.clock.advance(Duration::from_millis(25));
        assert_eq!(shop.pages(1).rows_moved, 2 + 2 * pages);
    }
}

#[test]
fn what_cannot_be_done_now_is_refused_with_what_can() {
    let shop = Shop::with_orders(3);
    let none = shop.db().models().finish_migration(None).unwrap_err();
    assert!(none.to_string().contains("trestle migrate plan FILE"), "{none}");
    shop.start(FAST);
    let early = shop.db().models().finish_migration(None).unwrap_err();
    assert!(matches!(early, BindError::NotNow { .. }), "{early}");
    assert!(
        early.to_string().contains("is dual, so it cannot be finished"),
        "{early}"
    );
    shop.sweep();
    let late = shop.db().models().pause_migration(None).unwrap_err();
    assert!(
        late.to_string()
            .contains("is verified, so there is nothing to pause; `trestle migrate finish shop`"),
        "{late}"
    );
    shop.db().models().finish_migration(None).unwrap();
    let over = shop
        .db()
        .models()
        .roll_back_migration(Some("shop"), &mut Unwatched)
        .unwrap_err();
    assert!(
        over.to_string().contains("is done, so it cannot be rolled back"),
        "{over}"
    );
}

#[test]
fn a_second_migration_follows_the_first() {
    let shop = Shop::with_orders(5);
    shop.start(StartOptions { finish: true, ..FAST });
    shop.sweep();
    let back = shop.try_start(SHOP, StartOptions { finish: true, ..FAST });
    assert!(!back.is_refused(), "{back}");
    assert_eq!(shop.sweep().state, MigrationState::Done);
    assert_eq!(shop.former(), 5);
    assert_eq!(shop.models.try_apply(SHOP, PLAIN).outcome, Outcome::NothingToDo);
}
