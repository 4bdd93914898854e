//! Targets that refuse, fail in part, cannot be reached, or panic.

use std::time::Duration;

use trestle_events::{Outcome, Route, RouteState};

use crate::support::{Recorder, World, pk, refuse_bad, route};

const STEP: Duration = Duration::from_millis(500);

#[test]
fn a_refused_batch_is_cut_until_the_bad_change_is_alone_and_everything_else_arrives() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    for n in 0..40 {
        world.put(&format!("item-{n}"), 1);
    }
    world.put("bad", 1);
    world.put("bad", 2);
    for n in 40..80 {
        world.put(&format!("item-{n}"), 1);
    }
    life.apply([route("r")]);
    life.until("the good ones", || target.count() == 80);
    life.until("the bad ones to be parked", || life.status("r").parked == 2);
    assert_eq!(life.status("r").last_error.unwrap().message, "bad");
    // Once it is taken, so are the changes that waited for it, in order.
    target.behave(|_| Outcome::Done);
    life.until_after("the bad ones", STEP, || target.count() == 82);
    assert_eq!(target.versions()["bad"], [1, 2]);
    life.until("nothing to be left", || life.status("r").parked == 0);
    world.put("bad", 3);
    life.until("the next one, at once", || target.count() == 83);
}

#[test]
fn the_last_error_is_marked_as_past_once_the_target_has_taken_something() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    let last_error = || life.status("r").last_error.unwrap();
    let refused = |n| {
        world.put("bad", n);
        life.until("the change to be parked", || life.status("r").parked == 1);
        let error = last_error();
        assert_eq!((&*error.message, error.past), ("bad", false));
        error
    };
    let error = refused(1);
    world.clock.advance(Duration::from_millis(1));
    world.put("good", 1);
    life.until("the other change", || last_error().past);
    assert_eq!((last_error().at_ms, target.count()), (error.at_ms, 1));

    // Also by a parked change, and a new error is not past.
    target.behave(|_| Outcome::Done);
    life.until_after("the bad one", STEP, || life.status("r").parked == 0);
    target.behave(refuse_bad);
    refused(2);
    target.behave(|_| Outcome::Done);
    life.until_after("the second bad one", STEP, || target.count() == 3);
    life.until("the error to be past", || last_error().past);

    // What is refused beside others that are taken is not.
    target.behave(|batch| {
        let ids = batch.deliveries.iter().map(|delivery| delivery.id.clone());
        Outcome::Partly(ids.take(1).map(|id| (id, "full".to_owned())).collect())
    });
    life.stop();
    world.put("one", 1);
    world.put("two", 1);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        batch_size: 2,
        maximum_batching_window: STEP,
        ..route("r")
    }]);
    life.until("one of two", || life.status("r").delivered == 1);
    let error = life.status("r").last_error.unwrap();
    assert_eq!((&*error.message, error.past), ("full", false));
}

#[test]
fn a_change_that_is_never_taken_becomes_a_dead_letter_after_its_attempts() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 3,
        ..route("r")
    }]);
    world.put("bad", 1);
    life.until_after("the dead letter", STEP, || life.status("r").dead == 1);
    assert_eq!(target.attempts(), [1, 2, 3, 4]);
    let letters = life
        .block_on(life.router.dead_letters(Some("r"), None, 10))
        .unwrap();
    let letter = &letters.letters[0];
    assert_eq!((letter.attempts, &*letter.error, &*letter.route), (4, "bad", "r"));
    assert_eq!(pk(&letter.change), "bad");
    assert!(letter.change.new.is_some() && letter.last > letter.first);
    assert_eq!(life.status("r").retried, 3);
}

#[test]
fn what_a_target_reports_as_failed_is_tried_again_and_the_rest_is_not() {
    let world = World::new();
    let target = Recorder::with(|batch| {
        let failed = |id: &String| (id.clone(), "not this one".to_owned());
        let bad = batch
            .deliveries
            .iter()
            .filter(|delivery| pk(&delivery.change) == "bad");
        Outcome::Partly(bad.map(|delivery| failed(&delivery.id)).collect())
    });
    let life = world.life(&[("r", target.clone())]);
    for item in ["a", "bad", "b"] {
        world.put(item, 1);
    }
    life.apply([route("r")]);
    life.until("the good ones and a second attempt", || {
        target.count() == 2 && life.status("r").parked == 1
    });
    target.behave(|_| Outcome::Done);
    life.until_after("the bad one", STEP, || target.count() == 3);
    let mut taken: Vec<String> = target.taken().iter().map(|change| pk(change)).collect();
    taken.sort();
    assert_eq!(taken, ["a", "b", "bad"]);
}

#[test]
fn a_target_that_is_away_gets_the_same_batch_again_and_costs_no_other_route_anything() {
    let world = World::new();
    let away = Recorder::with(|_| Outcome::Unavailable("connection refused".into()));
    let there = Recorder::new();
    let life = world.life(&[("away", away.clone()), ("there", there.clone())]);
    life.apply([route("away"), route("there")]);
    // More than may be read ahead for a route that does not advance.
    let (per_minute, minutes) = (100, 60);
    for minute in 0..minutes {
        for n in 0..per_minute {
            world.put(&format!("item-{n}"), minute + 1);
        }
        let so_far = ((minute + 1) * per_minute) as usize;
        // The clock does not advance: the other route is not delayed.
        life.until("the other route", || there.count() == so_far);
        world.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(away.count(), 0);
    let status = life.status("away");
    assert!(status.waiting >= 2000 && status.waiting < 4000, "{status:?}");
    assert!(status.lag_ms >= 59 * 60 * 1000, "{status:?}");
    // The last delivery may not be recorded yet.
    life.until("no lag of the other route", || life.status("there").lag_ms == 0);
    life.until("the route to wait", || {
        life.status("away").state == RouteState::OnHold
    });
    away.behave(|_| Outcome::Done);
    life.until_after("everything, late", Duration::from_secs(1), || {
        away.count() == 6000
    });
    for (item, versions) in away.versions() {
        assert_eq!(versions, (1..=minutes).collect::<Vec<i64>>(), "{item}");
    }
}

#[test]
fn without_bisecting_a_refused_batch_is_tried_again_as_a_whole() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    for item in ["a", "bad", "b", "c"] {
        world.put(item, 1);
    }
    world.stream(false);
    life.apply([Route {
        bisect_batch_on_error: false,
        maximum_batching_window: Duration::from_secs(1),
        maximum_retry_attempts: 1,
        ..route("r")
    }]);
    life.until_after("four dead letters", STEP, || life.status("r").dead == 4);
    assert_eq!(target.batches(), [4, 4]);
}

#[test]
fn a_change_that_is_too_old_becomes_a_dead_letter() {
    let world = World::new();
    world.put("old", 1);
    world.clock.advance(Duration::from_secs(3600));
    world.put("new", 1);
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_record_age: Some(Duration::from_secs(60)),
        maximum_retry_attempts: 10_000,
        ..route("r")
    }]);
    life.until("the new one", || target.count() == 1);
    life.until("the old one to be given up", || life.status("r").dead == 1);
    // A parked change becomes too old while it waits.
    world.put("bad", 1);
    life.until("the bad one to be parked", || life.status("r").parked == 1);
    life.until_after("the bad one to be given up", Duration::from_secs(5), || {
        life.status("r").dead == 2
    });
    let letters = life
        .block_on(life.router.dead_letters(None, None, 10))
        .unwrap()
        .letters;
    assert!(
        letters
            .iter()
            .all(|letter| letter.error.starts_with("older than")),
        "{letters:?}"
    );
}

#[test]
fn a_handler_that_panics_has_refused_its_batch() {
    let world = World::new();
    let target = Recorder::with(|batch| {
        assert!(pk(&batch.deliveries[0].change) != "bad", "out of cheese");
        Outcome::Done
    });
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        batch_size: 1,
        ..route("r")
    }]);
    world.put("bad", 1);
    world.put("good", 1);
    life.until("the good one", || target.count() == 1);
    let error = life.status("r").last_error.unwrap().message;
    assert_eq!(error, "the target panicked: out of cheese");
}

#[test]
fn ten_thousand_poison_changes_do_not_stop_the_rest() {
    let world = World::new();
    let target = Recorder::with(|batch| {
        let bad = batch
            .deliveries
            .iter()
            .filter(|delivery| pk(&delivery.change).starts_with("bad"));
        Outcome::Partly(
            bad.map(|delivery| (delivery.id.clone(), "poison".to_owned()))
                .collect(),
        )
    });
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 1,
        batch_size: 500,
        ..route("r")
    }]);
    for n in 0..10_000 {
        world.put(&format!("bad-{n}"), 1);
        if n % 20 == 0 {
            world.put(&format!("good-{n}"), 1);
        }
    }
    life.until("the good ones", || target.count() == 500);
    assert!(life.status("r").parked + life.status("r").dead <= 10_000);
    world.put("good-last", 1);
    life.until("the next good one", || target.count() == 501);
    life.until_after("the poison to be given up", STEP, || {
        life.status("r").dead == 10_000
    });
    assert_eq!(life.status("r").parked, 0);
}

#[test]
fn a_route_with_as_many_parked_changes_as_it_may_have_stands_still_until_some_are_taken() {
    let bound = 10;
    let world = World {
        parked_max: bound,
        ..World::new()
    };
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([route("r")]);
    for n in 0..30 {
        world.put(&format!("bad-{n}"), 1);
    }
    world.put("good", 1);
    let standing = || {
        let status = life.status("r");
        (status.parked, status.waiting, status.dead, status.delivered)
    };
    // Later changes wait, too.
    life.until("the bound", || standing() == (10, 21, 0, 0));
    // Attempts that are refused make no room.
    let attempts = target.batches().len();
    world.clock.advance(STEP);
    life.until("further attempts", || target.batches().len() >= attempts + bound);
    assert_eq!(standing(), (10, 21, 0, 0));

    target.behave(|_| Outcome::Done);
    life.until_after("everything", STEP, || target.count() == 31);
    life.until("nothing to be left", || standing() == (0, 0, 0, 31));
}
