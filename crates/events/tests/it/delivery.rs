//! What a target gets, and in which batches.

use std::time::Duration;

use serde_json::json;
use trestle_events::{ChangeEvent, Route, RouteState, StartingPosition};
use trestle_item::{AttributeValue, Item};

use crate::support::{Recorder, START, World, pk, route, version};

#[test]
fn a_change_is_delivered_with_its_entity_both_images_and_what_changed() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("all", target.clone())]);
    life.apply([route("all")]);
    world.put("layer#1", 1);
    world.put("layer#1", 2);
    world.delete("layer#1");
    life.until("three changes", || target.count() == 3);
    let taken = target.taken();
    let events: Vec<ChangeEvent> = taken.iter().map(|change| change.event).collect();
    assert_eq!(
        events,
        [ChangeEvent::Insert, ChangeEvent::Modify, ChangeEvent::Remove]
    );
    let modified = &taken[1];
    assert_eq!(modified.entity.as_deref(), Some("layer"));
    assert_eq!((&*modified.table, modified.at), ("T", START));
    assert_eq!(modified.changed, ["n"]);
    let n = |image: &Option<Item>| image.as_ref().unwrap().get("n").cloned().unwrap();
    assert_eq!((n(&modified.old), n(&modified.new)), (1_i64.into(), 2_i64.into()));
    assert!(taken[2].new.is_none());
    life.until("the route to be idle", || {
        life.status("all").state == RouteState::Running
    });
    let status = life.status("all");
    assert_eq!((status.delivered, status.waiting, status.lag_ms), (3, 0, 0));
}

#[test]
fn a_route_takes_only_its_entities_events_attributes_and_pattern() {
    let world = World::new();
    let (targets, routes) = filters();
    let life = world.life(&targets);
    life.apply(routes);
    world.put("layer#eu", 1);
    world.put("layer#us", 1);
    world.put("user#eu", 1);
    world.put("layer#eu", 2);
    let other = Item::from([
        ("pk", AttributeValue::from("layer#eu")),
        ("n", 2_i64.into()),
        ("more", true.into()),
    ]);
    world.put_item("T", other);
    world.delete("layer#us");
    let took = |at: usize| -> Vec<String> {
        let taken = targets[at].1.taken();
        let mut taken: Vec<String> = taken
            .iter()
            .map(|change| format!("{} {} {}", change.event, pk(change), version(change)))
            .collect();
        taken.sort();
        taken
    };
    life.until("the last change of the route that takes all of them", || {
        took(0).len() == 6
    });
    life.until("the last changes of the others", || {
        [1, 1, 5, 1]
            .into_iter()
            .enumerate()
            .all(|(at, count)| took(at + 1).len() >= count)
    });
    life.until("all to be idle", || {
        life.router
            .status()
            .iter()
            .all(|status| status.state == RouteState::Running && status.waiting == 0)
    });
    assert_eq!(took(1), ["insert user#eu 1"], "entity");
    assert_eq!(took(2), ["remove layer#us 1"], "event");
    assert_eq!(
        took(3),
        [
            "insert layer#eu 1",
            "insert layer#us 1",
            "insert user#eu 1",
            "modify layer#eu 2",
            "remove layer#us 1"
        ],
        "changed"
    );
    assert_eq!(took(4), ["modify layer#eu 2"], "pattern");
}

fn filters() -> (Vec<(&'static str, std::sync::Arc<Recorder>)>, Vec<Route>) {
    let names = ["all", "entity", "event", "changed", "pattern"];
    let targets = names.map(|name| (name, Recorder::new())).to_vec();
    let mut routes: Vec<Route> = names.map(route).to_vec();
    routes[1].entities = vec!["user".into()];
    routes[2].events = vec![ChangeEvent::Remove, ChangeEvent::Expire];
    routes[3].changed = vec!["n".into()];
    routes[4].pattern =
        Some(json!({"event": ["modify"], "changed": ["more"], "keys": {"pk": [{"suffix": "eu"}]}}));
    (targets, routes)
}

#[test]
fn the_input_is_the_change_as_json_or_what_the_template_makes_of_it() {
    let world = World::new();
    let inputs = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = inputs.clone();
    let target = Recorder::with(move |batch| {
        let delivery = &batch.deliveries[0];
        seen.lock().push((
            batch.route.to_string(),
            delivery.id.clone(),
            delivery.input().clone(),
        ));
        trestle_events::Outcome::Done
    });
    let life = world.life(&[("plain", target.clone()), ("shaped", target.clone())]);
    let shaped = Route {
        input: Some(r#"{"what": <event>, "version": <new.n>}"#.into()),
        ..route("shaped")
    };
    life.apply([route("plain"), shaped]);
    world.put("layer#1", 7);
    life.until("both", || inputs.lock().len() == 2);
    let mut inputs = inputs.lock().clone();
    inputs.sort_by(|one, two| one.0.cmp(&two.0));
    let change = &target.taken()[0];
    assert_eq!(inputs[0].2, change.to_json());
    assert_eq!(inputs[0].1, format!("plain:{}", change.event_id));
    assert_eq!(inputs[1].2, json!({"what": "insert", "version": 7}));
}

#[test]
fn a_new_route_begins_with_the_next_change_with_the_oldest_or_at_a_time() {
    let world = World::new();
    world.put("a", 1);
    world.clock.advance(Duration::from_secs(60));
    world.put("b", 2);
    world.clock.advance(Duration::from_secs(60));
    let targets = ["latest", "oldest", "at"].map(|name| (name, Recorder::new()));
    let life = world.life(&targets);
    let from = |name: &str, starting_position| Route {
        starting_position,
        ..route(name)
    };
    life.apply([
        from("latest", StartingPosition::Latest),
        from("oldest", StartingPosition::TrimHorizon),
        from("at", StartingPosition::At(START.plus(Duration::from_secs(60)))),
    ]);
    world.put("c", 3);
    for ((name, target), expected) in targets.iter().zip([&[3][..], &[1, 2, 3], &[2, 3]]) {
        life.until(name, || target.count() >= expected.len());
        let mut versions: Vec<i64> = target.taken().iter().map(|change| version(change)).collect();
        versions.sort_unstable();
        assert_eq!(versions, expected, "{name}");
    }
}

#[test]
fn a_batch_waits_for_its_window_or_until_it_is_full() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("batches", target.clone())]);
    life.apply([Route {
        batch_size: 5,
        maximum_batching_window: Duration::from_secs(10),
        ..route("batches")
    }]);
    for n in 0..7 {
        world.put(&format!("item-{n}"), 1);
    }
    life.until("the full batch", || target.count() == 5);
    life.until("the others to wait", || life.status("batches").waiting == 2);
    world.clock.advance(Duration::from_secs(9));
    assert_eq!(target.batches(), [5], "the window is not over");
    // The window begins when the lane takes the first of them, which may be now.
    life.until_after("the rest", Duration::from_secs(1), || target.count() == 7);
    assert_eq!(target.batches(), [5, 2]);
}

#[test]
fn parallel_lanes_share_the_items_and_keep_each_in_order() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("lanes", target.clone())]);
    life.apply([Route {
        parallelization_factor: 4,
        batch_size: 3,
        ..route("lanes")
    }]);
    for round in 1..=20 {
        for item in 0..10 {
            world.put(&format!("item-{item}"), round);
        }
    }
    life.until("all changes", || target.count() == 200);
    for (item, versions) in target.versions() {
        assert_eq!(versions, (1..=20).collect::<Vec<i64>>(), "{item}");
    }
}
