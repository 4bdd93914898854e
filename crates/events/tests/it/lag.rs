//! How far routes are behind the newest change, whether it has been read for them or not.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::DescribeStream;
use trestle_engine::Options;
use trestle_events::{Outcome, Route, RouteState};

use crate::support::{Life, Recorder, World, route};

/// A route that never gives up.
fn patient(name: &str) -> Route {
    Route {
        maximum_retry_attempts: 10_000,
        ..route(name)
    }
}

fn away() -> Arc<Recorder> {
    Recorder::with(|_| Outcome::Unavailable("away".into()))
}

/// The records that a route is behind, once they have been counted.
fn records(life: &Life, name: &str, wanted: u64) {
    life.until(&format!("{name} to be {wanted} records behind"), || {
        let status = life.status(name);
        (status.lag_records, status.lag_at_least) == (wanted, false)
    });
}

#[test]
fn the_lag_of_a_route_that_stands_still_has_what_it_has_not_read() {
    let world = World::new();
    let (target, other) = (away(), Recorder::new());
    let life = world.life(&[("away", target.clone()), ("there", other.clone())]);
    life.apply([patient("away"), route("there")]);
    for n in 0..5000 {
        world.put(&format!("item-{}", n % 100), n);
    }
    records(&life, "away", 5000);
    let status = life.status("away");
    assert!(status.waiting < 4000, "the rest lies in the stream: {status:?}");
    records(&life, "there", 0);
    world.put("one", 1);
    records(&life, "away", 5001);

    target.behave(|_| Outcome::Done);
    life.until_after("everything", Duration::from_secs(1), || target.count() == 5001);
    records(&life, "away", 0);
    life.until("it to be idle", || {
        life.status("away").state == RouteState::Running
    });
    assert_eq!(life.status("away").lag_ms, 0);
}

#[test]
fn the_lag_in_time_is_the_age_of_the_oldest_change_that_is_not_done() {
    let world = World::new();
    let target = away();
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient("r")]);
    for n in 0..3000 {
        world.put(&format!("old-{n}"), 1);
    }
    life.until("the route to have read", || life.status("r").waiting > 0);
    assert_eq!(life.status("r").lag_ms, 0);
    for minutes in 1..=3 {
        world.clock.advance(Duration::from_secs(60));
        world.put("young", minutes);
        assert_eq!(life.status("r").lag_ms, 60_000 * minutes as u64);
    }
    records(&life, "r", 3003);
    target.behave(|_| Outcome::Done);
    life.until_after("everything", Duration::from_millis(100), || {
        target.count() == 3003
    });
    life.until("no lag", || life.status("r").lag_ms == 0);
}

#[test]
fn what_lies_behind_splits_and_in_the_next_stream_is_counted_too() {
    let world = World::with(Options {
        stream_shards: 2,
        ..Options::default()
    });
    let target = away();
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient("r")]);
    let write = |version| {
        for n in 0..2500 {
            world.put(&format!("item-{n}"), version);
        }
    };
    write(1);
    let request = DescribeStream {
        stream_arn: world.stream_arn(),
        ..DescribeStream::default()
    };
    let shards = world.engine.run(request).unwrap().stream_description.shards;
    world
        .engine
        .split_shard(&world.stream_arn(), &shards[0].shard_id)
        .unwrap();
    write(2);
    world.stream(false);
    world.stream(true);
    write(3);
    records(&life, "r", 7500);
    target.behave(|_| Outcome::Done);
    life.until_after("everything", Duration::from_secs(1), || target.count() == 7500);
    records(&life, "r", 0);
}

#[test]
fn what_waits_in_a_child_shard_for_its_parent_is_counted_though_there_is_room() {
    let world = World::with(Options {
        stream_shards: 1,
        ..Options::default()
    });
    let target = away();
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient("r")]);
    world.put("first", 1);
    life.until("the first to be tried", || !target.batches().is_empty());
    let request = DescribeStream {
        stream_arn: world.stream_arn(),
        ..DescribeStream::default()
    };
    let shards = world.engine.run(request).unwrap().stream_description.shards;
    world
        .engine
        .split_shard(&world.stream_arn(), &shards[0].shard_id)
        .unwrap();
    for n in 0..100 {
        world.put(&format!("item-{n}"), 1);
    }
    records(&life, "r", 101);
    assert_eq!(life.status("r").waiting, 1);
    target.behave(|_| Outcome::Done);
    life.until_after("everything", Duration::from_millis(100), || target.count() == 101);
    records(&life, "r", 0);
}

#[test]
fn a_router_that_starts_far_behind_says_so() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient("r")]);
    world.put("first", 1);
    life.until("the first", || target.count() == 1);
    life.stop();
    for n in 0..4000 {
        world.put(&format!("item-{n}"), 1);
    }
    world.clock.advance(Duration::from_secs(7200));
    target.behave(|_| Outcome::Unavailable("away".into()));
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient("r")]);
    records(&life, "r", 4000);
    assert!(life.status("r").lag_ms >= 7_200_000);
}
