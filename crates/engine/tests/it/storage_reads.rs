//! The reads of storage for each operation: these are the costs that the engine promises.

use trestle_api::{
    BatchGetItem, DeleteItem, GetItem, KeysAndAttributes, Operation, OperationName, Query, Scan,
    TransactWriteItems,
};
use trestle_engine::{Engine, OperationReads, Options};
use trestle_item::Item;

use crate::support::{Fixture, n, put, s, table, transact_put, update};

/// The cost of one operation, without that of background work.
pub(crate) fn cost<O: Operation>(engine: &Engine, operation: O) -> OperationReads {
    let before = engine.storage_reads();
    engine.run(operation).unwrap();
    engine.storage_reads().since(&before).of(O::NAME)
}

pub(crate) fn lookups(point_lookups: u64) -> OperationReads {
    OperationReads {
        point_lookups,
        ..OperationReads::default()
    }
}

pub(crate) fn ranges(ranges: u64) -> OperationReads {
    OperationReads {
        ranges,
        ..OperationReads::default()
    }
}

pub(crate) fn get(table: &str, key: Item) -> GetItem {
    GetItem {
        table_name: table.to_owned(),
        key,
        ..GetItem::default()
    }
}

pub(crate) fn query(table: &str, index: Option<&str>, condition: &str, values: Item) -> Query {
    Query {
        table_name: table.to_owned(),
        index_name: index.map(str::to_owned),
        key_condition_expression: Some(condition.to_owned()),
        expression_attribute_values: Some(values),
        ..Query::default()
    }
}

fn row(n: i64) -> Item {
    Item::from([("pk", s("p")), ("sk", self::n(n)), ("g", s("g"))])
}

fn key(n: i64) -> Item {
    Item::from([("pk", s("p")), ("sk", self::n(n))])
}

fn filled(fixture: &Fixture) -> &Engine {
    let engine = &fixture.engine;
    let by_group = [("by-group", "g:S | sk:N", "ALL"), ("keys", "g:S", "KEYS_ONLY")];
    engine.run(table("T", "pk:S | sk:N", &[], &by_group)).unwrap();
    for n in 0..20 {
        engine.run(put("T", row(n))).unwrap();
    }
    engine
}

#[test]
fn a_read_of_a_row_is_one_lookup_whether_or_not_it_is_there() {
    let fixture = Fixture::new();
    let engine = filled(&fixture);
    assert_eq!(cost(engine, get("T", key(3))), lookups(1));
    assert_eq!(cost(engine, get("T", key(99))), lookups(1));
    let batch = BatchGetItem {
        request_items: [(
            "T".to_owned(),
            KeysAndAttributes {
                keys: vec![key(3), key(4), key(99)],
                ..KeysAndAttributes::default()
            },
        )]
        .into(),
        ..BatchGetItem::default()
    };
    assert_eq!(cost(engine, batch), lookups(3));
}

#[test]
fn a_query_and_a_scan_are_one_range_on_table_and_index() {
    let fixture = Fixture::new();
    let engine = filled(&fixture);
    let of_partition = query("T", None, "pk = :p", Item::from([(":p", s("p"))]));
    assert_eq!(cost(engine, of_partition), ranges(1));
    let of_none = query("T", None, "pk = :p", Item::from([(":p", s("none"))]));
    assert_eq!(cost(engine, of_none), ranges(1));
    let of_group = query("T", Some("by-group"), "g = :g", Item::from([(":g", s("g"))]));
    assert_eq!(cost(engine, of_group), ranges(1));
    let scan = Scan {
        table_name: "T".to_owned(),
        ..Scan::default()
    };
    assert_eq!(cost(engine, scan), ranges(1));
}

#[test]
fn a_write_reads_the_row_that_it_replaces_once() {
    let fixture = Fixture::new();
    let engine = filled(&fixture);
    assert_eq!(cost(engine, put("T", row(3))), lookups(1));
    assert_eq!(cost(engine, put("T", row(50))), lookups(1));
    let change = update("T", key(3), "SET g = :g", Item::from([(":g", s("h"))]));
    assert_eq!(cost(engine, change), lookups(1));
    let delete = |n| DeleteItem {
        table_name: "T".to_owned(),
        key: key(n),
        ..DeleteItem::default()
    };
    assert_eq!(cost(engine, delete(3)), lookups(1));
    assert_eq!(cost(engine, delete(3)), lookups(1));
    let both = TransactWriteItems {
        transact_items: vec![transact_put("T", row(4)), transact_put("T", row(5))],
        ..TransactWriteItems::default()
    };
    assert_eq!(cost(engine, both), lookups(2));
}

#[test]
fn the_costs_of_operations_add_up_and_the_background_has_its_own() {
    let fixture = Fixture::with(Options::default());
    let engine = filled(&fixture);
    let before = engine.storage_reads();
    engine.run(get("T", key(1))).unwrap();
    engine.run(put("T", row(1))).unwrap();
    engine.verify(&mut Vec::new()).unwrap();
    let reads = engine.storage_reads().since(&before);
    assert!(reads.other().ranges > 0, "verification reads ranges: {reads:?}");
    let operations = reads.of(OperationName::GetItem) + reads.of(OperationName::PutItem);
    assert_eq!(operations, lookups(2));
    assert_eq!(reads.total(), operations + reads.other());
}

/// Fills tables with so much data that most rows are in table files when the database is closed, the first
/// rows always.
fn fill_tables(engine: &Engine) {
    engine.run(table("L", "pk:S | sk:N", &[], &[])).unwrap();
    for n in 0..160 {
        let mut row = row(n);
        row.insert("body", s("x".repeat(300_000)));
        engine.run(put("L", row)).unwrap();
    }
}

#[test]
fn a_cold_read_reads_blocks_from_disk_and_the_next_from_the_cache() {
    let fixture = Fixture::on_disk(Options::default());
    fill_tables(&fixture.engine);
    let fixture = fixture.reopen();
    let read = || cost(&fixture.engine, get("L", key(2)));
    let (cold, warm) = (read(), read());
    assert_eq!((cold.point_lookups, warm.point_lookups), (1, 1));
    assert!(cold.blocks_from_disk > 0, "{cold:?}");
    assert_eq!(warm.blocks_from_disk, 0, "{warm:?}");
    assert!(warm.blocks_from_cache > 0, "{warm:?}");
}
