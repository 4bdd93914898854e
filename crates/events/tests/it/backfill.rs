//! Backfills: every row once, in order with the changes, whatever happens meanwhile.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trestle_api::ErrorKind;
use trestle_engine::Options;
use trestle_env::{Clock, VirtualClock};
use trestle_events::{BackfillState, BackfillStatus, ChangeEvent, Outcome, Route, StartingPosition};
use trestle_item::{AttributeValue, Item};

use crate::room::with_room;
use crate::storm;
use crate::support::{Life, Recorder, START, World, pk, route, version};

/// A route that begins with the next change.
pub(crate) fn latest(name: &str) -> Route {
    Route {
        starting_position: StartingPosition::Latest,
        ..route(name)
    }
}

pub(crate) fn all_rows(name: &str) -> Route {
    Route {
        starting_position: StartingPosition::AllRows,
        ..route(name)
    }
}

pub(crate) fn begin(life: &Life, rate: Option<u32>) -> BackfillStatus {
    life.block_on(life.router.backfill("r", rate)).unwrap()
}

pub(crate) fn backfill(life: &Life) -> BackfillStatus {
    life.status("r").backfill.unwrap()
}

pub(crate) fn is_done(life: &Life) -> bool {
    backfill(life).state == BackfillState::Done
}

pub(crate) fn keys(target: &Recorder) -> Vec<String> {
    let mut keys: Vec<String> = target.taken().iter().map(|change| pk(change)).collect();
    keys.sort_unstable();
    keys
}

pub(crate) fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("row-{number:05}")).collect()
}

#[test]
fn every_row_arrives_once_then_the_changes() {
    let world = World::new();
    let rows = many(2_300);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    assert_eq!(life.status("r").backfill, None);
    let begun = begin(&life, None);
    assert_eq!(
        (begun.state, begun.total, begun.rate),
        (BackfillState::Running, 2_300, None)
    );
    life.until("the backfill", || is_done(&life));
    assert_eq!(keys(&target), rows);
    assert!(
        target
            .taken()
            .iter()
            .all(|change| change.event == ChangeEvent::Backfill)
    );
    let done = backfill(&life);
    assert_eq!((done.rows, done.id), (2_300, begun.id));
    assert!(done.ended_ms.is_some());
    world.put("row-00007", 2);
    world.delete("row-00008");
    life.until("the changes", || target.count() == 2_302);
    let later: Vec<ChangeEvent> = target.taken()[2_300..]
        .iter()
        .map(|change| change.event)
        .collect();
    assert_eq!(later, [ChangeEvent::Modify, ChangeEvent::Remove]);
}

#[test]
fn a_new_route_can_begin_with_all_rows() {
    let world = World::new();
    world.put("a", 1);
    world.put("a", 2);
    world.put("b", 1);
    world.put("gone", 1);
    world.delete("gone");
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    world.put("c", 1);
    life.until("rows and changes", || {
        is_done(&life) && target.versions().contains_key("c")
    });
    assert_eq!(target.versions()["a"], [2]);
    assert_eq!(target.versions()["b"], [1]);
    assert!(!target.versions().contains_key("gone"));
    // It begins so only once.
    life.stop();
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    world.put("d", 1);
    life.until("a change", || target.count() == 1);
    assert_eq!(keys(&target), ["d"]);
    assert!(is_done(&life));
}

#[test]
fn an_empty_table_and_a_table_without_a_stream_are_backfilled() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    life.until("nothing", || is_done(&life));
    world.put("a", 1);
    life.until("a change", || target.count() == 1);
    world.stream(false);
    world.put("b", 1);
    begin(&life, None);
    life.until_after("rows without a stream", Duration::from_secs(1), || is_done(&life));
    assert_eq!(keys(&target), ["a", "a", "b"]);
    world.stream(true);
    world.put("b", 2);
    life.until_after("the new stream", Duration::from_secs(1), || target.count() == 4);
    assert_eq!(target.versions()["b"], [1, 2]);
}

#[test]
fn a_row_is_a_change_of_its_own_with_an_id_that_stays() {
    let world = World::new();
    let row = [
        ("pk", AttributeValue::from("layer#1")),
        ("n", 7_i64.into()),
        ("rgn", "eu".into()),
    ];
    world.put_item("T", Item::from(row));
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    let begun = begin(&life, None);
    life.until("the row", || is_done(&life));
    let change = target.taken().pop().unwrap();
    let mut told = change.to_json();
    let id = told["id"].take();
    let id = id.as_str().unwrap();
    assert!(id.starts_with(&format!("backfill-{}-", begun.id)), "{id}");
    assert_eq!(
        told,
        json!({
            "id": null, "table": "T", "entity": "layer", "event": "backfill", "changed": ["n", "pk", "rgn"],
            "keys": {"pk": "layer#1"}, "new": {"n": 7, "pk": "layer#1", "rgn": "eu"}, "at": "2027-01-15T08:00:00.000Z",
        })
    );
    // Another backfill gives it another id.
    begin(&life, None);
    life.until("the row again", || target.count() == 2);
    assert_ne!(target.taken()[1].event_id, id);
}

#[test]
fn rows_are_for_routes_that_take_what_is_there() {
    let events = |events: &[ChangeEvent]| Route {
        events: events.to_vec(),
        ..latest("r")
    };
    let pattern = |event: &str| Route {
        pattern: Some(json!({"event": [event], "new": {"n": [{"numeric": [">", 1]}]}})),
        ..latest("r")
    };
    let by_entity = Route {
        entities: vec!["x".into()],
        ..latest("r")
    };
    let by_attribute = |name: &str| Route {
        changed: vec![name.into()],
        events: vec![ChangeEvent::Modify],
        ..latest("r")
    };
    for (route, taken) in [
        (events(&[ChangeEvent::Insert]), &["x#1", "y#2"][..]),
        (
            events(&[ChangeEvent::Modify, ChangeEvent::Remove]),
            &["x#1", "y#2"],
        ),
        (events(&[ChangeEvent::Backfill]), &["x#1", "y#2"]),
        (pattern("backfill"), &["y#2"]),
        (pattern("insert"), &[]),
        (by_entity, &["x#1"]),
        (by_attribute("n"), &["x#1", "y#2"]),
        (by_attribute("other"), &[]),
    ] {
        let world = World::new();
        world.put("x#1", 1);
        world.put("y#2", 2);
        let target = Recorder::new();
        let life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([route.clone()]);
        begin(&life, None);
        life.until("the backfill", || is_done(&life));
        assert_eq!(keys(&target), taken, "{route:?}");
        assert_eq!(backfill(&life).rows, 2);
    }
}

#[test]
fn what_cannot_be_backfilled_is_refused() {
    let world = World::new();
    for row in many(50) {
        world.put(&row, 1);
    }
    let life = world.life(&[("r", Recorder::new())]);
    let refused = |name: &str, rate: Option<u32>| {
        let error = life.block_on(life.router.backfill(name, rate)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Validation);
        error.to_string()
    };
    let only_removals = Route {
        events: vec![ChangeEvent::Remove, ChangeEvent::Expire],
        ..latest("r")
    };
    life.apply([only_removals.clone()]);
    assert!(
        refused("r", None).contains("takes no rows"),
        "{}",
        refused("r", None)
    );
    let all = Route {
        starting_position: StartingPosition::AllRows,
        ..only_removals
    };
    let error = life.block_on(life.router.apply(vec![all])).unwrap_err();
    assert!(error.to_string().contains("takes no rows"), "{error}");
    life.apply([Route {
        enabled: false,
        ..latest("r")
    }]);
    assert!(refused("r", None).contains("disabled"));
    life.apply([Route {
        held_back: Some("the variable TOKEN is missing".into()),
        ..latest("r")
    }]);
    assert!(refused("r", None).contains("the variable TOKEN is missing"));
    life.apply([latest("r")]);
    assert!(refused("s", None).contains("there is r"));
    assert!(refused("r", Some(0)).contains("rate"));
    assert!(life.block_on(life.router.cancel_backfill("r")).is_err());
    begin(&life, Some(10));
    assert!(refused("r", None).contains("is running"));
}

#[test]
fn a_rate_is_kept() {
    let world = World::new();
    for row in many(400) {
        world.put(&row, 1);
    }
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    begin(&life, Some(100));
    let begun = world.clock.now();
    life.until_after("the backfill", Duration::from_millis(10), || {
        let (count, time) = (target.count(), world.clock.now().since(begun));
        // A page of ten rows may have been read ahead.
        assert!(
            count <= (time.as_millis() / 10) as usize + 10,
            "{count} in {time:?}"
        );
        is_done(&life)
    });
    assert_eq!(target.count(), 400);
}

#[test]
fn a_cancelled_backfill_stays_so_and_another_can_begin() {
    let world = World::new();
    let rows = many(300);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    begin(&life, Some(100));
    life.until_after("some rows", Duration::from_millis(50), || {
        backfill(&life).rows >= 50
    });
    let cancelled = life.block_on(life.router.cancel_backfill("r")).unwrap();
    assert_eq!(cancelled.state, BackfillState::Cancelled);
    let count = target.count();
    assert!(count < 300);
    life.kill();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    world.clock.advance(Duration::from_secs(10));
    world.put("row-00000", 2);
    life.until("a change", || {
        target.taken().iter().any(|change| version(change) == 2)
    });
    assert_eq!(backfill(&life).state, BackfillState::Cancelled);
    assert_eq!(target.count(), count + 1);
    begin(&life, None);
    life.until("all rows", || is_done(&life));
    assert_eq!(target.count(), count + 1 + 300);
}

#[test]
fn a_route_that_is_switched_off_keeps_its_place_and_one_that_is_removed_does_not() {
    let world = World::new();
    let rows = many(300);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    life.apply([Route {
        enabled: false,
        ..all_rows("r")
    }]);
    assert!(matches!(
        backfill(&life).state,
        BackfillState::Running | BackfillState::Done
    ));
    life.apply([all_rows("r")]);
    life.until("the backfill", || is_done(&life));
    assert_eq!(target.versions().len(), 300);
    life.apply([]);
    life.apply([latest("r")]);
    assert_eq!(life.status("r").backfill, None);
    begin(&life, Some(1));
    life.apply([Route {
        enabled: false,
        ..latest("r")
    }]);
    let cancelled = life.block_on(life.router.cancel_backfill("r")).unwrap();
    assert_eq!(cancelled.state, BackfillState::Cancelled);
    life.apply([latest("r")]);
    assert_eq!(backfill(&life).state, BackfillState::Cancelled);
}

#[test]
fn after_a_crash_it_goes_on_with_the_page_it_was_at() {
    let world = World::new();
    let rows = many(5_500);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::new();
    let mut life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    begin(&life, None);
    for enough in [1_000, 2_000, 3_000, 4_000, 5_000] {
        life.until("some pages", || backfill(&life).rows >= enough);
        life.kill();
        life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([latest("r")]);
    }
    life.until("the backfill", || is_done(&life));
    let mut seen = keys(&target);
    let count = seen.len();
    seen.dedup();
    assert_eq!(seen, rows);
    // At most the rows that were read ahead at each crash are delivered again.
    assert!(count < 5_500 + 5 * 4_000, "{count}");
    assert_eq!(backfill(&life).rows, 5_500);
}

#[test]
fn where_the_order_of_rows_changes_it_begins_again() {
    let world = World::new();
    for row in many(300) {
        world.put(&row, 1);
    }
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    begin(&life, Some(100));
    life.until_after("some rows", Duration::from_millis(50), || {
        backfill(&life).rows >= 100
    });
    let document = ("layout/2".to_owned(), Some(Vec::new()));
    world.engine.store_documents(vec![document]).unwrap();
    life.until_after("the backfill", Duration::from_millis(50), || is_done(&life));
    assert!(backfill(&life).rows >= 400, "{:?}", backfill(&life));
    for (row, versions) in target.versions() {
        assert!((1..=2).contains(&versions.len()), "{row}: {versions:?}");
    }
    assert_eq!(target.versions().len(), 300);
}

#[test]
fn a_refused_row_holds_up_only_its_item_and_stays_before_later_changes() {
    let world = World::new();
    world.put("bad", 1);
    world.put("good", 1);
    let target = Recorder::with(crate::support::refuse_bad);
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    begin(&life, None);
    life.until("the backfill", || is_done(&life));
    assert_eq!(life.status("r").parked, 1);
    world.put("bad", 2);
    world.put("good", 2);
    life.until("the good one", || {
        target.versions().get("good") == Some(&vec![1, 2])
    });
    life.until("both to be parked", || life.status("r").parked == 2);
    life.kill();
    target.behave(|_| Outcome::Done);
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    life.until_after("the bad one", Duration::from_secs(1), || {
        target.versions().contains_key("bad")
    });
    life.until_after("all", Duration::from_secs(1), || life.status("r").parked == 0);
    assert_eq!(target.versions()["bad"], [1, 2]);
}

/// With concurrent writers, crashes and an unreliable target.
#[test]
fn under_writers_and_crashes_nothing_older_comes_after_something_newer() {
    for seed in 1..=6 {
        let world = World::with(Options {
            stream_shards: 1 + u16::try_from(seed % 3).unwrap(),
            ..Options::default()
        });
        let database = Arc::new(world.engine.clone());
        storm::storm(seed, &Arc::new(world), database);
    }
}

/// A run of the router in which a route finds that its stream has trimmed the writes since the last run. The
/// even ones of ten items are written again.
fn after_a_gap(world: &World, target: &Arc<Recorder>, missed: i64) -> Life {
    for item in 0..10 {
        world.put(&format!("item-{item}"), missed);
    }
    world.clock.advance(Duration::from_secs(25 * 3600));
    let before = target.count();
    let life = world.life(&[("r", Arc::clone(target))]);
    life.apply([route("r")]);
    for item in (0..10).step_by(2) {
        world.put(&format!("item-{item}"), missed + 1);
    }
    life.until("the last round", || target.count() == before + 5);
    assert_eq!(life.status("r").gaps.len(), 1);
    life
}

#[test]
fn a_backfill_closes_the_gaps_that_were_noticed_before_it_began() {
    let world = World::new();
    let target = Recorder::new();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("item-0", 1);
    life.until("the first", || target.count() == 1);
    life.stop();

    let life = after_a_gap(&world, &target, 2);
    begin(&life, None);
    life.until("the gap to be closed", || life.status("r").gaps.is_empty());
    assert!(is_done(&life));
    for item in 0..10 {
        let newest = 2 + i64::from(item % 2 == 0);
        let versions = &target.versions()[&format!("item-{item}")];
        assert_eq!(versions.last(), Some(&newest), "item {item}");
    }
    life.stop();
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    assert_eq!(life.status("r").gaps, [], "it is closed durably");
    life.stop();

    // A gap that is noticed later is not filled by that backfill.
    let life = after_a_gap(&world, &target, 4);
    life.stop();
    let life = world.life(&[("r", target)]);
    life.apply([route("r")]);
    assert!(is_done(&life));
    assert_eq!(life.status("r").gaps.len(), 1);
}

/// The same database, and routers whose clock was set back.
fn set_back(world: &World) -> World {
    World {
        clock: Arc::new(VirtualClock::starting_at(START)),
        engine: world.engine.clone(),
        typer: Arc::clone(&world.typer),
        scan: None,
        held: None,
        parked_max: world.parked_max,
    }
}

#[test]
fn a_clock_that_was_set_back_neither_closes_a_gap_too_soon_nor_leaves_it_open() {
    let world = World::new();
    let target = Recorder::new();
    world.clock.advance(Duration::from_secs(3600));
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("item-0", 1);
    begin(&life, None);
    life.until("the backfill", || is_done(&life));
    life.stop();

    // By its clock, the gap is noticed before the backfill that has not filled it began.
    for n in 2..=3 {
        world.put("item-0", n);
    }
    world.clock.advance(Duration::from_secs(25 * 3600));
    let past = set_back(&world);
    let life = past.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("item-0", 4);
    life.until("the last", || target.versions()["item-0"].last() == Some(&4));
    assert_eq!(life.status("r").gaps.len(), 1);
    life.stop();
    let past = set_back(&world);
    let life = past.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    assert!(is_done(&life));
    assert_eq!(life.status("r").gaps.len(), 1, "no backfill has filled it");

    // By its clock, this one begins before the gap that it fills was noticed.
    begin(&life, None);
    life.until("the gap to be closed", || life.status("r").gaps.is_empty());
    life.stop();
    let life = past.life(&[("r", target)]);
    life.apply([route("r")]);
    assert_eq!(life.status("r").gaps, [], "it is closed durably");
}

#[test]
fn rows_are_not_given_up_when_there_is_no_room_for_changes() {
    let (world, room) = with_room();
    let rows = many(10);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::with(|_| Outcome::Unavailable("away".into()));
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    life.until("the rows to be tried", || !target.batches().is_empty());
    world.put("changed", 1);
    room.gives_up_everything();
    life.until_after("the change to be given up", Duration::from_secs(1), || {
        life.status("r").dead == 1
    });
    assert_eq!(life.status("r").parked, 10);
    life.until("the backfill", || is_done(&life));
    target.behave(|_| Outcome::Done);
    life.until_after("the rows", Duration::from_secs(1), || target.count() == 10);
    assert_eq!(keys(&target), rows);
}
