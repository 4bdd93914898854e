//! What is refused during a migration, and errors that suggest one.

use super::{FAST, Shop, new_layout};
use crate::models::support::{FILL, PLAIN, SHOP};
use trestle_binding::{BindError, MigrationState, Outcome};
use trestle_embedded::{PlanOptions, Unwatched};

#[test]
fn a_model_with_other_keys_is_not_applied_and_the_way_is_shown() {
    let shop = Shop::with_orders(3);
    let report = shop.models.try_apply(&new_layout(), PLAIN);
    assert_eq!(report.outcome, Outcome::Refused, "{report}");
    assert_eq!(report.rows[0].misfits[0].rows, 3);
    assert!(
        report
            .to_string()
            .contains("needs a migration, `trestle migrate plan FILE`"),
        "{report}"
    );
    assert_eq!(shop.db().models().list()[0].version, 1);
}

#[test]
fn without_rows_a_model_with_other_keys_is_simply_applied() {
    let shop = Shop::with_orders(0);
    shop.models.apply(&new_layout());
    assert!(shop.db().models().migrations().is_empty());
}

#[test]
fn nothing_else_happens_to_a_model_until_its_rows_are_in_their_places() {
    let shop = Shop::with_orders(300);
    shop.start(FAST);
    let wider = new_layout().replace("[\"open\", \"paid\"]", "[\"open\", \"paid\", \"sent\"]");
    for state in [
        MigrationState::Dual,
        MigrationState::Sweeping,
        MigrationState::Verified,
    ] {
        shop.sweep_until(state);
        let refusals = [
            shop.db().models().apply(&wider, PLAIN, &mut Unwatched).map(drop),
            shop.db().models().apply(SHOP, PLAIN, &mut Unwatched).map(drop),
            shop.db()
                .models()
                .apply(&new_layout(), FILL, &mut Unwatched)
                .map(drop),
            shop.db().models().remove("shop"),
            shop.db()
                .models()
                .plan_migration(SHOP, PlanOptions::default(), &mut Unwatched)
                .map(drop),
            shop.db()
                .models()
                .start_migration(SHOP, FAST, &mut Unwatched)
                .map(drop),
        ];
        for refused in refusals {
            let error = refused.unwrap_err();
            assert!(matches!(error, BindError::OnTheMove { .. }), "{error}");
            assert!(error.to_string().contains("`trestle migrate "), "{error}");
        }
        let same = shop.models.try_apply(&new_layout(), PLAIN);
        assert_eq!(
            same.outcome,
            Outcome::NothingToDo,
            "a program that starts again: {same}"
        );
        assert_eq!(shop.state(), state);
    }
    shop.db().models().finish_migration(None).unwrap();
    shop.models.apply(&wider);
    shop.db().models().remove("shop").unwrap();
    assert!(shop.db().models().migrations().is_empty());
    assert!(shop.models.documents().is_empty());
}
