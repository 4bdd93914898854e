//! Partitions and prefixes of plain tables.

use trestle_api::Wait;
use trestle_collection::{CollectionRows, StepBounds};
use trestle_item::{AttributeValue, Item, Number, ScalarType};

use crate::support::{
    create, deleted, deleted_by, deleted_in, empty, keys, partition, put, put_row, total, with_rows,
};

#[test]
fn a_partition_goes_and_its_neighbours_stay() {
    let rows = ["wf/a", "wf/b", "wf-2/a", "w/a", "wf0/a"].map(str::to_owned);
    let db = with_rows(rows);
    let steps = deleted(&db, &partition(&db, "T", "wf"));
    assert_eq!((steps.len(), total(&steps)), (1, 2));
    assert_eq!(keys(&db, "T"), ["w/a", "wf-2/a", "wf0/a"]);
    assert_eq!(
        total(&deleted(&db, &partition(&db, "T", "wf"))),
        0,
        "again, from the beginning"
    );
}

#[test]
fn a_prefix_ends_where_it_ends() {
    let rows = ["p/wf/1", "p/wf/2", "p/wf-2/1", "p/wf", "p/we", "q/wf/1"].map(str::to_owned);
    let db = with_rows(rows);
    let with_separator = partition(&db, "T", "p").beginning_with("wf/".into()).unwrap();
    assert_eq!(total(&deleted(&db, &with_separator)), 2);
    assert_eq!(keys(&db, "T"), ["p/we", "p/wf", "p/wf-2/1", "q/wf/1"]);
    let without = partition(&db, "T", "p").beginning_with("wf".into()).unwrap();
    assert_eq!(total(&deleted(&db, &without)), 2);
    assert_eq!(keys(&db, "T"), ["p/we", "q/wf/1"]);
}

#[test]
fn a_step_takes_no_more_rows_than_it_may_and_the_next_goes_on() {
    let db = with_rows((0..95).map(|n| format!("p/{n:03}")).chain(["q/1".to_owned()]));
    let steps = deleted_by(&db, &partition(&db, "T", "p"), 30);
    let rows: Vec<u64> = steps.iter().map(|step| step.rows).collect();
    assert_eq!(rows, [30, 30, 30, 5]);
    assert!(steps.iter().all(|step| step.left.is_empty()));
    assert_eq!(keys(&db, "T"), ["q/1"]);
}

#[test]
fn a_thousand_rows_are_one_step_unless_told_otherwise() {
    let db = with_rows((0..1_001).map(|n| format!("p/{n:04}")));
    let steps = deleted(&db, &partition(&db, "T", "p"));
    let rows: Vec<u64> = steps.iter().map(|step| step.rows).collect();
    assert_eq!(rows, [1_000, 1]);
    assert!(keys(&db, "T").is_empty());
}

#[test]
fn a_step_ends_when_it_has_read_enough_bytes() {
    let db = with_rows([]);
    for n in 0..40 {
        let mut row = Item::from([("pk", "p"), ("sk", &*format!("{n:02}"))]);
        row.insert("body", AttributeValue::S("x".repeat(100_000)));
        put(&db, "T", row);
    }
    let bounds = StepBounds {
        bytes: 1_500_000,
        ..StepBounds::default()
    };
    let rows = partition(&db, "T", "p");
    let first = rows.delete(&db, None, bounds).wait().unwrap();
    assert!((15..=30).contains(&first.rows), "{first:?}");
    assert!((1_500_000..3_000_000).contains(&first.bytes), "{first:?}");
    assert!(first.next.is_some());
    assert_eq!(keys(&db, "T").len() as u64, 40 - first.rows);
}

#[test]
fn a_bound_below_a_page_of_a_query_holds_about() {
    let db = with_rows([]);
    for n in 0..400 {
        let mut row = Item::from([("pk", "p"), ("sk", &*format!("{n:03}"))]);
        row.insert("body", AttributeValue::S("x".repeat(2_000)));
        put(&db, "T", row);
    }
    let bounds = StepBounds {
        bytes: 100_000,
        ..StepBounds::default()
    };
    let rows = partition(&db, "T", "p");
    for step in [
        rows.count(&db, None, bounds).wait().unwrap(),
        rows.delete(&db, None, bounds).wait().unwrap(),
    ] {
        assert!((90_000..150_000).contains(&step.bytes), "{step:?}");
        assert!((45..75).contains(&step.rows), "{step:?}");
        assert!(step.next.is_some());
    }
    let steps = deleted_in(&db, &rows, bounds);
    assert!(steps.len() > 4, "{steps:?}");
    assert!(keys(&db, "T").is_empty());
}

#[test]
fn a_step_that_reads_no_row_reads_no_bytes() {
    let db = with_rows(["p/1".to_owned()]);
    let step = partition(&db, "T", "q")
        .delete(&db, None, StepBounds::default())
        .wait()
        .unwrap();
    assert_eq!((step.rows, step.bytes, step.next), (0, 0, None));
}

#[test]
fn counting_deletes_nothing() {
    let db = with_rows((0..25).map(|n| format!("p/{n:02}")));
    let rows = partition(&db, "T", "p");
    let bounds = StepBounds {
        rows: 20,
        ..StepBounds::default()
    };
    let first = rows.count(&db, None, bounds).wait().unwrap();
    let second = rows.count(&db, first.next.as_ref(), bounds).wait().unwrap();
    assert_eq!((first.rows, second.rows, second.next), (20, 5, None));
    assert_eq!(keys(&db, "T").len(), 25);
}

#[test]
fn rows_written_meanwhile_go_if_they_are_ahead_and_stay_if_they_are_behind() {
    let db = with_rows((10..20).map(|n| format!("p/{n}")));
    let rows = partition(&db, "T", "p");
    let bounds = StepBounds {
        rows: 5,
        ..StepBounds::default()
    };
    let first = rows.delete(&db, None, bounds).wait().unwrap();
    put_row(&db, "p/01");
    put_row(&db, "p/99");
    // A row that has changed is deleted, too.
    put(
        &db,
        "T",
        Item::from([("pk", "p"), ("sk", "18"), ("changed", "yes")]),
    );
    let mut after = first.next;
    while let Some(bookmark) = after {
        after = rows.delete(&db, Some(&bookmark), bounds).wait().unwrap().next;
    }
    assert_eq!(keys(&db, "T"), ["p/01"]);
    assert_eq!(total(&deleted(&db, &rows)), 1, "the second time takes it");
}

#[test]
fn keys_may_be_numbers_and_bytes_and_there_may_be_no_sort_key() {
    let db = empty();
    create(&db, "N", &[("pk", ScalarType::N), ("sk", ScalarType::B)]);
    for sk in [[1, 1], [1, 2], [2, 1]] {
        let sk = AttributeValue::B(sk.to_vec());
        put(
            &db,
            "N",
            Item::from([("pk", AttributeValue::N(Number::from(7_i64))), ("sk", sk)]),
        );
    }
    let rows = CollectionRows::of_partition(&db, "N", "7".into()).wait().unwrap();
    let rows = rows.beginning_with("AQ==".into()).unwrap();
    assert_eq!(total(&deleted(&db, &rows)), 2);
    create(&db, "H", &[("pk", ScalarType::S)]);
    put(&db, "H", Item::from([("pk", "a")]));
    assert_eq!(total(&deleted(&db, &partition(&db, "H", "a"))), 1);
}
