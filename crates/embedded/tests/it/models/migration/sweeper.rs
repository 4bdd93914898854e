//! A thread that moves rows in the background.

use super::{FAST, Shop};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_binding::MigrationState;
use trestle_embedded::{Embedded, StartOptions, Unwatched};

const PATIENCE: Duration = Duration::from_secs(20);

/// The database with its background work.
fn sweeping(shop: &Shop) -> Embedded {
    let db = shop.db();
    db.begin_work().unwrap();
    db
}

/// Waits until the migration of a model is in this state.
fn wait(db: &Embedded, model: &str, state: MigrationState) {
    let begun = Instant::now();
    loop {
        let status = db.models().migration_status(Some(model)).unwrap();
        if status.state == state {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sweeper_hears_of_a_start_and_of_a_rollback() {
    let shop = Shop::with_orders(300);
    let db = sweeping(&shop);
    let text = super::new_layout();
    db.models().start_migration(&text, FAST, &mut Unwatched).unwrap();
    wait(&db, "shop", MigrationState::Verified);
    assert_eq!(shop.former(), 0);
    db.models().roll_back_migration(None, &mut Unwatched).unwrap();
    wait(&db, "shop", MigrationState::RolledBack);
    assert_eq!(shop.former(), 300);
}

#[test]
fn a_sweeper_goes_on_after_a_restart_and_waits_for_the_clock() {
    let shop = Shop::with_orders(30);
    let rate = "10".parse().unwrap();
    shop.start(StartOptions { rate, ..FAST });
    let shop = shop.restarted();
    let db = sweeping(&shop);
    wait(&db, "shop", MigrationState::Sweeping);
    assert!(shop.former() >= 28, "time stands still");
    // Each hour is long enough for the next page.
    let clock = Arc::clone(&shop.clock);
    let mover = std::thread::spawn(move || {
        for _ in 0..400 {
            clock.advance(Duration::from_secs(1));
            std::thread::yield_now();
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    wait(&db, "shop", MigrationState::Verified);
    assert_eq!(shop.former(), 0);
    mover.join().unwrap();
}

#[test]
fn a_migration_that_is_paused_stands_still_while_another_goes_on() {
    let shop = Shop::with_orders(300);
    let other = "model = \"other\"\n[table.other]\nkey = [\"pk\"]\n[entity.note]\ntable = \"other\"\nkey = { pk = \"n#{id}\" }\nattributes = { id = \"string\" }\n";
    shop.models.apply(other);
    for id in 0..300 {
        let note = serde_json::json!({"id": id.to_string()});
        shop.models.put("other", note).unwrap();
    }
    shop.start(StartOptions { paused: true, ..FAST });
    let db = sweeping(&shop);
    let moved = other.replace("n#", "note/");
    db.models().start_migration(&moved, FAST, &mut Unwatched).unwrap();
    wait(&db, "other", MigrationState::Verified);
    assert_eq!(shop.former(), 300);
}
