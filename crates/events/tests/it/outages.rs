//! Targets that are down, throttle, hang or fail with one change: what waits, what is found at fault, and
//! what is shown.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trestle_events::{
    Batch, Concurrency, DeadLetter, Deliver, Door, Outcome, Route, RouteState, Selection, Target,
};

use crate::support::{Life, Recorder, START, World, assert_in_order, pk, refuse_bad, route};

const STEP: Duration = Duration::from_secs(5);
/// The longest pause between two probes.
const PAUSE: Duration = Duration::from_secs(15);

fn unavailable(_: &Batch) -> Outcome {
    Outcome::Unavailable("connection refused".into())
}

fn failing(_: &Batch) -> Outcome {
    Outcome::Failed("answered 500".into())
}

/// Fails as most frameworks do when a handler throws: for each batch in which a key begins with `bad`.
fn fail_bad(batch: &Batch) -> Outcome {
    match refuse_bad(batch) {
        Outcome::Done => Outcome::Done,
        _ => Outcome::Failed("answered 500".into()),
    }
}

/// A route with few attempts, as in the guide.
fn impatient() -> Route {
    Route {
        maximum_retry_attempts: 2,
        ..route("r")
    }
}

fn letters(life: &Life) -> Vec<DeadLetter> {
    life.block_on(life.router.dead_letters(None, None, 1000))
        .unwrap()
        .letters
}

fn on_hold(life: &Life) {
    life.until("the route to be on hold", || {
        life.status("r").state == RouteState::OnHold
    });
}

/// Advances time in steps, each long enough for a probe.
fn pass(world: &World, life: &Life, time: Duration) {
    let end = world.clock_now().plus(time);
    while world.clock_now() < end {
        world.clock.advance(PAUSE);
        // The last probe is due by now: a later one is planned after a probe has failed since, even one that
        // began before.
        life.until("the next probe to be planned", || {
            let next = life.status("r").on_hold.map(|hold| hold.next_probe_ms);
            next.is_some_and(|next| next > world.clock_now().as_millis())
        });
    }
}

fn an_hour_away(changes: usize, away: fn(&Batch) -> Outcome) {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([impatient()]);
    for n in 0..30 {
        world.put(&format!("bad-{n}"), 1);
    }
    life.until("the bad ones to be parked", || life.status("r").parked == 30);
    target.behave(away);
    let asked = target.batches().len();
    for n in 0..changes {
        world.put(&format!("item-{n}"), 1);
    }
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(3600));
    let status = life.status("r");
    assert_eq!((status.dead, status.parked), (0, 30), "{status:?}");
    let asked = target.batches().len() - asked;
    assert!(asked < 1000, "{asked} requests in an hour");

    // It works again. This is noticed within one pause; after that nothing waits for the clock.
    target.behave(|_| Outcome::Done);
    world.clock.advance(PAUSE);
    life.until("everything", || target.count() == changes + 30);
    let status = life.status("r");
    assert_eq!((status.dead, status.on_hold), (0, None));
}

#[test]
fn an_hour_without_a_connection_makes_no_dead_letter_of_fifty_thousand_changes() {
    an_hour_away(50_000, unavailable);
}

#[test]
fn an_hour_of_server_errors_makes_no_dead_letter() {
    an_hour_away(5_000, failing);
}

/// One poison change among others, at a given position.
fn one_poison(place: usize, of: usize, settings: Route) {
    let world = World::new();
    let target = Recorder::with(fail_bad);
    let life = world.life(&[("r", target.clone())]);
    for n in 0..of {
        let name = if n == place {
            "bad".to_owned()
        } else {
            format!("item-{n}")
        };
        world.put(&name, 1);
    }
    let attempts = settings.maximum_retry_attempts + 1;
    life.apply([settings]);
    // The clock does not advance: its neighbours wait for nothing.
    life.until("the others", || target.count() == of - 1);
    life.until("the poison to be parked", || life.status("r").parked == 1);
    life.until_after("the dead letter", STEP, || life.status("r").dead == 1);
    let letters = letters(&life);
    let letter = &letters[0];
    assert_eq!((letters.len(), pk(&letter.change)), (1, "bad".to_owned()));
    assert_eq!((letter.attempts, &*letter.error), (attempts, "answered 500"));
    let status = life.status("r");
    assert_eq!((status.parked, status.on_hold), (0, None));
}

#[test]
fn one_poison_change_among_ten_thousand_is_one_dead_letter_though_the_target_answers_500() {
    for (place, lanes) in [(0, 1), (5_555, 1), (9_999, 1), (4_321, 4)] {
        let settings = Route {
            parallelization_factor: lanes,
            ..route("r")
        };
        one_poison(place, 10_000, settings);
    }
}

#[test]
fn with_batches_of_one_a_poison_change_is_found_by_what_waits_behind_it() {
    for place in [0, 7, 18] {
        let settings = Route {
            batch_size: 1,
            ..impatient()
        };
        one_poison(place, 20, settings);
    }
}

#[test]
fn many_poison_changes_side_by_side_are_all_found() {
    let world = World::new();
    let target = Recorder::with(fail_bad);
    let life = world.life(&[("r", target.clone())]);
    for n in 0..40 {
        world.put(&format!("bad-{n}"), 1);
    }
    for n in 0..60 {
        world.put(&format!("item-{n}"), 1);
    }
    life.apply([impatient()]);
    life.until_after("the dead letters", Duration::from_secs(1), || {
        life.status("r").dead == 40
    });
    assert_eq!(target.count(), 60);
}

#[test]
fn a_change_that_is_alone_holds_the_route_until_one_of_another_item_tells_who_is_at_fault() {
    let world = World::new();
    let target = Recorder::with(fail_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([impatient()]);
    world.put("bad", 1);
    world.put("bad", 2);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(600));
    assert_eq!(life.status("r").dead, 0);
    // The clock does not advance: the other change is tried at once.
    world.put("good", 1);
    life.until("the good one", || target.count() == 1);
    life.until("the route to go on", || life.status("r").on_hold.is_none());
    life.until("both to be parked", || life.status("r").parked == 2);
    life.until_after("the first to be given up", Duration::from_secs(1), || {
        life.status("r").dead == 1
    });
    // The second is next, and it cannot be decided whether it is at fault until another change is tried.
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(600));
    assert_eq!((life.status("r").dead, life.status("r").parked), (1, 1));
    world.put("good", 2);
    life.until("the second good one", || target.count() == 2);
    life.until_after("the second to be given up", Duration::from_secs(1), || {
        life.status("r").dead == 2
    });
}

#[test]
fn what_failed_because_the_target_was_down_arrives_in_order() {
    let world = World::new();
    let target = Recorder::with(fail_bad);
    let life = world.life(&[("r", target.clone())]);
    for n in 1..=3 {
        world.put("bad", n);
        world.put("good", n);
    }
    life.apply([route("r")]);
    life.until("the good ones", || target.count() == 3);
    life.until("the others to be parked", || life.status("r").parked == 3);
    target.behave(failing);
    world.put("good", 4);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(3600));
    world.put("bad", 4);
    target.behave(|_| Outcome::Done);
    world.clock.advance(PAUSE);
    life.until("everything", || target.count() == 8);
    for (item, versions) in target.versions() {
        assert_eq!(versions, [1, 2, 3, 4], "{item}");
    }
}

#[test]
fn an_outage_spends_no_attempt_of_a_parked_change() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([impatient()]);
    world.put("bad", 1);
    life.until("it to be parked", || life.status("r").parked == 1);
    target.behave(unavailable);
    world.clock.advance(STEP);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(3600));
    assert_eq!(life.status("r").dead, 0);
    target.behave(refuse_bad);
    life.until_after("the dead letter", STEP, || life.status("r").dead == 1);
    let letter = &letters(&life)[0];
    assert_eq!((letter.attempts, &*letter.error), (3, "bad"));
}

#[test]
fn an_outage_in_the_middle_of_a_search_blames_at_most_one_change() {
    let world = World::new();
    let left = Arc::new(AtomicUsize::new(3));
    let answers = Arc::clone(&left);
    let target = Recorder::with(move |batch| {
        let is_up = answers
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok();
        if is_up { fail_bad(batch) } else { failing(batch) }
    });
    let life = world.life(&[("r", target.clone())]);
    for n in 0..100 {
        let name = if n == 90 {
            "bad".to_owned()
        } else {
            format!("item-{n}")
        };
        world.put(&name, 1);
    }
    life.apply([impatient()]);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(600));
    let status = life.status("r");
    assert!(status.parked <= 1 && status.dead == 0, "{status:?}");
    target.behave(|_| Outcome::Done);
    world.clock.advance(PAUSE);
    life.until("everything", || target.count() == 100);
}

#[test]
fn a_target_that_throttles_gets_everything_and_no_change_is_blamed() {
    let world = World::new();
    let asked = AtomicUsize::new(0);
    let target = Recorder::with(move |_| match asked.fetch_add(1, Ordering::SeqCst) % 3 {
        0 => Outcome::Done,
        _ => Outcome::Unavailable("answered 429".into()),
    });
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 0,
        parallelization_factor: 3,
        ..route("r")
    }]);
    for n in 1..=20 {
        for item in 0..50 {
            world.put(&format!("item-{item}"), n);
        }
    }
    life.until_after("everything", Duration::from_millis(200), || {
        target.count() == 1000
    });
    for (item, versions) in target.versions() {
        assert_eq!(versions, (1..=20).collect::<Vec<i64>>(), "{item}");
    }
    assert_eq!(life.status("r").dead, 0);
}

#[test]
fn what_was_throttled_in_part_comes_again_and_spends_no_attempt() {
    let world = World::new();
    // Takes the first of a batch, refuses the bad, and the others are to come later.
    let target = Recorder::with(|batch| {
        let ids = |bad: bool| {
            let rest = batch.deliveries.iter().skip(1);
            let rest = rest.filter(move |delivery| (pk(&delivery.change) == "bad") == bad);
            rest.map(|delivery| delivery.id.clone())
        };
        match batch.deliveries.len() {
            1 => refuse_bad(batch),
            _ => Outcome::Interrupted {
                refused: ids(true).map(|id| (id, "bad".to_owned())).collect(),
                later: ids(false).collect(),
                reason: "slower".to_owned(),
            },
        }
    });
    let life = world.life(&[("r", target.clone())]);
    for n in 0..20 {
        world.put(&format!("item-{n}"), 1);
    }
    world.put("bad", 1);
    world.put("item-0", 2);
    life.apply([Route {
        maximum_retry_attempts: 0,
        ..route("r")
    }]);
    life.until_after("all but one", Duration::from_millis(200), || target.count() == 21);
    life.until("the bad one", || life.status("r").dead == 1);
    assert_eq!(target.versions()["item-0"], [1, 2]);
}

/// The current behaviour of a target.
const UP: usize = 0;
const FAILS: usize = 1;

#[test]
fn across_random_outages_and_kills_only_poison_is_given_up_and_each_item_is_in_order() {
    for seed in 1..=6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let phase = Arc::new(AtomicUsize::new(UP));
        let now = Arc::clone(&phase);
        let target = Recorder::with(move |batch| match now.load(Ordering::SeqCst) {
            UP => fail_bad(batch),
            FAILS => failing(batch),
            _ => unavailable(batch),
        });
        let settings = Route {
            parallelization_factor: random.usize(1..=3),
            batch_size: random.usize(1..=20),
            maximum_retry_attempts: 4,
            ..route("r")
        };
        let mut life = world.life(&[("r", Arc::clone(&target))]);
        life.apply([settings.clone()]);
        let (items, rounds) = (12, 30);
        for round in 1..=rounds {
            for item in 0..items {
                world.put(&format!("item-{item}"), round);
            }
            if round % 10 == 0 {
                world.put(&format!("bad-{round}"), 1);
            }
            phase.store(random.usize(..3), Ordering::SeqCst);
            world.clock.advance(Duration::from_millis(random.u64(..20_000)));
            std::thread::sleep(Duration::from_millis(random.u64(..5)));
            if random.u8(..8) == 0 {
                life.kill();
                life = world.life(&[("r", Arc::clone(&target))]);
                life.apply([settings.clone()]);
            }
        }
        phase.store(UP, Ordering::SeqCst);
        let mut last = 0;
        // Poison is found as long as other changes are written.
        life.until_after("the poison to be given up", Duration::from_secs(1), || {
            last += 1;
            for item in 0..3 {
                world.put(&format!("more-{item}"), last);
            }
            life.status("r").dead >= 3
        });
        life.until_after("nothing to be left", Duration::from_secs(1), || {
            let status = life.status("r");
            let newest = |item: &str| target.versions().get(item).and_then(|all| all.last().copied());
            let has_last = (0..3).all(|item| newest(&format!("more-{item}")) == Some(last));
            status.parked == 0 && status.waiting == 0 && has_last
        });
        let given_up: Vec<String> = letters(&life).iter().map(|letter| pk(&letter.change)).collect();
        assert!(
            given_up.len() == 3 && given_up.iter().all(|item| item.starts_with("bad")),
            "seed {seed}: {given_up:?}"
        );
        for (item, versions) in target.versions() {
            let last = if item.starts_with("more") { last } else { rounds };
            assert_in_order(&format!("seed {seed}, {item}"), &versions, last);
        }
    }
}

/// Never answers.
struct Hung(AtomicBool);

impl Target for Hung {
    fn deliver<'a>(&'a self, _: &'a Batch) -> Deliver<'a> {
        self.0.store(true, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_target_that_hangs_does_not_look_like_one_that_is_catching_up() {
    let world = World::new();
    let hung = Arc::new(Hung(AtomicBool::new(false)));
    let door = Door::Target(Arc::clone(&hung) as Arc<dyn Target>);
    let life = world.life_with(
        Arc::new(world.engine.clone()),
        HashMap::from([("r".to_owned(), door)]),
    );
    // More than is read ahead.
    for n in 0..5_000 {
        world.put(&format!("item-{n}"), 1);
    }
    life.apply([route("r")]);
    life.until("an attempt", || hung.0.load(Ordering::SeqCst));
    life.until("the reader to stop", || {
        life.status("r").state == RouteState::CatchingUp
    });
    world.clock.advance(STEP);
    assert_eq!(life.status("r").state, RouteState::AwaitingAnswer);
}

#[test]
fn the_status_says_since_when_why_and_when_the_next_probe_is() {
    let world = World::new();
    let target = Recorder::with(unavailable);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    world.put("a", 1);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(600));
    let hold = life.status("r").on_hold.unwrap();
    let now = world.clock_now().as_millis();
    assert_eq!(hold.since_ms, START.as_millis());
    assert_eq!(hold.reason, "connection refused");
    let pause = hold.next_probe_ms - now;
    assert!((7_500..=15_000).contains(&pause), "{pause}");
    target.behave(|_| Outcome::Done);
    world.clock.advance(PAUSE);
    life.until("the route to go on", || {
        life.status("r").state == RouteState::Running
    });
    assert_eq!(life.status("r").on_hold, None);
}

/// Cannot be reached at the first attempt, and never answers after that.
struct AwayThenHung(AtomicUsize);

impl Target for AwayThenHung {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Box::pin(std::future::ready(unavailable(batch))),
            _ => Box::pin(std::future::pending()),
        }
    }
}

#[test]
fn the_status_says_that_a_probe_is_under_way() {
    for concurrency in [None, Some(Concurrency { most: 5, per: None })] {
        let world = World::new();
        let target = Arc::new(AwayThenHung(AtomicUsize::new(0)));
        let door = Door::Target(Arc::clone(&target) as Arc<dyn Target>);
        let life = world.life_with(
            Arc::new(world.engine.clone()),
            HashMap::from([("r".to_owned(), door)]),
        );
        life.apply([Route {
            concurrency,
            ..route("r")
        }]);
        world.put("a", 1);
        on_hold(&life);
        assert!(!life.status("r").on_hold.unwrap().probing);
        world.clock.advance(PAUSE);
        life.until("the probe", || target.0.load(Ordering::SeqCst) == 2);
        let hold = life.status("r").on_hold.unwrap();
        assert!(hold.probing && hold.next_probe_ms <= world.clock_now().as_millis());
    }
}

#[test]
fn a_router_that_is_killed_during_a_hold_goes_on_with_everything_that_waited() {
    let world = World::new();
    let target = Recorder::with(unavailable);
    for round in 1..=3 {
        let life = world.life(&[("r", target.clone())]);
        life.apply([impatient()]);
        for item in 0..200 {
            world.put(&format!("item-{item}"), round);
        }
        on_hold(&life);
        pass(&world, &life, Duration::from_secs(600));
        life.kill();
    }
    let life = world.life(&[("r", target.clone())]);
    target.behave(|_| Outcome::Done);
    life.apply([impatient()]);
    life.until("everything", || target.count() == 600);
    for (item, versions) in target.versions() {
        assert_eq!(versions, [1, 2, 3], "{item}");
    }
    assert_eq!(life.status("r").dead, 0);
}

#[test]
fn with_a_maximum_age_a_hold_gives_up_what_is_older() {
    let world = World::new();
    let target = Recorder::with(unavailable);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_record_age: Some(Duration::from_secs(3600)),
        ..impatient()
    }]);
    for n in 0..250 {
        world.put(&format!("item-{n}"), 1);
    }
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(3000));
    assert_eq!(life.status("r").dead, 0);
    life.until_after("all to be given up", STEP, || life.status("r").dead == 250);
    let reason = "older than the route's maximum_record_age; last: connection refused";
    assert_eq!(letters(&life)[0].error, reason);
}

#[test]
fn without_bisecting_a_batch_fails_as_a_whole_once_another_shows_that_the_target_works() {
    let world = World::new();
    let target = Recorder::with(fail_bad);
    let life = world.life(&[("r", target.clone())]);
    for item in ["a", "bad", "b"] {
        world.put(item, 1);
    }
    life.apply([Route {
        bisect_batch_on_error: false,
        batch_size: 3,
        maximum_batching_window: Duration::from_secs(1),
        maximum_retry_attempts: 1,
        ..route("r")
    }]);
    on_hold(&life);
    pass(&world, &life, Duration::from_secs(600));
    assert_eq!(life.status("r").dead, 0);
    world.put("c", 1);
    life.until("the other batch", || target.count() == 1);
    // Each attempt that is counted needs a witness of its own.
    life.until_after("three dead letters", Duration::from_secs(1), || {
        world.put("d", 1);
        life.status("r").dead == 3
    });
    assert!(target.batches().iter().all(|size| [1, 3].contains(size)));
}

#[test]
fn a_replay_during_an_outage_keeps_the_dead_letter() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 0,
        ..route("r")
    }]);
    world.put("bad", 1);
    life.until("the dead letter", || life.status("r").dead == 1);
    target.behave(failing);
    let selection = Selection::Route("r".into());
    life.block_on(life.router.replay(selection)).unwrap();
    assert_eq!(letters(&life)[0].error, "answered 500");
    assert_eq!(life.status("r").state, RouteState::Running);
}
