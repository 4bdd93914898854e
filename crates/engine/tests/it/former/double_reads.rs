//! The cost of reads in two places, counted.

use std::sync::atomic::Ordering;

use trestle_api::Query;
use trestle_engine::OperationReads;
use trestle_item::Item;

use super::layouts::{Id, TABLE, content};
use super::{Migration, one};
use crate::storage_reads::{cost, get, lookups, query, ranges};
use crate::support::{n, s, update};

fn twice(looks: OperationReads) -> OperationReads {
    OperationReads {
        double_reads: 1,
        ..looks + looks
    }
}

fn of_partition(pk: &str) -> Query {
    query(TABLE, None, "pk = :pk", Item::from([(":pk", s(pk))]))
}

#[test]
fn a_read_looks_twice_only_while_rows_move_and_only_if_the_row_is_not_in_its_own_place() {
    let (lies, rows) = one("u");
    let missing = Id::new("u", "x", 8).own();
    let migration = Migration::before(&rows);
    let engine = migration.engine();
    assert_eq!(cost(engine, get(TABLE, lies.former())), lookups(1));
    assert_eq!(cost(engine, get(TABLE, missing.clone())), lookups(1));

    migration.begin();
    assert_eq!(cost(engine, get(TABLE, lies.own())), twice(lookups(1)));
    assert_eq!(cost(engine, get(TABLE, missing.clone())), twice(lookups(1)));
    let never_moves = Id::new("p", "x", 7).own();
    assert_eq!(cost(engine, get(TABLE, never_moves)), lookups(1));
    let change = update(TABLE, lies.own(), "SET v = :v", Item::from([(":v", n(2))]));
    let moving = cost(engine, change);
    assert_eq!(
        moving.double_reads, 1,
        "however often the row is asked for: {moving:?}"
    );
    assert_eq!(
        moving.point_lookups, 2,
        "storage is asked once for each place: {moving:?}"
    );
    assert_eq!(cost(engine, get(TABLE, lies.own())), lookups(1), "it has moved");

    migration.layouts.is_over.store(true, Ordering::Relaxed);
    assert_eq!(cost(engine, get(TABLE, missing)), lookups(1));
}

#[test]
fn a_query_has_a_second_range_only_while_rows_move() {
    let rows = (0..5).map(|n| (Id::new("o", "x", n), content(n, 0))).collect();
    let migration = Migration::before(&rows);
    let engine = migration.engine();
    assert_eq!(cost(engine, of_partition("bef#x")), ranges(1));
    migration.begin();
    let during = cost(engine, of_partition("new#x"));
    assert_eq!(during.double_reads, 1, "{during:?}");
    assert!(during.ranges > 1, "{during:?}");
    migration.sweep_all();
    migration.layouts.is_over.store(true, Ordering::Relaxed);
    assert_eq!(cost(engine, of_partition("new#x")), ranges(1));
}
