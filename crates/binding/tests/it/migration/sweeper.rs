//! A thread that moves rows on its own.

use super::{FAST, Shop};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use trestle_binding::{Binding, MigrationState, MigrationStatus, Nobody, StartOptions, Sweeper};
use trestle_env::Clock;

const PATIENCE: Duration = Duration::from_secs(20);

/// A sweeper of a binding of its own, and what it tells.
fn sweeping(shop: &Shop) -> (Arc<Binding>, Sweeper, impl Fn(MigrationState)) {
    let clock = Arc::clone(&shop.clock) as Arc<dyn Clock>;
    let binding = Arc::new(Binding::open(shop.models.engine.clone(), clock).unwrap());
    let (tell, told) = channel::<MigrationStatus>();
    let sweeper = Sweeper::start(Arc::clone(&binding), move |status| {
        let _ = tell.send(status.clone());
    });
    let wait = move |state| loop {
        let status = told.recv_timeout(PATIENCE).unwrap();
        if status.state == state {
            return;
        }
    };
    (binding, sweeper.unwrap(), wait)
}

#[test]
fn a_sweeper_hears_of_a_start_and_tells_every_state() {
    let shop = Shop::with_orders(300);
    let (binding, sweeper, wait) = sweeping(&shop);
    let text = super::new_layout();
    binding.start_migration(&text, FAST, &mut Nobody).unwrap();
    for state in [
        MigrationState::Sweeping,
        MigrationState::Verifying,
        MigrationState::Verified,
    ] {
        wait(state);
    }
    assert_eq!(shop.former(), 0);
    binding.roll_back_migration(None, &mut Nobody).unwrap();
    wait(MigrationState::RolledBack);
    assert_eq!(shop.former(), 300);
    drop(sweeper);
}

#[test]
fn a_sweeper_goes_on_after_a_restart_and_waits_for_the_clock() {
    let shop = Shop::with_orders(30);
    let rate = "10".parse().unwrap();
    shop.start(StartOptions { rate, ..FAST });
    let shop = shop.restarted();
    let (_binding, sweeper, wait) = sweeping(&shop);
    wait(MigrationState::Sweeping);
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
    wait(MigrationState::Verified);
    assert_eq!(shop.former(), 0);
    mover.join().unwrap();
    drop(sweeper);
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
    let (binding, sweeper, wait) = sweeping(&shop);
    let moved = other.replace("n#", "note/");
    binding.start_migration(&moved, FAST, &mut Nobody).unwrap();
    wait(MigrationState::Verified);
    assert_eq!(shop.former(), 300);
    drop(sweeper);
}
