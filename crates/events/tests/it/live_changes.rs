//! Routes that are added, changed and removed while the router runs, and after a restart.

use std::time::Duration;

use serde_json::json;
use trestle_events::{
    ApplyError, ChangeEvent, Destination, Outcome, Route, RouteState, Selection, StartingPosition,
};

use crate::support::{Life, Recorder, World, pk, refuse_bad, route};

#[test]
fn routes_come_and_go_without_a_restart_and_the_others_do_not_notice() {
    let world = World::new();
    let (one, two) = (Recorder::new(), Recorder::new());
    let life = world.life(&[("one", one.clone()), ("two", two.clone())]);
    life.apply([route("one")]);
    world.put("a", 1);
    life.until("the first change", || one.count() == 1);
    let late = Route {
        starting_position: StartingPosition::Latest,
        ..route("two")
    };
    life.apply([route("one"), late.clone()]);
    world.put("a", 2);
    life.until("both", || one.count() == 2 && two.count() == 1);
    life.apply([late]);
    world.put("a", 3);
    life.until("the one that is left", || two.count() == 2);
    assert_eq!(one.count(), 2);
    assert_eq!(life.router.status().len(), 1);
}

#[test]
fn a_changed_route_goes_on_from_its_place() {
    let world = World::new();
    let (before, after) = (Recorder::new(), Recorder::new());
    let life = world.life(&[("before", before.clone()), ("after", after.clone())]);
    let to = |target: &str, enabled| Route {
        target: Destination::new("handler", target),
        enabled,
        ..route("r")
    };
    life.apply([to("before", true)]);
    world.put("a", 1);
    life.until("the first change", || before.count() == 1);
    life.apply([to("before", false)]);
    assert_eq!(life.status("r").state, RouteState::Disabled);
    world.put("a", 2);
    life.apply([to("after", true)]);
    world.put("a", 3);
    life.until("the rest, by the other target", || after.count() == 2);
    assert_eq!(before.versions()["a"], [1]);
    assert_eq!(after.versions()["a"], [2, 3]);
}

#[test]
fn a_stopped_router_goes_on_where_it_was_and_delivers_nothing_twice() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    for n in 1..=50 {
        world.put(&format!("item-{}", n % 5), n);
    }
    world.put("bad", 1);
    life.until("the first half", || {
        target.count() == 50 && life.status("r").parked == 1
    });
    life.stop();
    for n in 51..=100 {
        world.put(&format!("item-{}", n % 5), n);
    }
    world.put("bad", 2);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    life.until("the second half", || {
        target.count() == 100 && life.status("r").parked == 2
    });
    target.behave(|_| Outcome::Done);
    life.until_after("what was parked", Duration::from_secs(1), || {
        target.count() == 102
    });
    assert_eq!(target.versions()["bad"], [1, 2]);
    for (item, versions) in target.versions() {
        assert!(
            versions.is_sorted_by(|one, two| one < two),
            "{item}: {versions:?}"
        );
    }
}

#[test]
fn what_a_removed_route_had_parked_becomes_dead_letters_and_it_begins_anew() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("a", 1);
    world.put("bad", 1);
    life.until("one to be parked", || {
        target.count() == 1 && life.status("r").parked == 1
    });
    // Removed while the router was down.
    life.stop();
    let life = world.life(&[("r", target.clone())]);
    life.apply([]);
    let letters = life
        .block_on(life.router.dead_letters(Some("r"), None, 10))
        .unwrap()
        .letters;
    assert_eq!(letters.len(), 1);
    assert!(
        letters[0].error.starts_with("the route was removed; last: bad"),
        "{letters:?}"
    );
    life.apply([route("r")]);
    life.until("everything from the beginning", || target.count() == 2);
    assert_eq!(life.status("r").dead, 1);
}

/// The items and errors of all dead letters.
fn letters(life: &Life) -> Vec<(String, String)> {
    let page = life
        .block_on(life.router.dead_letters(None, None, 1_000))
        .unwrap();
    let letters = page.letters.into_iter();
    letters.map(|letter| (pk(&letter.change), letter.error)).collect()
}

#[test]
fn what_a_removed_route_has_not_delivered_becomes_dead_letters() {
    let world = World::new();
    let away = Recorder::with(|_| Outcome::Unavailable("nothing listens".into()));
    let new = Recorder::new();
    let life = world.life(&[("r", away.clone()), ("new", new.clone())]);
    let changed = Route {
        events: vec![ChangeEvent::Insert],
        ..route("r")
    };
    life.apply([changed]);
    for n in 1..=300 {
        world.put(&format!("item-{n}"), 1);
        world.put(&format!("item-{n}"), 2); // The route takes no modification.
    }
    life.until("the hold", || life.status("r").on_hold.is_some());
    // As with a new name in the file.
    life.apply([route("new")]);
    let dead = letters(&life);
    assert_eq!(dead.len(), 300);
    assert!(
        dead.iter()
            .all(|(_, error)| error.contains("the route was removed")),
        "{dead:?}"
    );
    assert_eq!(life.router.status().len(), 1);
    // It is removed: one with the same name starts anew.
    world.put("later", 1);
    life.until("everything for the other route", || {
        new.count() == 601 && life.status("new").waiting == 0
    });
    life.apply([]);
    assert_eq!(letters(&life).len(), 300);
}

#[test]
fn what_a_route_has_not_delivered_that_is_gone_from_the_file_at_the_next_start_becomes_dead_letters() {
    let world = World::new();
    let away = Recorder::with(|_| Outcome::Unavailable("nothing listens".into()));
    let life = world.life(&[("r", away.clone())]);
    let only_some = Route {
        pattern: Some(json!({"new": {"n": [2]}})),
        ..route("r")
    };
    life.apply([only_some]);
    life.kill();
    for n in 1..=3 {
        world.put(&format!("item-{n}"), n);
    }
    let life = world.life(&[]);
    life.apply([]);
    let names: Vec<String> = letters(&life).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["item-2"]);
    // A disabled route keeps nothing, and so leaves nothing.
    let off = Route {
        enabled: false,
        ..route("off")
    };
    let life = {
        life.stop();
        world.life(&[("off", away.clone())])
    };
    life.apply([route("off")]);
    life.apply([off]);
    world.put("item-4", 4);
    life.apply([]);
    assert_eq!(letters(&life).len(), 1);
}

#[test]
fn a_route_that_is_switched_off_still_says_what_it_has_left() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    let hasty = Route {
        maximum_retry_attempts: 0,
        ..route("r")
    };
    life.apply([hasty.clone()]);
    world.put("bad", 1);
    world.put("bad", 2);
    life.until("both to be given up", || life.status("r").dead == 2);
    life.apply([Route {
        enabled: false,
        ..hasty
    }]);
    let status = life.status("r");
    assert_eq!((status.state, status.dead), (RouteState::Disabled, 2));
    let dropped = life.router.drop_dead_letters(Selection::Route("r".into()));
    assert_eq!(life.block_on(dropped).unwrap(), 2);
    assert_eq!(life.status("r").dead, 0);
}

#[test]
fn impossible_routes_are_refused_all_at_once_and_nothing_changes() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    let refused = life.block_on(life.router.apply(vec![
        Route {
            batch_size: 0,
            ..route("r")
        },
        Route {
            pattern: Some(serde_json::json!({"new": "not a list"})),
            ..route("r")
        },
        Route {
            target: Destination::new("handler", "nobody"),
            ..route("s p a c e")
        },
    ]));
    let Err(ApplyError::Routes(faults)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(faults.len(), 5, "{faults:#?}");
    for says in [
        "`batch_size` is 0",
        "there twice",
        "pattern",
        "letters, digits",
        "no target `nobody`",
    ] {
        assert!(
            faults.iter().any(|fault| fault.contains(says)),
            "{says}: {faults:#?}"
        );
    }
    world.put("a", 1);
    life.until("the old route at work", || target.count() == 1);
}
