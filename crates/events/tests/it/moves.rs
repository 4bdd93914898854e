//! Rows that a migration moves are not delivered, unless a route asks for them; and the changes of an item
//! stay in order across its move.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trestle_env::Clock;
use trestle_events::{
    Backoff, Change, ChangeEvent, Maintenance, ModelTyper, Outcome, Route, StartingPosition, Tail, Typer,
};
use trestle_item::Item;

use crate::layouts::{OfT, model};
use crate::order::moody;
use crate::support::{Recorder, World, assert_in_order, pk, route, version};

fn told(changes: &[Arc<Change>]) -> Vec<String> {
    let told = |change: &Arc<Change>| {
        let kind = change
            .maintenance
            .map_or(String::new(), |kind| format!(" ({kind})"));
        format!("{} {} {}{kind}", change.event, pk(change), version(change))
    };
    changes.iter().map(told).collect()
}

fn with_moves(name: &str) -> Route {
    Route {
        include_maintenance: vec![Maintenance::Move],
        ..route(name)
    }
}

/// One thing stays, one is written and thereby moved, one is moved by the sweep.
fn migrate(world: &World) {
    world.put("old#a", 1);
    world.put("old#b", 1);
    world.lay_out_anew();
    world.put("new#a", 2);
    world.sweep();
    world.put("new#b", 2);
}

const BUSINESS: [&str; 4] = [
    "insert old#a 1",
    "insert old#b 1",
    "modify new#a 2",
    "modify new#b 2",
];

#[test]
fn moves_are_delivered_to_routes_that_ask_for_them_and_to_no_others() {
    let world = World::with_layouts();
    let targets = ["business", "everything"].map(|name| (name, Recorder::new()));
    let life = world.life(&targets);
    let of_things = |route: Route| Route {
        entities: vec!["thing".into()],
        ..route
    };
    life.apply([of_things(route("business")), of_things(with_moves("everything"))]);
    migrate(&world);
    let [(_, business), (_, everything)] = &targets;
    life.until("all records", || everything.count() == 8 && business.count() == 4);
    assert_eq!(told(&business.taken()), BUSINESS);
    assert_eq!(
        told(&everything.taken()),
        [
            "insert old#a 1",
            "insert old#b 1",
            "remove old#a 1 (move)",
            "insert new#a 1 (move)",
            "modify new#a 2",
            "remove old#b 1 (move)",
            "insert new#b 1 (move)",
            "modify new#b 2",
        ]
    );
    let taken = everything.taken();
    assert_eq!(taken[3].maintenance, Some(Maintenance::Move));
    assert_eq!(taken[3].to_json()["maintenance"], json!("move"));
    assert_eq!(taken[4].to_json().get("maintenance"), None);
    life.until("no lag", || {
        let status = life.status("business");
        (status.lag_records, status.lag_ms, status.dead) == (0, 0, 0)
    });
}

#[test]
fn a_route_that_does_not_take_moves_has_passed_them_all_the_same() {
    let world = World::with_layouts();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    for n in 0..20 {
        world.put(&format!("old#{n}"), 1);
    }
    world.lay_out_anew();
    world.sweep();
    // It follows the moves, so when it arrives, they have been passed.
    world.put("new#0", 2);
    life.until("all that was written", || target.count() == 21);
    life.stop();
    // From its position on it would take moves now; but there are none any more.
    let life = world.life(&[("r", target.clone())]);
    life.apply([with_moves("r")]);
    world.put("new#1", 2);
    life.until("the next change", || target.count() >= 22);
    assert_eq!(told(&target.taken()[20..]), ["modify new#0 2", "modify new#1 2"]);
}

#[test]
fn a_pattern_can_ask_for_moves_alone() {
    let world = World::with_layouts();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        pattern: Some(json!({"maintenance": ["move"], "event": ["insert"]})),
        ..with_moves("r")
    }]);
    migrate(&world);
    life.until("both", || target.count() == 2);
    assert_eq!(
        told(&target.taken()),
        ["insert new#a 1 (move)", "insert new#b 1 (move)"]
    );
}

#[test]
fn a_move_that_is_not_taken_becomes_a_dead_letter_that_says_so() {
    let world = World::with_layouts();
    let target = Recorder::with(|_| Outcome::Refused("never".into()));
    let life = world.life(&[("r", target.clone())]);
    world.put("old#a", 1);
    world.lay_out_anew();
    life.apply([Route {
        starting_position: StartingPosition::Latest,
        maximum_retry_attempts: 0,
        ..with_moves("r")
    }]);
    world.sweep();
    life.until("both to be dead", || life.status("r").dead == 2);
    let letters = life.block_on(life.router.dead_letters(None, None, 10)).unwrap();
    let json = letters.letters[1].to_json();
    assert_eq!(json["change"]["maintenance"], json!("move"));
    assert_eq!(json["change"]["keys"], json!({"pk": "new#a"}));
}

#[test]
fn whoever_looks_sees_moves_only_if_they_ask() {
    let world = World::with_layouts();
    migrate(&world);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seen = |route: &Route| {
        let typer = Arc::clone(&world.typer);
        let mut tail = Tail::new(Arc::new(world.engine.clone()), typer, route, world.clock.now()).unwrap();
        let seen = runtime.block_on(tail.next()).unwrap();
        let changes: Vec<Arc<Change>> = seen.iter().map(|delivery| Arc::clone(&delivery.change)).collect();
        told(&changes)
    };
    assert_eq!(seen(&route("r")), BUSINESS);
    assert_eq!(seen(&with_moves("r")).len(), 8);
}

#[test]
fn what_was_written_before_is_recognised_when_the_layout_is_another_by_then() {
    let world = World::new();
    world.put("old#a", 1);
    world.lay_out_anew();
    world.put("new#a", 2);
    // In the newer version the entity has another name, too.
    let newer = model("item", "new", "[entity.item.migrate]\nfrom = \"thing\"");
    let world = World {
        typer: OfT::typer([newer, model("thing", "old", "")]),
        ..world
    };
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        entities: vec!["item".into()],
        ..route("r")
    }]);
    life.until("both", || target.count() == 2);
    assert_eq!(told(&target.taken()), ["insert old#a 1", "modify new#a 2"]);
}

#[test]
fn a_version_that_is_about_to_take_effect_is_asked_last() {
    let upcoming = model("item", "new", "[entity.item.migrate]\nfrom = \"thing\"");
    let present = model("thing", "old", "");
    let typer = ModelTyper::default();
    let entity = |pk: &str| typer.entity("things", &Item::from([("pk", pk)]));
    let former = |pk: &str| typer.former_key("things", &Item::from([("pk", pk)]));
    typer.expect(&upcoming, [Arc::clone(&present)]);
    assert_eq!(
        entity("old#a").as_deref(),
        Some("thing"),
        "nothing has changed yet"
    );
    assert_eq!(entity("new#a").as_deref(), Some("item"));
    assert_eq!(entity("none#a"), None);
    let old = Item::from([("pk", "old#a")]);
    assert_eq!(
        (former("new#a"), former("old#a"), former("other#a")),
        (Some(old.clone()), None, None)
    );
    typer.set([upcoming, present]);
    assert_eq!(entity("old#a").as_deref(), Some("item"));
    assert_eq!(former("new#a"), Some(old), "as before");
}

#[test]
fn a_row_of_an_earlier_layout_can_be_seen_in_the_newest() {
    let three = |more| model("thing", "v3", more);
    let typer = ModelTyper::new([
        three("[entity.thing.migrate]\nset = { n = 7 }"),
        model("thing", "v2", ""),
        model("thing", "v1", ""),
    ]);
    let row = |pk: &str| Item::from([("pk", pk), ("id", "a")]);
    let mut newest = row("v3#a");
    newest.insert("n", 7_i64);
    assert_eq!(typer.renewed("things", &row("v1#a")), Some(newest.clone()));
    assert_eq!(typer.renewed("things", &row("v2#a")), Some(newest));
    assert_eq!(typer.renewed("things", &row("v3#a")), None);
    assert_eq!(typer.renewed("things", &row("other#a")), None);
}

#[test]
fn a_change_after_the_move_waits_behind_a_parked_one_from_before_also_after_a_restart() {
    let world = World::with_layouts();
    let target = Recorder::with(|batch| {
        let mut changes = batch.deliveries.iter().map(|delivery| &delivery.change);
        if changes.any(|change| version(change) == 1) {
            Outcome::Refused("not the first".into())
        } else {
            Outcome::Done
        }
    });
    let patient = Route {
        parallelization_factor: 4,
        maximum_retry_attempts: 10_000,
        ..route("r")
    };
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient.clone()]);
    let items = ["a", "b", "c", "d", "e", "f"];
    for item in items {
        world.put(&format!("old#{item}"), 1);
    }
    life.until("the first to be parked", || life.status("r").parked == 6);
    world.lay_out_anew();
    world.put("new#a", 2);
    world.sweep();
    life.until("the second to wait", || life.status("r").parked == 7);
    life.stop();
    let life = world.life(&[("r", target.clone())]);
    life.apply([patient]);
    for item in items.iter().skip(1) {
        world.put(&format!("new#{item}"), 2);
    }
    life.until("all to wait", || life.status("r").parked == 12);
    assert_eq!(target.count(), 0);
    target.behave(|_| Outcome::Done);
    life.until_after("all", Duration::from_secs(1), || target.count() == 12);
    for (item, versions) in by_item(&target) {
        assert_eq!(versions, [1, 2], "{item}");
    }
}

/// The versions that were taken of each thing, under whatever key.
fn by_item(target: &Recorder) -> HashMap<String, Vec<i64>> {
    let mut items: HashMap<String, Vec<i64>> = HashMap::new();
    for change in target.taken() {
        let pk = pk(&change);
        let (_, id) = pk.split_once('#').unwrap();
        items.entry(id.to_owned()).or_default().push(version(&change));
    }
    items
}

#[test]
fn under_random_failures_and_kills_each_item_stays_in_order_across_its_move() {
    for seed in 1..=8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::with_layouts();
        let target = Recorder::with(moody(seed));
        let patient = || Route {
            events: vec![ChangeEvent::Insert, ChangeEvent::Modify],
            parallelization_factor: 4,
            batch_size: 7,
            maximum_retry_attempts: 10_000,
            backoff: Backoff {
                first: Duration::from_millis(100),
                longest: Duration::from_secs(1),
            },
            ..route("r")
        };
        let mut life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([patient()]);
        let (items, rounds, last_before) = (6, 16, random.i64(3..12));
        for round in 1..=rounds {
            let layout = if round <= last_before { "old" } else { "new" };
            for item in 0..items {
                world.put(&format!("{layout}#{item}"), round);
            }
            world.clock.advance(Duration::from_millis(random.u64(..300)));
            if round == last_before {
                world.lay_out_anew();
            }
            if round == last_before + 2 {
                world.sweep();
            }
            if random.u8(..5) == 0 {
                life.kill();
                life = world.life(&[("r", Arc::clone(&target))]);
                life.apply([patient()]);
            }
        }
        life.until_after("nothing to be left", Duration::from_millis(100), || {
            let status = life.status("r");
            let ended = |versions: &Vec<i64>| versions.last() == Some(&rounds);
            let last = by_item(&target)
                .values()
                .filter(|versions| ended(versions))
                .count();
            status.parked == 0 && status.waiting == 0 && last == items
        });
        for (item, versions) in by_item(&target) {
            assert_in_order(&format!("seed {seed}, {item}"), &versions, rounds);
        }
    }
}
