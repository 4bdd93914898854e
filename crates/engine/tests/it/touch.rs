//! Touches: the version of each row rises once, and nothing else changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::{
    Error, OperationType, Record, StreamViewType, TOUCH_PRINCIPAL, TouchRows, Touched, UpdateTable,
};
use trestle_engine::{Engine, TOUCHED_MAX};
use trestle_env::Timestamp;
use trestle_hook::{Becomes, By, Change, Companion, Edits, Hook, Refused, Rows, Verdict};
use trestle_item::Item;

use crate::streams::read_all;
use crate::support::{Fixture, describe, get, n, number, put, s, scan, scan_all, table, update, with_stream};

const VERSION: &str = "reindexVersion";

/// A table with a stream and an index on the version, and rows `a`, `b` and so on.
fn fixture(rows: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let indexed = table(
        "T",
        "pk:S",
        &[],
        &[("by-version", "kind:S | reindexVersion:N", "ALL")],
    );
    let indexed = with_stream(indexed, StreamViewType::NewAndOldImages);
    fixture.engine.run(indexed).unwrap();
    for row in rows {
        fixture.engine.run(put("T", row_of(row))).unwrap();
    }
    fixture
}

fn row_of(pk: &str) -> Item {
    Item::from([("pk", s(pk)), ("kind", s("k")), ("text", s("t"))])
}

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn rows(version: u64, keys: &[&str]) -> TouchRows {
    TouchRows {
        table: "T".to_owned(),
        attribute: VERSION.to_owned(),
        version,
        keys: keys.iter().map(|pk| key(pk)).collect(),
        ..TouchRows::default()
    }
}

fn touch(engine: &Engine, version: u64, keys: &[&str]) -> Vec<Touched> {
    engine.touch(rows(version, keys)).unwrap().wait().unwrap()
}

fn touches(engine: &Engine, table: &str) -> Vec<Record> {
    let arn = describe(engine, table).latest_stream_arn.unwrap();
    let is_touch = |record: &Record| {
        let identity = record.user_identity.as_ref();
        identity.and_then(|identity| identity.principal_id.as_deref()) == Some(TOUCH_PRINCIPAL)
    };
    read_all(engine, &arn).into_iter().filter(is_touch).collect()
}

#[test]
fn each_row_has_its_own_outcome_and_nothing_but_its_version_changes() {
    let fixture = fixture(&["a", "b", "c"]);
    let engine = &fixture.engine;
    assert_eq!(touch(engine, 7, &["b"]), [Touched::Raised]);
    let keys = ["a", "gone", "b", "c"];
    assert_eq!(
        touch(engine, 5, &keys),
        [
            Touched::Raised,
            Touched::Gone,
            Touched::AlreadyThere,
            Touched::Raised
        ]
    );
    let mut raised = row_of("a");
    raised.insert(VERSION, n(5));
    assert_eq!(get(engine, "T", key("a")), Some(raised));
    assert_eq!(
        number(&get(engine, "T", key("b")).unwrap(), VERSION),
        7,
        "it never falls"
    );
    assert_eq!(get(engine, "T", key("gone")), None, "no row is created");
    let by_version = scan_all(engine, scan("T", Some("by-version"))).0;
    let mut versions: Vec<i64> = by_version.iter().map(|row| number(row, VERSION)).collect();
    versions.sort_unstable();
    assert_eq!(versions, [5, 5, 7], "index rows follow");
    fixture.assert_sound();
}

#[test]
fn a_touch_is_one_record_with_a_principal_of_its_own_and_a_rerun_writes_nothing() {
    let fixture = fixture(&["a", "b"]);
    let engine = &fixture.engine;
    touch(engine, 1, &["a", "b", "a"]);
    let before = touches(engine, "T");
    assert_eq!(before.len(), 2, "{before:#?}");
    for record in &before {
        assert_eq!(record.event_name, OperationType::Modify);
        let mut raised = record.dynamodb.old_image.clone().unwrap();
        raised.insert(VERSION, n(1));
        assert_eq!(record.dynamodb.new_image, Some(raised));
    }
    let stored = fixture.rows(trestle_store::Space::Items);
    assert_eq!(
        touch(engine, 1, &["a", "b"]),
        [Touched::AlreadyThere, Touched::AlreadyThere]
    );
    assert_eq!(touches(engine, "T"), before);
    assert_eq!(fixture.rows(trestle_store::Space::Items), stored);
    touch(engine, 2, &["a"]);
    assert_eq!(touches(engine, "T").len(), 3, "one for each version");
}

#[test]
fn a_row_at_the_version_is_recorded_again_where_that_is_asked_for_and_stays_as_it_is() {
    let fixture = fixture(&["a", "b", "c"]);
    let engine = &fixture.engine;
    touch(engine, 7, &["a"]);
    touch(engine, 9, &["b"]);
    let stored = |pk: &str| get(engine, "T", key(pk)).unwrap();
    let before = (stored("a"), stored("b"));
    let recorded = touches(engine, "T").len();
    let again = TouchRows {
        records_again: true,
        ..rows(7, &["a", "gone", "b", "c"])
    };
    let touched = engine.touch(again.clone()).unwrap().wait().unwrap();
    assert_eq!(
        touched,
        [Touched::Raised, Touched::Gone, Touched::Raised, Touched::Raised]
    );
    assert_eq!(
        (stored("a"), stored("b")),
        before,
        "a later version does not fall"
    );
    let records = touches(engine, "T").split_off(recorded);
    let images = |pk: &str| {
        let of_row = |record: &&Record| record.dynamodb.keys == key(pk);
        let found: Vec<&Record> = records.iter().filter(of_row).collect();
        assert_eq!(found.len(), 1, "{pk}: {records:#?}");
        assert_eq!(found[0].event_name, OperationType::Modify);
        (
            found[0].dynamodb.old_image.clone().unwrap(),
            found[0].dynamodb.new_image.clone().unwrap(),
        )
    };
    assert_eq!(images("a"), (before.0.clone(), before.0));
    assert_eq!(images("b"), (before.1.clone(), before.1));
    assert_eq!(images("c"), (row_of("c"), stored("c")));

    let expecting = TouchRows {
        expected: Item::from([("text", s("other"))]),
        ..again
    };
    let refused = engine.touch(expecting).unwrap().wait().unwrap();
    assert!(matches!(refused[0], Touched::Refused(_)), "{refused:?}");
    fixture.assert_sound();
}

#[test]
fn what_concerns_all_rows_is_refused_at_once() {
    let fixture = fixture(&["a"]);
    let engine = &fixture.engine;
    let refused = |rows: TouchRows| engine.touch(rows).unwrap_err().message().to_owned();
    let through = |attribute: &str| TouchRows {
        attribute: attribute.to_owned(),
        ..rows(1, &["a"])
    };
    assert!(refused(through("pk")).contains("part of the table's key"));
    assert!(refused(through("kind")).contains("index by-version and no number"));
    assert!(refused(through("")).contains("has a name"));
    let many = TouchRows {
        keys: vec![key("a"); TOUCHED_MAX + 1],
        ..rows(1, &[])
    };
    assert!(refused(many).contains("1000 are the most"));
    let missing = TouchRows {
        table: "missing".to_owned(),
        ..rows(1, &["a"])
    };
    assert!(engine.touch(missing).is_err());
    assert_eq!(touches(engine, "T"), []);
}

#[test]
fn a_row_that_does_not_have_the_expected_values_is_refused_alone() {
    let fixture = fixture(&["a", "b"]);
    let engine = &fixture.engine;
    let change = update("T", key("a"), "SET revision = :r", Item::from([(":r", n(2))]));
    engine.run(change).unwrap();
    let expecting = |revision: i64| TouchRows {
        expected: Item::from([("revision", n(revision))]),
        ..rows(3, &["a", "b"])
    };
    let touch = |rows: TouchRows| engine.touch(rows).unwrap().wait().unwrap();
    let failed = || Touched::Refused(trestle_api::Error::condition_failed(None));
    assert_eq!(touch(expecting(1)), [failed(), failed()]);
    assert_eq!(touches(engine, "T"), []);
    assert_eq!(touch(expecting(2)), [Touched::Raised, failed()]);
    // A row with the version is not compared.
    assert_eq!(touch(expecting(1)), [Touched::AlreadyThere, failed()]);
    assert_eq!(touches(engine, "T").len(), 1);
}

#[test]
fn a_key_that_does_not_fit_and_a_version_that_is_no_number_are_refused_alone() {
    let fixture = fixture(&["a", "b"]);
    let engine = &fixture.engine;
    let text = update("T", key("a"), "SET label = :t", Item::from([(":t", s("x"))]));
    engine.run(text).unwrap();
    let touching = TouchRows {
        attribute: "label".to_owned(),
        keys: vec![key("a"), Item::from([("other", s("a"))]), key("b")],
        ..rows(3, &[])
    };
    let touched = engine.touch(touching).unwrap().wait().unwrap();
    let [Touched::Refused(text), Touched::Refused(unfit), Touched::Raised] = touched.as_slice() else {
        panic!("{touched:?}")
    };
    assert!(text.message().contains("`label` is of type S"), "{text}");
    assert!(unfit.message().contains("does not match the schema"), "{unfit}");
    assert_eq!(get(engine, "T", key("a")).unwrap().get("label"), Some(&s("x")));
}

/// A hook that refuses rows marked as stuck, and copies each other row's version to table `C`.
struct Follows;

impl Hook for Follows {
    fn covers(&self, table: &str) -> bool {
        table == "T"
    }

    fn key(&self, _: &str, given: &Item) -> Result<Item, Error> {
        Ok(given.clone())
    }

    fn place(&self, _: &str, _: &Item, _: Timestamp) -> Result<Edits, Error> {
        Ok(Edits::default())
    }

    fn change(&self, changes: &[Change<'_>], _: &dyn Rows) -> Result<Verdict, Refused> {
        let mut verdict = Verdict::default();
        for change in changes {
            let (Some(old), Some(new), By::Touch) = (change.old, change.new, change.by) else {
                verdict.rows.push(Becomes::AsWritten);
                continue;
            };
            if new.contains_key("stuck") {
                return Err(Error::validation("the row is stuck").into());
            }
            if new.contains_key("follows") {
                verdict.rows.push(Becomes::Item(Arc::clone(old)));
                continue;
            }
            verdict.rows.push(Becomes::AsWritten);
            let copy = Item::from([(VERSION, new.get(VERSION).unwrap().clone())]);
            verdict.companions.push(Companion {
                // A companion is refused when its own row is staged.
                table: if new.contains_key("lost") { "missing" } else { "C" }.to_owned(),
                key: key(new.get("pk").unwrap().as_s().unwrap()),
                item: Some(Arc::new(copy)),
            });
        }
        Ok(verdict)
    }
}

#[test]
fn what_follows_is_in_the_same_commit_and_a_row_that_is_refused_leaves_the_others_alone() {
    let fixture = fixture(&["a", "b", "c", "d", "e"]);
    let engine = &fixture.engine;
    let copies = with_stream(table("C", "pk:S", &[], &[]), StreamViewType::NewImage);
    engine.run(copies).unwrap();
    engine.install(Vec::new(), Some(Arc::new(Follows))).unwrap();
    for (row, mark) in [("b", "stuck"), ("c", "follows"), ("d", "lost")] {
        let marked = format!("SET {mark} = :one");
        engine
            .run(update("T", key(row), &marked, Item::from([(":one", n(1))])))
            .unwrap();
    }
    let touched = touch(engine, 4, &["a", "b", "c", "d", "e"]);
    let [
        Touched::Raised,
        Touched::Refused(why),
        Touched::AlreadyThere,
        Touched::Refused(lost),
        Touched::Raised,
    ] = touched.as_slice()
    else {
        panic!("{touched:?}")
    };
    assert!(lost.message().contains("also concerns table missing"), "{lost}");
    assert_eq!(why.message(), "the row is stuck");
    let has_version = |pk| get(engine, "T", key(pk)).unwrap().contains_key(VERSION);
    let raised = ["a", "b", "c", "d", "e"].map(has_version);
    assert_eq!(raised, [true, false, false, false, true]);
    let (copied, _) = scan_all(engine, scan("C", None));
    assert_eq!(copied.len(), 2, "{copied:?}");
    assert!(copied.iter().all(|row| number(row, VERSION) == 4));
    assert_eq!(
        touches(engine, "C").len(),
        2,
        "what follows from a touch is told apart, too"
    );
    assert_eq!(touches(engine, "T").len(), 2);
    fixture.assert_sound();
}

/// Concurrent updates and touches; each must see what the other wrote.
#[test]
fn touches_beside_updates_lose_no_update_and_no_version_falls() {
    let fixture = fixture(&[]);
    let engine = &fixture.engine;
    let names: Vec<String> = (0..40).map(|at| format!("row-{at}")).collect();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &keys {
        engine.run(put("T", row_of(name))).unwrap();
    }
    let (updaters, rounds) = (3, 60);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let updating: Vec<_> = (0..updaters)
            .map(|client| {
                let keys = &keys;
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(client);
                    for _ in 0..rounds * keys.len() {
                        let at = rng.usize(..keys.len());
                        let add = format!("ADD hits :one SET by{client} = :t");
                        let values = Item::from([(":one", n(1)), (":t", s("x"))]);
                        engine.run(update("T", key(keys[at]), &add, values)).unwrap();
                    }
                })
            })
            .collect();
        for order in [1_u64, 2] {
            let (keys, is_over) = (&keys, &is_over);
            // Two reindexes, one of which is always behind the other.
            scope.spawn(move || {
                let mut version = order;
                while !is_over.load(Ordering::Relaxed) {
                    for touched in touch(engine, version, keys) {
                        assert!(
                            matches!(touched, Touched::Raised | Touched::AlreadyThere),
                            "{touched:?}"
                        );
                    }
                    version += order;
                }
            });
        }
        for client in updating {
            client.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let hits: i64 = keys
        .iter()
        .map(|pk| number(&get(engine, "T", key(pk)).unwrap(), "hits"))
        .sum();
    assert_eq!(hits, updaters as i64 * (rounds * keys.len()) as i64);
    assert_versions_rise(&touches(engine, "T"));
    fixture.assert_sound();
}

/// Each record of a row has a later version than the previous one, whose state is its old image.
fn assert_versions_rise(touches: &[Record]) {
    let mut newest: BTreeMap<String, i64> = BTreeMap::new();
    assert!(!touches.is_empty());
    for record in touches {
        let (old, new) = (
            &record.dynamodb.old_image,
            record.dynamodb.new_image.as_ref().unwrap(),
        );
        let pk = new.get("pk").unwrap().as_s().unwrap().to_owned();
        let before = newest.insert(pk.clone(), number(new, VERSION));
        let known = old
            .as_ref()
            .and_then(|old| old.get(VERSION))
            .map(|_| number(old.as_ref().unwrap(), VERSION));
        assert_eq!(known, before, "{pk}: every version has one record");
        assert!(before < Some(number(new, VERSION)), "{pk}: {before:?}");
    }
}

#[test]
fn a_table_that_gains_an_index_meanwhile_is_touched_as_it_is_then() {
    let fixture = fixture(&["a"]);
    let engine = &fixture.engine;
    let add = crate::support::add_index("T", "by-text", "text:S", "ALL");
    let touching = rows(1, &["a"; 500]);
    std::thread::scope(|scope| {
        scope.spawn(|| engine.run::<UpdateTable>(add).unwrap());
        let touched = engine.touch(touching).unwrap().wait().unwrap();
        assert_eq!(
            touched
                .iter()
                .filter(|touched| **touched == Touched::Raised)
                .count(),
            1
        );
    });
    fixture.until_active("T");
    fixture.assert_sound();
}
