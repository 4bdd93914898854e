//! The next version of a program, with other keys, on the database of the previous one.

use crate::models::manhunt::Manhunt;
use crate::support::gateway;
use trestle::api::PutItem;
use trestle::migrate::{MigrateError, MigrationState, Rate, StartOptions};
use trestle::typed::{Bookmark, Timestamp};
use trestle::{ApplyError, Embedded, Item, Options, Wait};

mod before {
    trestle::model!("examples/shop.toml");
}
mod after {
    trestle::model!("examples/shop-2.toml");
}

const FAST: StartOptions = StartOptions {
    rate: Rate::UNLIMITED,
    finish: false,
    paused: false,
    delete_indexes: false,
};

/// A database of the previous program, with so many orders of ada.
fn with_orders(orders: i64) -> Embedded {
    let embedded = Embedded::in_memory(Options::default()).unwrap();
    let db = before::Shop::apply_to(&embedded).unwrap();
    for number in 1..=orders {
        db.put(&order(number)).wait().unwrap();
    }
    embedded
}

fn order(number: i64) -> before::NewOrder {
    before::NewOrder {
        customer: "ada".into(),
        number,
        placed: Timestamp::parse("2024-05-01T08:00:00.000Z").unwrap(),
        cents: 1250,
    }
}

#[test]
fn a_program_with_other_keys_is_told_to_migrate_and_then_finds_every_row() {
    let embedded = with_orders(20);
    let refused = after::Shop::apply_to(&embedded).unwrap_err();
    assert!(matches!(refused, ApplyError::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("needs a migration"), "{refused}");

    let (db, migration) = after::Shop::migrate_to(&embedded, StartOptions { paused: true, ..FAST }).unwrap();
    let found = |db: &after::Shop<Embedded>| db.orders_of_customer("ada").collect().wait().unwrap().len();
    assert_eq!(found(&db), 20);
    db.update_order(db.order("ada", 7).wait().unwrap().unwrap().key())
        .set_cents(1)
        .wait()
        .unwrap();
    assert_eq!(db.order("ada", 7).wait().unwrap().unwrap().cents, 1);
    assert_eq!(
        migration.wait().unwrap().state,
        MigrationState::Dual,
        "it is paused"
    );
    migration.resume(None).unwrap();
    assert_eq!(migration.wait().unwrap().state, MigrationState::Verified);
    assert_eq!(found(&db), 20);
    assert_eq!(migration.finish().unwrap().state, MigrationState::Done);
}

#[test]
fn a_program_that_starts_again_goes_on_and_later_has_nothing_to_do() {
    let embedded = with_orders(20);
    drop(after::Shop::migrate_to(&embedded, StartOptions { paused: true, ..FAST }).unwrap());
    let (_, migration) = after::Shop::migrate_to(&embedded, FAST).unwrap();
    assert_eq!(migration.status().unwrap().state, MigrationState::Dual);
    migration.resume(None).unwrap();
    assert_eq!(migration.wait().unwrap().rows_moved, 20);
    migration.finish().unwrap();
    let (db, migration) = after::Shop::migrate_to(&embedded, FAST).unwrap();
    assert_eq!(migration.status().unwrap().state, MigrationState::Done);
    assert!(db.order("ada", 20).wait().unwrap().is_some());
}

#[test]
fn a_program_goes_back_to_the_version_before() {
    let embedded = with_orders(20);
    let (_, migration) = after::Shop::migrate_to(&embedded, FAST).unwrap();
    migration.wait().unwrap();
    assert!(!migration.roll_back().unwrap().unwrap().is_refused());
    assert_eq!(migration.wait().unwrap().state, MigrationState::RolledBack);
    let db = before::Shop::apply_to(&embedded).unwrap();
    assert_eq!(db.customer_with_orders("ada").collect().wait().unwrap().len(), 20);
}

#[test]
fn an_empty_database_needs_no_migration() {
    let embedded = Embedded::in_memory(Options::default()).unwrap();
    let (db, migration) = after::Shop::migrate_to(&embedded, FAST).unwrap();
    assert_eq!(migration.status(), None);
    assert!(db.order("ada", 1).wait().unwrap().is_none());
}

#[test]
fn a_plan_changes_nothing_and_a_second_way_is_refused_while_rows_are_on_the_first() {
    let embedded = with_orders(1);
    let plan = trestle::migrate::plan::<after::ShopModel>(&embedded).unwrap();
    assert_eq!(plan.moves[0].rows, 1);
    // During the migration to another version, a program of the previous version cannot begin a migration.
    let (_, migration) = after::Shop::migrate_to(&embedded, StartOptions { paused: true, ..FAST }).unwrap();
    let error = before::Shop::migrate_to(&embedded, FAST).unwrap_err();
    assert!(matches!(error, MigrateError::Bind(_)), "{error}");
    assert!(error.to_string().contains("on the move (dual)"), "{error}");
    drop(migration);
}

#[test]
fn a_model_that_is_applied_during_a_migration_stays_in_force_when_the_migration_goes_on() {
    let embedded = with_orders(20);
    let (_, migration) = after::Shop::migrate_to(&embedded, StartOptions { paused: true, ..FAST }).unwrap();
    Manhunt::apply_to(&embedded).unwrap();
    let no_contact = PutItem {
        table_name: "manhunt".into(),
        item: Item::from([("PK", "p"), ("SK", "contact")]),
        ..PutItem::default()
    };
    assert!(embedded.run(no_contact.clone()).is_err(), "it is no contact");
    migration.resume(None).unwrap();
    assert_eq!(migration.wait().unwrap().state, MigrationState::Verified);
    assert!(embedded.run(no_contact.clone()).is_err(), "after the rows moved");
    migration.finish().unwrap();
    assert!(embedded.run(no_contact).is_err(), "after the migration");
    assert_eq!(embedded.models().list().len(), 2);
}

/// A gateway lists the rows of an index in an order of its own meanwhile, and says so in its bookmarks.
#[test]
fn pages_of_an_index_continue_through_a_gateway_while_rows_move() {
    let gateway = gateway();
    let before = before::Shop::apply_to(&gateway).unwrap();
    for number in 1..=20 {
        before.put(&order(number)).wait().unwrap();
    }
    let (db, migration) = after::Shop::migrate_to(&gateway, StartOptions { paused: true, ..FAST }).unwrap();
    let page = |after: Option<Bookmark>| {
        let open = db.orders_by_status(after::OrderStatus::Open);
        open.page_size(3).continued(after).page().wait().unwrap()
    };
    let (mut numbers, mut next) = (Vec::new(), None);
    for turn in 0.. {
        let read = page(next);
        numbers.extend(read.rows.into_iter().map(|order| order.number));
        next = read.next;
        if turn == 2 {
            migration.resume(None).unwrap();
            assert_eq!(migration.wait().unwrap().state, MigrationState::Verified);
        }
        if next.is_none() {
            break;
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}
