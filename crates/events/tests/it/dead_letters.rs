//! Dead letters: listed page by page, shown, replayed and dropped.

use std::time::Duration;

use trestle_events::{GoneRoute, Outcome, Replayed, Route, Selection, StartingPosition};
use trestle_item::{AttributeValue, Item};

use crate::support::{Life, Recorder, World, pk, refuse_bad, route};

fn hasty(name: &str) -> Route {
    Route {
        maximum_retry_attempts: 0,
        ..route(name)
    }
}

fn replayed(delivered: u64, failed: u64) -> Replayed {
    Replayed {
        delivered,
        failed,
        ..Replayed::default()
    }
}

fn ids(life: &Life, route: Option<&str>) -> Vec<String> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = life
            .block_on(life.router.dead_letters(route, after.as_deref(), 2))
            .unwrap();
        assert!(page.letters.len() <= 2);
        ids.extend(page.letters.into_iter().map(|letter| letter.id));
        after = page.next;
        if after.is_none() {
            return ids;
        }
    }
}

#[test]
fn dead_letters_are_listed_shown_replayed_and_dropped_by_route_or_by_one() {
    let world = World::new();
    let (one, two) = (Recorder::with(refuse_bad), Recorder::with(refuse_bad));
    let life = world.life(&[("one", one.clone()), ("two", two.clone())]);
    life.apply([hasty("one"), hasty("two")]);
    for n in 1..=5 {
        world.put(&format!("bad-{n}"), n);
    }
    life.until("ten dead letters", || {
        life.router.status().iter().all(|status| status.dead == 5)
    });
    assert_eq!(ids(&life, None).len(), 10);
    let of_one = ids(&life, Some("one"));
    assert_eq!(of_one.len(), 5);
    assert!(of_one.is_sorted() && of_one.iter().all(|id| id.starts_with("one#")));

    let letter = life
        .block_on(life.router.dead_letter(&of_one[0]))
        .unwrap()
        .unwrap();
    assert_eq!((letter.attempts, &*letter.error), (1, "bad"));
    assert_eq!(letter.to_json()["change"], letter.change.to_json());
    assert!(
        life.block_on(life.router.dead_letter("one#nothing"))
            .unwrap()
            .is_none()
    );

    let replay = |selection| life.block_on(life.router.replay(selection)).unwrap();
    let refused = replay(Selection::One(of_one[0].clone()));
    assert_eq!(refused, replayed(0, 1));
    let letter = life
        .block_on(life.router.dead_letter(&of_one[0]))
        .unwrap()
        .unwrap();
    assert_eq!(letter.attempts, 2);

    one.behave(|_| Outcome::Done);
    assert_eq!(replay(Selection::One(of_one[0].clone())), replayed(1, 0));
    assert_eq!(pk(&one.taken()[0]), pk(&letter.change));
    assert_eq!(replay(Selection::Route("one".into())), replayed(4, 0));
    assert_eq!((one.count(), ids(&life, Some("one")).len()), (5, 0));
    assert_eq!((life.status("one").dead, life.status("two").dead), (0, 5));

    let of_two = ids(&life, None);
    let dropped = |selection| life.block_on(life.router.drop_dead_letters(selection)).unwrap();
    assert_eq!(dropped(Selection::One(of_two[2].clone())), 1);
    assert_eq!(replay(Selection::All), replayed(0, 4));
    assert_eq!(dropped(Selection::All), 4);
    assert_eq!((life.status("two").dead, ids(&life, None).len()), (0, 0));
    let gone = life.block_on(life.router.replay(Selection::One(of_two[2].clone())));
    assert!(gone.unwrap_err().to_string().contains("There is no dead letter"));
}

#[test]
fn dead_letters_of_a_route_that_is_gone_can_be_moved_to_another_and_replayed() {
    let world = World::new();
    let (before, after) = (Recorder::with(refuse_bad), Recorder::new());
    let life = world.life(&[("before", before.clone()), ("after", after.clone())]);
    life.apply([hasty("before"), route("after")]);
    let text = AttributeValue::from("x".repeat(390_000));
    world.put_item("T", Item::from([("pk", "bad-large".into()), ("text", text)]));
    world.put("bad-small", 1);
    life.until("two dead letters", || life.status("before").dead == 2);
    let changes = after.taken();
    life.apply([route("after")]);

    let replay = |selection| life.block_on(life.router.replay(selection));
    let left = replay(Selection::All).unwrap();
    assert_eq!((left.left, left.delivered, ids(&life, None).len()), (2, 0, 2));
    let refused = replay(Selection::Route("before".into())).unwrap_err();
    assert!(
        refused
            .message()
            .contains("dead-letters move --route before --to NAME"),
        "{refused}"
    );

    let give = |selection, to| life.block_on(life.router.move_dead_letters(selection, to));
    assert!(give(Selection::All, "nowhere").is_err());
    assert_eq!(ids(&life, Some("before")).len(), 2, "nothing was moved");
    assert_eq!(give(Selection::Route("before".into()), "after").unwrap(), 2);
    assert_eq!(give(Selection::All, "after").unwrap(), 0, "they are there");
    assert_eq!(
        (life.status("after").dead, ids(&life, Some("after")).len()),
        (2, 2)
    );

    assert_eq!(replay(Selection::All).unwrap(), replayed(2, 0));
    let again: Vec<_> = after.taken().split_off(changes.len());
    assert_eq!(again, changes, "whole, and in order");
    assert_eq!(life.status("after").dead, 0);
}

#[test]
fn dead_letters_of_routes_that_are_gone_are_counted_until_they_are_moved_or_dropped() {
    let world = World::new();
    let names = ["a", "a-b", "b", "c"];
    let targets = names.map(|name| (name, Recorder::with(refuse_bad)));
    let life = world.life(&targets);
    let gone = |life: &Life| {
        let gone = life.router.gone_routes();
        assert_eq!(
            life.block_on(life.router.stored_gone_routes()).unwrap(),
            gone,
            "as the rows tell"
        );
        let pair = |gone: GoneRoute| (gone.route, gone.dead);
        gone.into_iter().map(pair).collect::<Vec<(String, u64)>>()
    };
    life.apply(names.map(hasty));
    for n in 1..=3 {
        world.put(&format!("bad-{n}"), n);
    }
    life.until("the dead letters", || {
        life.router.status().iter().all(|status| status.dead == 3)
    });
    assert_eq!(gone(&life), []);
    life.apply([hasty("b"), hasty("c")]);
    let two = [("a".to_owned(), 3), ("a-b".to_owned(), 3)];
    assert_eq!(gone(&life), two);
    life.stop();

    // After a restart, too; and a route that is added again is not listed as removed.
    let life = world.life(&targets);
    life.apply([hasty("b"), hasty("c")]);
    assert_eq!(gone(&life), two);
    let first = ids(&life, Some("a")).remove(0);
    life.block_on(life.router.drop_dead_letters(Selection::One(first)))
        .unwrap();
    assert_eq!(gone(&life)[0], ("a".to_owned(), 2));
    life.block_on(life.router.move_dead_letters(Selection::Route("a".into()), "c"))
        .unwrap();
    assert_eq!(gone(&life), [("a-b".to_owned(), 3)]);
    assert_eq!(life.status("c").dead, 3, "they are the same changes");
    // Not from the first change on, which it would refuse again.
    life.apply(names.map(|name| Route {
        starting_position: StartingPosition::Latest,
        ..hasty(name)
    }));
    assert_eq!((gone(&life), life.status("a-b").dead), (Vec::new(), 3));
}

#[test]
fn a_route_that_nobody_knows_has_no_dead_letters_to_speak_of() {
    let world = World::new();
    let life = world.life(&[("r", Recorder::new())]);
    life.apply([route("r")]);
    let of = |name: &str| life.block_on(life.router.dead_letters(Some(name), None, 10));
    assert_eq!(of("r").unwrap().letters.len(), 0);
    let nobody = || Selection::Route("q".into());
    let refusals = [
        of("q").unwrap_err(),
        life.block_on(life.router.replay(nobody())).unwrap_err(),
        life.block_on(life.router.drop_dead_letters(nobody()))
            .unwrap_err(),
    ];
    for refusal in refusals {
        let said = refusal.message();
        assert_eq!(
            said,
            "There is no route `q`, and no dead letter of it; there is r"
        );
    }
}

#[test]
fn a_record_larger_than_a_row_and_one_nested_to_the_limit_are_kept_whole() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([Route {
        maximum_retry_attempts: 1,
        ..route("r")
    }]);
    let mut deep = AttributeValue::from("bottom");
    for _ in 0..30 {
        deep = AttributeValue::L(vec![deep]);
    }
    let text = |letter: &str| AttributeValue::from(letter.repeat(390_000));
    world.put_item("T", Item::from([("pk", "bad-deep".into()), ("deep", deep)]));
    world.put_item("T", Item::from([("pk", "bad-large".into()), ("text", text("x"))]));
    world.put_item("T", Item::from([("pk", "bad-large".into()), ("text", text("y"))]));
    life.until_after("three dead letters", Duration::from_secs(1), || {
        life.status("r").dead == 3
    });
    let letters = life
        .block_on(life.router.dead_letters(Some("r"), None, 10))
        .unwrap()
        .letters;
    let large = letters
        .iter()
        .rfind(|letter| pk(&letter.change) == "bad-large")
        .unwrap();
    let length = |image: &Option<Item>| image.as_ref().unwrap().get("text").unwrap().as_s().unwrap().len();
    assert_eq!(
        (length(&large.change.old), length(&large.change.new)),
        (390_000, 390_000)
    );
    target.behave(|_| Outcome::Done);
    let replayed = life.block_on(life.router.replay(Selection::All)).unwrap();
    assert_eq!(replayed.delivered, 3);
    assert_eq!(
        target
            .taken()
            .iter()
            .filter(|change| change.new.is_some())
            .count(),
        3
    );
    let rows = trestle_api::Scan {
        table_name: "_trestle.routes".into(),
        ..trestle_api::Scan::default()
    };
    let rows = world.engine.run(rows).unwrap().items.unwrap().to_vec();
    let parts = rows
        .iter()
        .filter(|row| row.get("pk").unwrap().as_s().unwrap().starts_with("part#"));
    assert_eq!(parts.count(), 0, "the parts of large records go with them");
}

#[test]
fn a_replay_ends_where_the_target_does_not_answer_and_spends_no_attempt_of_the_rest() {
    let world = World::new();
    let target = Recorder::with(|_| Outcome::Refused("no".into()));
    let life = world.life(&[("r", target.clone())]);
    life.apply([hasty("r")]);
    for n in 1..=20 {
        world.put(&format!("item-{n}"), 1);
    }
    life.until("all to be dead", || life.status("r").dead == 20);
    let replay = || life.block_on(life.router.replay(Selection::All)).unwrap();
    let tried = || target.batches().len();
    target.behave(|_| Outcome::Unavailable("connection refused".into()));
    let before = tried();
    assert_eq!(
        replay(),
        Replayed {
            unanswered: 1,
            left: 19,
            ..replayed(0, 0)
        }
    );
    assert_eq!(tried(), before + 1, "one attempt tells");
    let page = life.block_on(life.router.dead_letters(None, None, 1)).unwrap();
    let letter = &page.letters[0];
    assert_eq!((&*letter.error, letter.attempts), ("connection refused", 1));
    target.behave(|batch| Outcome::Interrupted {
        refused: Vec::new(),
        later: batch
            .deliveries
            .iter()
            .map(|delivery| delivery.id.clone())
            .collect(),
        reason: "throttled".into(),
    });
    assert_eq!(
        replay().unanswered,
        1,
        "the target took nothing, and refused nothing"
    );
    let before = tried() - 1;
    target.behave(|_| Outcome::Failed("no answer in time".into()));
    assert_eq!(
        replay(),
        Replayed {
            unanswered: 3,
            left: 17,
            ..replayed(0, 0)
        }
    );
    assert_eq!(tried(), before + 4, "three failures one after the other do");
    target.behave(|_| Outcome::Done);
    assert_eq!(replay(), replayed(20, 0));
}
