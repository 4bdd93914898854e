#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use trestle_item::{AttributeValue, Item};

use super::*;
use crate::row_source::EndpointClock;

/// An endpoint a minute ahead, give or take two seconds.
struct Ahead;

impl EndpointClock for Ahead {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        let plus = |seconds| at.plus(Duration::from_secs(seconds));
        (plus(58), plus(62))
    }
}

const READ: Timestamp = Timestamp::from_secs(1_000);

fn after(seconds: u64) -> Timestamp {
    READ.plus(Duration::from_secs(seconds))
}

fn shard(name: &str) -> Arc<ShardName> {
    Arc::new(ShardName {
        stream: "s".into(),
        shard: name.into(),
    })
}

fn change(pk: &str, n: i64, event: ChangeEvent, at: Timestamp) -> ReadChange {
    let item = Item::from([("pk", AttributeValue::from(pk)), ("n", n.into())]);
    let is_removed = event == ChangeEvent::Remove;
    let change = Change {
        table: "T".into(),
        entity: None,
        event,
        maintenance: None,
        keys: Item::from([("pk", pk)]),
        former_keys: None,
        old: is_removed.then(|| item.clone()),
        new: (!is_removed).then_some(item),
        changed: Vec::new(),
        event_id: format!("{pk}{n}"),
        sequence: n.to_string(),
        shard: "1".into(),
        at,
    };
    ReadChange::new(change, 1)
}

/// One page with rows of these items, which was read at [`READ`].
fn held(items: &[&str]) -> ScannedRows {
    let mut rows = ScannedRows::new(ScanSettings {
        clock: Arc::new(Ahead),
        stream_delay: Duration::from_secs(15),
    });
    let row = |pk: &&str| change(pk, 1, ChangeEvent::Backfill, READ);
    let numbered: Vec<(u64, ReadChange)> = (1..).zip(items.iter().map(row)).collect();
    let end = RowPlace {
        rows: numbered.len() as u64,
        ..RowPlace::default()
    };
    rows.hold(numbered, end, READ);
    rows
}

fn at(shards: &[&str], sequence: u64) -> Vec<ReadPoint> {
    let position = ShardPosition::After(SequenceNumber::new(&sequence.to_string()));
    let point = |name: &&str| (shard(name), position.clone());
    shards.iter().map(point).collect()
}

/// Whether the page can be handed over, if all changes are done and the streams were described late enough.
fn is_settled(rows: &mut ScannedRows, open: &[ReadPoint]) -> bool {
    rows.note_beyond(open);
    rows.is_settled(open, after(15), |_, _| true)
}

fn told(rows: &mut ScannedRows, pk: &str, n: i64, event: ChangeEvent, is_taken: bool) {
    rows.given(&shard("1"), &[change(pk, n, event, READ)], |_| is_taken);
}

fn handed(rows: &mut ScannedRows) -> Vec<String> {
    let rows = rows.release().unwrap().rows;
    rows.iter()
        .map(|(_, read)| {
            let new = read.typed.change.new.as_ref().unwrap();
            let n = new.get("n").unwrap().as_n().unwrap();
            format!("{}{n}", new.get("pk").unwrap().as_s().unwrap())
        })
        .collect()
}

#[test]
fn a_shard_is_beyond_a_page_with_a_record_that_is_later_by_the_clock_of_the_endpoint() {
    let mut rows = held(&["a"]);
    let open = at(&["1", "2"], 9);
    // The endpoint's clock showed at most 62 seconds more, and times of records may differ by five.
    for seconds in [0, 30, 67] {
        for name in ["1", "2"] {
            rows.given(
                &shard(name),
                &[change("x", 2, ChangeEvent::Insert, after(seconds))],
                |_| true,
            );
        }
        assert!(!is_settled(&mut rows, &open), "{seconds}");
    }
    rows.given(
        &shard("1"),
        &[change("x", 3, ChangeEvent::Insert, after(68))],
        |_| true,
    );
    assert!(!is_settled(&mut rows, &open), "the other shard is not");
    rows.given(
        &shard("2"),
        &[change("x", 3, ChangeEvent::Insert, after(68))],
        |_| true,
    );
    assert!(is_settled(&mut rows, &open));
    let with_child = [open, at(&["3"], 9)].concat();
    assert!(!is_settled(&mut rows, &with_child), "a shard has come");
}

#[test]
fn a_shard_is_beyond_a_page_when_it_has_no_records_for_long_enough() {
    let mut rows = held(&["a"]);
    let open = at(&["1"], 9);
    for seconds in [1, 5, 14] {
        rows.found_nothing(&shard("1"), after(seconds));
        assert!(!is_settled(&mut rows, &open), "{seconds}");
    }
    // After a record, the end of the shard has to be found again.
    told(&mut rows, "x", 2, ChangeEvent::Insert, true);
    for seconds in [15, 16] {
        rows.found_nothing(&shard("1"), after(seconds));
        assert!(!is_settled(&mut rows, &open), "{seconds}");
    }
    // It is read from a different position.
    rows.lost_place(&shard("1"));
    rows.found_nothing(&shard("1"), after(17));
    assert!(!is_settled(&mut rows, &open));
    rows.found_nothing(&shard("1"), after(18));
    rows.found_nothing(&shard("1"), after(19));
    assert!(is_settled(&mut rows, &open));
}

#[test]
fn a_page_waits_for_a_look_at_the_streams_and_until_what_was_read_is_done() {
    let mut rows = held(&["a"]);
    let open = at(&["1"], 9);
    rows.given(
        &shard("1"),
        &[change("x", 2, ChangeEvent::Insert, after(100))],
        |_| true,
    );
    rows.note_beyond(&open);
    // The shard is read further; its position when it was first beyond the page counts.
    let later = at(&["1"], 50);
    rows.note_beyond(&later);
    let settled = |rows: &ScannedRows, looked, done: u64| {
        rows.is_settled(&later, looked, |_, sequence| {
            *sequence <= SequenceNumber::new(&done.to_string())
        })
    };
    assert!(rows.needs_look(after(14), after(15)) && !rows.needs_look(after(14), after(14)));
    assert!(!settled(&rows, after(14), 9), "no look since then");
    assert!(!settled(&rows, after(15), 8), "not done");
    assert!(settled(&rows, after(15), 9));
    // A change that the route does not take is part of the row now.
    told(&mut rows, "a", 20, ChangeEvent::Modify, false);
    assert!(!settled(&rows, after(15), 19));
    assert!(settled(&rows, after(15), 20));
}

#[test]
fn what_is_handed_over_is_what_no_change_has_told() {
    use ChangeEvent::{Insert, Modify, Remove};
    let mut rows = held(&["a", "b", "c", "d", "e", "f"]);
    told(&mut rows, "b", 2, Modify, true);
    told(&mut rows, "c", 2, Modify, false);
    told(&mut rows, "c", 3, Modify, false);
    told(&mut rows, "d", 2, Remove, false);
    told(&mut rows, "e", 2, Insert, true);
    told(&mut rows, "e", 3, Modify, false);
    told(&mut rows, "f", 2, Modify, false);
    told(&mut rows, "f", 3, Modify, true);
    assert_eq!(handed(&mut rows), ["a1", "c3", "e3"]);
    assert!(rows.is_empty() && rows.has_room());
    assert_eq!((rows.bytes, rows.numbers.len(), rows.rows.len()), (0, 0, 0));
}

#[test]
fn pages_are_handed_over_in_order_each_with_its_own_rows() {
    let mut rows = held(&["a", "b"]);
    let end = RowPlace {
        rows: 4,
        ..RowPlace::default()
    };
    // A walk that restarted reads `b` a second time.
    let more = [(3, "b"), (4, "c")].map(|(number, pk)| (number, change(pk, 5, ChangeEvent::Backfill, READ)));
    rows.hold(more.into(), end, after(10));
    let open = at(&["1"], 9);
    for seconds in [15, 16, 24] {
        rows.found_nothing(&shard("1"), after(seconds));
    }
    rows.note_beyond(&open);
    assert!(rows.is_settled(&open, after(60), |_, _| true));
    assert_eq!(handed(&mut rows), ["a1"]);
    assert!(
        !rows.is_settled(&open, after(60), |_, _| true),
        "it was read later"
    );
    rows.found_nothing(&shard("1"), after(25));
    rows.note_beyond(&open);
    assert!(rows.is_settled(&open, after(60), |_, _| true));
    assert_eq!(handed(&mut rows), ["b5", "c5"]);
}
