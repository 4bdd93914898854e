//! A backfill with concurrent writers, crashes and an unreliable target: a test for every source of rows.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use trestle_api::Database;
use trestle_events::{BackfillState, BackfillStatus, Backoff, Concurrency, Route, RouteStatus};

use crate::backfill::{all_rows, is_done};
use crate::order::moody;
use crate::support::{Recorder, World, pk, version};

/// The versions of each item that the target saw: one list for each run of the router, none of which may go
/// back.
fn assert_never_back(lives: &[HashMap<String, Vec<i64>>], newest: &HashMap<String, i64>, what: &str) {
    for (number, life) in lives.iter().enumerate() {
        for (item, versions) in life {
            assert!(
                versions.is_sorted(),
                "{what}, life {number}, {item}: {versions:?}"
            );
        }
    }
    for (item, newest) in newest {
        let last = lives.iter().rev().find_map(|life| life.get(item));
        assert_eq!(
            last.and_then(|versions| versions.last()),
            Some(newest),
            "{what}, {item}"
        );
    }
}

fn nothing_is_left(status: &RouteStatus) -> bool {
    let is_done = |backfill: &BackfillStatus| backfill.state == BackfillState::Done;
    status.parked == 0 && status.waiting == 0 && status.backfill.as_ref().is_none_or(is_done)
}

/// Writers put newer and newer versions of their items during a backfill, the router is killed repeatedly,
/// the target refuses changes and is unavailable at times, shards split, and items change their destinations.
/// The target must see the newest version of every item last, and within each run of the router never an
/// older one after a newer one.
pub(crate) fn storm(seed: u64, world: &Arc<World>, database: Arc<dyn Database>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (writers, items) = (4, 400);
    for writer in 0..writers {
        for item in 0..items {
            world.put(&format!("w{writer}-{item}"), 1);
        }
    }
    let target = Recorder::with(moody(seed));
    let per_destination = |per: Option<&str>| Concurrency {
        per: per.map(str::to_owned),
        most: 4,
    };
    let patient = Route {
        parallelization_factor: if seed.is_multiple_of(3) {
            random.usize(1..=4)
        } else {
            1
        },
        concurrency: match seed % 3 {
            0 => None,
            1 => Some(per_destination(None)),
            _ => Some(per_destination(Some("<new.n>"))),
        },
        batch_size: random.usize(5..=60),
        maximum_retry_attempts: 10_000,
        backoff: Backoff {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(1),
        },
        ..all_rows("r")
    };
    let ends = Arc::new(AtomicBool::new(false));
    let newest = Arc::new(AtomicI64::new(1));
    let writing: Vec<_> = (0..writers)
        .map(|writer| {
            let (world, ends) = (Arc::clone(world), Arc::clone(&ends));
            let mut random = fastrand::Rng::with_seed(seed * 100 + writer);
            let newest = Arc::clone(&newest);
            std::thread::spawn(move || {
                let mut written: HashMap<String, i64> = HashMap::new();
                while !ends.load(Ordering::Acquire) {
                    let item = format!("w{writer}-{}", random.usize(..items));
                    // Greater than every version before, of any item.
                    let version = newest.fetch_add(1, Ordering::AcqRel) + 1;
                    world.put(&item, version);
                    written.insert(item, version);
                    std::thread::sleep(Duration::from_millis(2));
                }
                written
            })
        })
        .collect();
    let mut lives = Vec::new();
    let mut seen = 0;
    let mut versions_since = |target: &Recorder| {
        let mut versions: HashMap<String, Vec<i64>> = HashMap::new();
        let taken = target.taken();
        for change in &taken[seen..] {
            versions.entry(pk(change)).or_default().push(version(change));
        }
        seen = taken.len();
        versions
    };
    let mut life = world.life_on(Arc::clone(&database), &[("r", Arc::clone(&target))]);
    life.apply([patient.clone()]);
    for crash in 0..5 {
        let enough = target.count() + random.usize(50..600);
        life.until_after("something to happen", Duration::from_millis(20), || {
            target.count() >= enough || nothing_is_left(&life.status("r"))
        });
        if crash == 2 {
            let shards = world.shards();
            let shard = &shards[random.usize(..shards.len())];
            world.engine.split_shard(&world.stream_arn(), shard).unwrap();
        }
        life.kill();
        lives.push(versions_since(&target));
        life = world.life_on(Arc::clone(&database), &[("r", Arc::clone(&target))]);
        life.apply([patient.clone()]);
    }
    life.until_after("the backfill", Duration::from_millis(50), || is_done(&life));
    ends.store(true, Ordering::Release);
    let mut newest: HashMap<String, i64> = HashMap::new();
    for writer in 0..writers {
        newest.extend((0..items).map(|item| (format!("w{writer}-{item}"), 1)));
    }
    for writer in writing {
        newest.extend(writer.join().unwrap());
    }
    life.until_after("nothing to be left", Duration::from_millis(50), || {
        // Checking every version takes time in which the clock does not advance.
        if !nothing_is_left(&life.status("r")) {
            return false;
        }
        let seen = target.versions();
        let is_last =
            |(item, version): (&String, &i64)| seen.get(item).and_then(|all| all.last()) == Some(version);
        newest.iter().all(is_last)
    });
    assert_eq!(life.status("r").dead, 0);
    lives.push(versions_since(&target));
    assert_never_back(&lives, &newest, &format!("seed {seed}"));
}
