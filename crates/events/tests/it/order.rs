//! At-least-once delivery in order per item, whatever the target does.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_events::{Backoff, Batch, Outcome, Route};

use crate::support::{Recorder, World, assert_in_order, route};

/// Takes some batches, refuses some, takes some in part, and is sometimes unavailable. A partial failure
/// includes all later changes of an item: a target that skips a change of an item and takes a later one
/// breaks the order itself.
pub(crate) fn moody(seed: u64) -> impl Fn(&Batch) -> Outcome {
    let random = Mutex::new(fastrand::Rng::with_seed(seed));
    move |batch| {
        let mut random = random.lock();
        match random.u8(..10) {
            0..4 => Outcome::Done,
            4..6 => Outcome::Refused("a mood".into()),
            6 if random.bool() => Outcome::Failed("a fault".into()),
            6 => Outcome::Unavailable("not now".into()),
            _ => {
                let mut failed: Vec<(String, String)> = Vec::new();
                let mut items = Vec::new();
                for delivery in &batch.deliveries {
                    if items.contains(&delivery.change.item_key()) || random.u8(..4) == 0 {
                        items.push(delivery.change.item_key());
                        failed.push((delivery.id.clone(), "not this one".into()));
                    }
                }
                Outcome::Partly(failed)
            }
        }
    }
}

#[test]
fn under_random_failures_every_change_arrives_and_each_item_is_in_order() {
    for seed in 1..=12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let target = Recorder::with(moody(seed));
        let life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([Route {
            parallelization_factor: random.usize(1..=4),
            batch_size: random.usize(1..=20),
            maximum_retry_attempts: 10_000,
            backoff: Backoff {
                first: Duration::from_millis(100),
                longest: Duration::from_secs(1),
            },
            ..route("r")
        }]);
        let (items, rounds) = (8, 15);
        for round in 1..=rounds {
            for item in 0..items {
                world.put(&format!("item-{item}"), round);
            }
            world.clock.advance(Duration::from_millis(random.u64(..300)));
        }
        life.until_after("everything", Duration::from_millis(100), || {
            target
                .versions()
                .values()
                .filter(|versions| versions.last() == Some(&rounds))
                .count()
                == items
        });
        life.until_after("nothing to be left", Duration::from_millis(100), || {
            let status = life.status("r");
            status.parked == 0 && status.waiting == 0
        });
        for (item, versions) in target.versions() {
            // Without a crash nothing is delivered twice.
            assert_eq!(
                versions,
                (1..=rounds).collect::<Vec<i64>>(),
                "seed {seed}, {item}"
            );
        }
        assert_eq!(life.status("r").dead, 0);
    }
}

#[test]
fn across_random_crashes_every_change_arrives_and_each_item_is_in_order() {
    for seed in 100..=108 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let target = Recorder::with(moody(seed));
        let lanes = random.usize(1..=3);
        let patient = || Route {
            parallelization_factor: lanes,
            batch_size: 7,
            maximum_retry_attempts: 10_000,
            backoff: Backoff {
                first: Duration::from_millis(100),
                longest: Duration::from_secs(1),
            },
            ..route("r")
        };
        let (items, rounds) = (6, 24);
        let mut life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([patient()]);
        for round in 1..=rounds {
            for item in 0..items {
                world.put(&format!("item-{item}"), round);
            }
            world.clock.advance(Duration::from_millis(random.u64(..300)));
            if random.u8(..4) == 0 {
                let enough = target.count() + random.usize(..10);
                life.until_after("something to happen", Duration::from_millis(50), || {
                    let status = life.status("r");
                    target.count() >= enough || (status.waiting == 0 && status.parked == 0)
                });
                life.kill();
                life = world.life(&[("r", Arc::clone(&target))]);
                life.apply([patient()]);
            }
        }
        life.until_after("nothing to be left", Duration::from_millis(100), || {
            let status = life.status("r");
            let last = target
                .versions()
                .values()
                .filter(|versions| versions.last() == Some(&rounds))
                .count();
            status.parked == 0 && status.waiting == 0 && last == items
        });
        for (item, versions) in target.versions() {
            assert_in_order(&format!("seed {seed}, {item}"), &versions, rounds);
        }
    }
}
