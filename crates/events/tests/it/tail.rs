//! A tail shows what a route would take, without a route.

use std::sync::Arc;

use trestle_api::{DescribeStream, ListTables};
use trestle_engine::Options;
use trestle_env::{Clock, Timestamp};
use trestle_events::{Delivery, ModelTyper, Route, StartingPosition, Tail};

use crate::support::{START, World, route};

struct Looking {
    tail: Tail,
    runtime: tokio::runtime::Runtime,
}

impl Looking {
    fn at(world: &World, route: &Route) -> Self {
        let typer = Arc::new(ModelTyper::default());
        let mut looking = Self {
            tail: Tail::new(Arc::new(world.engine.clone()), typer, route, world.clock.now()).unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
        };
        if route.starting_position == StartingPosition::Latest {
            assert_eq!(looking.seen(), "");
        }
        looking
    }

    fn next(&mut self) -> Vec<Delivery> {
        self.runtime.block_on(self.tail.next()).unwrap()
    }

    /// Item and version of all changes by now; after the end of a shard or stream, another read is needed.
    fn seen(&mut self) -> String {
        let mut seen = Vec::new();
        for _ in 0..20 {
            for delivery in self.next() {
                let new = &delivery.input()["new"];
                seen.push(format!("{}{}", new["pk"].as_str().unwrap_or("-"), new["n"]));
            }
        }
        seen.join(" ")
    }
}

fn from(starting_position: StartingPosition) -> Route {
    Route {
        starting_position,
        ..route("r")
    }
}

#[test]
fn it_begins_where_it_is_told_and_shows_what_comes() {
    let world = World::new();
    world.put("a", 1);
    world.clock.set(START.plus(std::time::Duration::from_secs(60)));
    world.put("a", 2);
    let mut latest = Looking::at(&world, &from(StartingPosition::Latest));
    let mut oldest = Looking::at(&world, &from(StartingPosition::TrimHorizon));
    let minute = Timestamp::from_secs(START.as_secs() + 60);
    let mut later = Looking::at(&world, &from(StartingPosition::At(minute)));
    world.put("a", 3);
    assert_eq!(latest.seen(), "a3");
    assert_eq!(oldest.seen(), "a1 a2 a3");
    assert_eq!(later.seen(), "a2 a3");
    assert_eq!(latest.seen(), "");
}

#[test]
fn it_shows_what_the_route_would_take_as_its_target_would_get_it() {
    let world = World::new();
    let mut looking = Looking::at(
        &world,
        &Route {
            pattern: Some(serde_json::json!({"new": {"n": [{"numeric": [">", 1]}]}})),
            input: Some(r#"{"version": <new.n>}"#.to_owned()),
            ..route("r")
        },
    );
    world.put("a", 1);
    world.put("a", 2);
    let seen = looking.next();
    let [one] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!(*one.input(), serde_json::json!({"version": 2}));
    assert_eq!((one.change.changed.join(" "), one.attempt), ("n".to_owned(), 1));
    let tables = world.engine.run(ListTables::default()).unwrap();
    assert_eq!(tables.table_names, ["T", "fence"], "nothing is stored");
}

#[test]
fn what_is_written_while_it_does_not_look_is_shown_though_its_iterator_has_expired() {
    let world = World::new();
    world.put("a", 1);
    world.clock.set(START.plus(std::time::Duration::from_secs(60)));
    let mut latest = Looking::at(&world, &from(StartingPosition::Latest));
    world.put("a", 2);
    world.clock.set(START.plus(std::time::Duration::from_secs(3600)));
    assert_eq!(latest.seen(), "a2", "neither lost, nor what was there before");
    world.put("a", 3);
    world.clock.set(START.plus(std::time::Duration::from_secs(7200)));
    assert_eq!(latest.seen(), "a3");
}

#[test]
fn it_goes_through_splits_and_streams_that_end_and_begin_again() {
    let world = World::with(Options::default());
    let mut looking = Looking::at(&world, &from(StartingPosition::Latest));
    world.put("a", 1);
    let described = world.engine.run(DescribeStream {
        stream_arn: world.stream_arn(),
        ..DescribeStream::default()
    });
    let shards = described.unwrap().stream_description.shards;
    let split = world.engine.split_shard(&world.stream_arn(), &shards[0].shard_id);
    split.unwrap();
    world.put("a", 2);
    assert_eq!(looking.seen(), "a1 a2");
    world.put("a", 3);
    world.stream(false);
    assert_eq!(looking.seen(), "a3");
    assert!(!looking.tail.has_stream());
    world.stream(true);
    world.put("a", 4);
    assert_eq!(looking.seen(), "a4");
    assert!(looking.tail.has_stream());
}
