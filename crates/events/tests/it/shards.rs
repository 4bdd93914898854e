//! Streams that end and begin again, and shards that split, while they are read.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::DescribeStream;
use trestle_engine::Options;
use trestle_events::{Outcome, Route, RouteState};
use trestle_item::{Item, codec, key};

use crate::support::{Recorder, World, assert_in_order, pk, route};

fn open_shards(world: &World) -> Vec<String> {
    let request = DescribeStream {
        stream_arn: world.stream_arn(),
        ..DescribeStream::default()
    };
    let shards = world.engine.run(request).unwrap().stream_description.shards;
    let open = shards
        .into_iter()
        .filter(|shard| shard.sequence_number_range.ending_sequence_number.is_none());
    open.map(|shard| shard.shard_id).collect()
}

#[test]
fn shards_that_split_while_they_are_read_lose_nothing_and_keep_each_item_in_order() {
    let world = World::with(Options {
        stream_shards: 2,
        ..Options::default()
    });
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        parallelization_factor: 3,
        batch_size: 10,
        ..route("r")
    }]);
    let (items, rounds) = (30, 12);
    for round in 1..=rounds {
        for item in 0..items {
            world.put(&format!("item-{item}"), round);
            if item == 15 {
                let open = open_shards(&world);
                world
                    .engine
                    .split_shard(&world.stream_arn(), &open[round as usize % open.len()])
                    .unwrap();
            }
        }
    }
    life.until("all changes", || target.count() == (items * rounds) as usize);
    for (item, versions) in target.versions() {
        assert_in_order(&item, &versions, rounds);
    }
}

#[test]
fn a_backlog_in_shards_that_were_split_is_read_parents_first() {
    let world = World::with(Options {
        stream_shards: 1,
        ..Options::default()
    });
    // More than a page of each shard, so that a reader that alternates between them would overtake.
    let (items, rounds) = (10, 300);
    for round in 1..=rounds {
        if round == 130 || round == 260 {
            for shard in open_shards(&world) {
                world.engine.split_shard(&world.stream_arn(), &shard).unwrap();
            }
        }
        for item in 0..items {
            world.put(&format!("item-{item}"), round);
        }
    }
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        parallelization_factor: 3,
        ..route("r")
    }]);
    life.until("all changes", || target.count() == (items * rounds) as usize);
    for (item, versions) in target.versions() {
        assert_eq!(versions, (1..=rounds).collect::<Vec<i64>>(), "{item}");
    }
}

/// The lane of four that takes an item.
fn lane(item: &str) -> u64 {
    key::hash(&codec::encode(&Item::from([("pk", item)]))) % 4
}

/// Writes after `divide` wait until everything before it is durably done: after a crash, changes that are
/// read again must not follow later ones.
fn what_comes_later_waits(divide: impl Fn(&World)) {
    let world = World::with(Options {
        stream_shards: 1,
        ..Options::default()
    });
    let stuck = (0..).map(|n| format!("stuck-{n}"));
    let stuck = stuck.into_iter().find(|item| lane(item) != lane("a")).unwrap();
    let target = Recorder::with(|batch| {
        let mut items = batch.deliveries.iter().map(|delivery| pk(&delivery.change));
        if items.any(|item| item.starts_with("stuck")) {
            Outcome::Unavailable("away".into())
        } else {
            Outcome::Done
        }
    });
    let other = Recorder::new();
    let targets = [("r", target.clone()), ("other", other.clone())];
    let divided = Route {
        parallelization_factor: 4,
        maximum_retry_attempts: 1000,
        ..route("r")
    };
    let life = world.life(&targets);
    life.apply([divided.clone(), route("other")]);
    world.put(&stuck, 1);
    world.put("a", 1);
    life.until("the first", || target.count() == 1);
    divide(&world);
    world.put("a", 2);
    life.until("the other route", || other.count() == 3);
    // Time in which the second would arrive too early.
    std::thread::sleep(Duration::from_millis(50));
    life.kill();

    target.behave(|_| Outcome::Done);
    let life = world.life(&targets);
    life.apply([divided, route("other")]);
    life.until_after("everything", Duration::from_millis(100), || {
        let status = life.status("r");
        let is_done = status.state == RouteState::Running && status.lag_records == 0;
        is_done && target.versions().contains_key(&stuck)
    });
    assert_in_order("a", &target.versions()["a"], 2);
}

#[test]
fn a_child_shard_waits_until_everything_in_its_parent_is_done() {
    what_comes_later_waits(|world| {
        let shard = open_shards(world).pop().unwrap();
        world.engine.split_shard(&world.stream_arn(), &shard).unwrap();
    });
}

#[test]
fn a_stream_waits_until_everything_in_the_one_before_is_done() {
    what_comes_later_waits(|world| {
        world.stream(false);
        world.stream(true);
    });
}

#[test]
fn a_stream_that_is_switched_off_and_on_again_is_read_to_its_end_and_the_new_one_from_its_beginning() {
    let world = World::new();
    let target = Recorder::with(|_| Outcome::Unavailable("away".into()));
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 1000,
        ..route("r")
    }]);
    world.put("a", 1);
    world.put("b", 1);
    world.stream(false);
    // No reader sees this one, because there is no stream.
    world.put("a", 2);
    world.stream(true);
    world.put("a", 3);
    world.put("b", 3);
    life.until("the target to be asked", || !target.batches().is_empty());
    target.behave(|_| Outcome::Done);
    life.until_after("everything", Duration::from_millis(100), || target.count() == 4);
    assert_eq!(target.versions()["a"], [1, 3]);
    assert_eq!(target.versions()["b"], [1, 3]);
    // It continues at its position after a restart, too.
    life.until("the route to be idle", || {
        life.status("r").state == RouteState::Running
    });
    life.stop();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("a", 4);
    life.until("the next change", || target.count() == 5);
    assert_eq!(target.versions()["a"], [1, 3, 4]);
}

#[test]
fn a_route_can_be_there_before_the_stream_is() {
    let world = World::new();
    world.stream(false);
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route::new(
        "r",
        "T",
        trestle_events::Destination::new("handler", "r"),
    )]);
    life.until("the route to wait for a stream", || {
        life.status("r").state == RouteState::NoStream
    });
    world.stream(true);
    world.put("a", 1);
    life.until("the first change", || target.count() == 1);
}

#[test]
fn what_was_trimmed_while_a_route_was_off_is_said_and_the_rest_arrives() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    for item in 0..10 {
        world.put(&format!("item-{item}"), 1);
    }
    life.until("the first round", || target.count() == 10);
    life.stop();
    for item in 0..10 {
        world.put(&format!("item-{item}"), 2);
    }
    world.clock.advance(Duration::from_secs(25 * 3600));
    for item in 0..10 {
        world.put(&format!("item-{item}"), 3);
    }
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    life.until("the last round", || target.count() == 20);
    for (item, versions) in target.versions() {
        assert_eq!(versions, [1, 3], "{item}");
    }
    // The gap is stored, and the message says what to do.
    let gap = life.status("r").gaps.pop().unwrap();
    assert!(gap.after < gap.before, "{gap:?}");
    let error = life.status("r").last_error.unwrap().message;
    assert!(
        error.contains("`trestle routes backfill r` sends every present row"),
        "{error}"
    );
    life.kill();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([Route {
        enabled: false,
        ..route("r")
    }]);
    let gaps = vec![gap];
    assert_eq!(life.status("r").gaps, gaps);
    life.apply([route("r")]);
    // If its checkpoint was not stored before the kill, it finds the gap again.
    life.until("the same gap", || {
        let status = life.status("r");
        status.gaps == gaps && status.state == RouteState::Running
    });
    life.block_on(life.router.close_gaps("r")).unwrap();
    assert_eq!(life.status("r").gaps, []);
    life.stop();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    assert_eq!(life.status("r").gaps, []);
}

#[test]
fn a_stream_that_is_gone_before_anything_was_read_of_it_is_a_gap() {
    let world = World::new();
    let target = Recorder::new();
    let latest = Route::new("r", "T", trestle_events::Destination::new("handler", "r"));
    let life = world.life(&[("r", target.clone())]);
    life.apply([latest.clone()]);
    life.stop();
    world.put("a", 1);
    world.stream(false);
    world.clock.advance(Duration::from_secs(25 * 3600));
    let life = world.life(&[("r", target.clone())]);
    life.until_after("the stream to be gone", Duration::from_secs(1), || {
        let list = trestle_api::ListStreams::default();
        let streams = world.engine.run(list).unwrap().streams;
        streams.iter().all(|stream| stream.table_name != "T")
    });
    life.apply([latest]);
    life.until("the gap", || life.status("r").gaps.len() == 1);
    assert_eq!(life.status("r").gaps[0].after, None);
}

#[test]
fn a_quiet_stream_that_is_read_all_the_time_has_no_gap() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("a", 1);
    life.until("the first", || target.count() == 1);
    for hour in 1..=60 {
        world.clock.advance(Duration::from_secs(3600));
        // Time for one check: one in 24 hours is enough.
        std::thread::sleep(Duration::from_millis(2));
        if hour == 60 {
            world.put("a", 2);
        }
    }
    life.until("the second", || target.count() == 2);
    assert_eq!(life.status("r").gaps, []);
}

#[test]
fn a_stream_that_is_gone_while_its_route_was_away_is_a_gap() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("a", 1);
    life.until("the first", || target.count() == 1);
    life.stop();
    world.put("a", 2);
    world.stream(false);
    let gone = world.stream_arn();
    world.clock.advance(Duration::from_secs(25 * 3600));
    let life = world.life(&[("r", target.clone())]);
    life.until_after("the stream to be gone", Duration::from_secs(1), || {
        let list = trestle_api::ListStreams::default();
        let streams = world.engine.run(list).unwrap().streams;
        streams.iter().all(|stream| stream.stream_arn != gone)
    });
    world.stream(true);
    world.put("a", 3);
    life.apply([route("r")]);
    life.until("the new stream", || target.count() == 2);
    assert_eq!(target.versions()["a"], [1, 3]);
    let gap = life.status("r").gaps.pop().unwrap();
    assert!(gone.ends_with(&gap.stream), "{gap:?}");
    assert!(gap.after.is_some(), "{gap:?}");
    life.block_on(life.router.close_gaps("r")).unwrap();
    life.stop();
    let life = world.life(&[("r", target)]);
    life.apply([route("r")]);
    assert_eq!(life.status("r").gaps, [], "it is said once");
}

#[test]
fn a_stream_that_is_gone_before_it_was_finished_does_not_stop_the_next() {
    let world = World::new();
    let target = Recorder::with(|_| Outcome::Unavailable("away".into()));
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 10_000,
        ..route("r")
    }]);
    world.put("a", 1);
    life.until("the target to be asked", || !target.batches().is_empty());
    world.stream(false);
    let gone = world.stream_arn();
    world.clock.advance(Duration::from_secs(25 * 3600));
    life.until_after("the stream to be gone", Duration::from_secs(1), || {
        let streams = world
            .engine
            .run(trestle_api::ListStreams::default())
            .unwrap()
            .streams;
        streams.iter().all(|stream| stream.stream_arn != gone)
    });
    world.stream(true);
    world.put("a", 2);
    target.behave(|_| Outcome::Done);
    life.until_after(
        "what had been read, and the new stream",
        Duration::from_secs(1),
        || target.count() == 2,
    );
    assert_eq!(target.versions()["a"], [1, 2]);
}
