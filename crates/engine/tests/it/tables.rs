//! The life of tables: names, deletion, limits on items.

use std::time::Duration;

use trestle_api::{
    DeleteTable, DescribeTable, ErrorKind, GetItem, ListTables, Query, StreamViewType, TableStatus,
    TimeToLiveSpecification, UpdateTimeToLive,
};
use trestle_engine::Options;
use trestle_item::{AttributeValue, Item};
use trestle_store::Space;

use crate::support::{
    Fixture, describe, get, n, put, query_all, s, scan, scan_all, table, update, with_stream,
};

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn delete(name: &str) -> DeleteTable {
    DeleteTable {
        table_name: name.to_owned(),
    }
}

#[test]
fn a_table_s_arn_is_accepted_as_its_name() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let arn = describe(engine, "T").table_arn;
    assert!(arn.ends_with(":table/T"));
    engine.run(put(&arn, key("a"))).unwrap();
    assert_eq!(get(engine, "T", key("a")), Some(key("a")));
    assert_eq!(get(engine, &arn, key("a")), Some(key("a")));
    assert_eq!(scan_all(engine, scan(&arn, None)).0.len(), 1);
    let query = Query {
        table_name: arn.clone(),
        key_condition_expression: Some("pk = :a".into()),
        expression_attribute_values: Some(Item::from([(":a", s("a"))])),
        ..Query::default()
    };
    assert_eq!(query_all(engine, query).0.len(), 1);
    assert_eq!(describe(engine, &arn).table_name, "T");
    engine.run(delete(&arn)).unwrap();
    assert!(engine.run(ListTables::default()).unwrap().table_names.is_empty());
}

/// A busy table: indexes, a stream, and items that would expire only in the far future.
fn filled(fixture: &Fixture, items: i64) {
    let create = table(
        "T",
        "pk:S | sk:N",
        &[("l", "pk:S | g:N", "ALL")],
        &[("g", "g:N", "KEYS_ONLY")],
    );
    let engine = &fixture.engine;
    engine
        .run(with_stream(create, StreamViewType::NewAndOldImages))
        .unwrap();
    let ttl = UpdateTimeToLive {
        table_name: "T".into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "ttl".into(),
        },
    };
    engine.run(ttl).unwrap();
    let far = fixture.now().as_secs() as i64 + 1_000_000_000;
    for sk in 0..items {
        let item = Item::from([("pk", s("p")), ("sk", n(sk)), ("g", n(sk % 3)), ("ttl", n(far))]);
        engine.run(put("T", item)).unwrap();
    }
}

fn assert_cleared(fixture: &Fixture) {
    for space in [Space::Items, Space::Index, Space::Expiry] {
        fixture.until("the rows of a dropped table to go", || {
            fixture.rows(space).is_empty()
        });
    }
    fixture.until("the notes about it to go", || {
        !fixture
            .rows(Space::Meta)
            .iter()
            .any(|(key, _)| key.starts_with(b"dropped/") || key.starts_with(b"stats/"))
    });
}

#[test]
fn a_dropped_table_leaves_no_row_behind() {
    let fixture = Fixture::new();
    filled(&fixture, 2500);
    assert_eq!(fixture.rows(Space::Items).len(), 2500);
    assert_eq!(fixture.rows(Space::Index).len(), 5000);
    fixture.until("the expiry entries to be made", || {
        fixture.rows(Space::Expiry).len() == 2500
    });
    fixture.engine.run(delete("T")).unwrap();
    assert_cleared(&fixture);
    fixture.clock.advance(Duration::from_secs(25 * 3600));
    fixture.until("its change log to be trimmed", || {
        fixture.rows(Space::Changes).is_empty()
    });
}

#[test]
fn clearing_a_dropped_table_goes_on_after_opening() {
    let mut fixture = Fixture::on_disk(Options::default());
    filled(&fixture, 600);
    fixture.engine.run(delete("T")).unwrap();
    fixture = fixture.reopen();
    assert_cleared(&fixture);
}

#[test]
fn a_table_made_again_is_empty_and_keeps_to_itself() {
    let fixture = Fixture::new();
    filled(&fixture, 50);
    fixture.engine.run(delete("T")).unwrap();
    let error = fixture.engine.run(put("T", key("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceNotFound);
    filled(&fixture, 0);
    let described = describe(&fixture.engine, "T");
    assert_eq!((described.item_count, described.table_size_bytes), (0, 0));
    for index in [None, Some("l"), Some("g")] {
        assert!(scan_all(&fixture.engine, scan("T", index)).0.is_empty());
    }
    let item = Item::from([("pk", s("p")), ("sk", n(1)), ("g", n(1))]);
    fixture.engine.run(put("T", item.clone())).unwrap();
    fixture.until("the old rows to go", || fixture.rows(Space::Items).len() == 1);
    assert_eq!(scan_all(&fixture.engine, scan("T", Some("l"))).0, [item]);
}

#[test]
fn a_table_passes_through_its_states_by_the_clock() {
    let fixture = Fixture::with(Options {
        create_table_delay: Duration::from_secs(5),
        delete_table_delay: Duration::from_secs(7),
        ..Options::default()
    });
    let engine = &fixture.engine;
    engine.run(table("T", "pk:S", &[], &[])).unwrap();
    assert_eq!(describe(engine, "T").table_status, TableStatus::Creating);
    let error = engine.run(put("T", key("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceNotFound);
    let error = engine.run(delete("T")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceInUse);
    fixture.clock.advance(Duration::from_secs(5));
    assert_eq!(describe(engine, "T").table_status, TableStatus::Active);
    engine.run(put("T", key("a"))).unwrap();
    engine.run(delete("T")).unwrap();
    assert_eq!(describe(engine, "T").table_status, TableStatus::Deleting);
    let error = engine.run(put("T", key("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceNotFound);
    fixture.clock.advance(Duration::from_secs(7));
    let request = DescribeTable {
        table_name: "T".into(),
    };
    fixture.until("the table to go", || engine.run(request.clone()).is_err());
    engine.run(table("T", "pk:S", &[], &[])).unwrap();
}

/// The result of an update must be readable.
#[test]
fn an_update_cannot_nest_deeper_than_an_item_may() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let nested =
        |levels: usize| (0..levels).fold(n(1), |inner, _| AttributeValue::M(Item::from([("m", inner)])));
    let mut item = key("a");
    item.insert("m", nested(30));
    fixture.engine.run(put("T", item.clone())).unwrap();
    let path = vec!["m"; 20].join(".");
    let deep = update(
        "T",
        key("a"),
        &format!("SET {path} = :deep"),
        Item::from([(":deep", nested(25))]),
    );
    let error = fixture.engine.run(deep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_eq!(get(&fixture.engine, "T", key("a")), Some(item));
}

#[test]
fn everything_is_there_after_opening_again() {
    let mut fixture = Fixture::on_disk(Options::default());
    filled(&fixture, 100);
    let before = describe(&fixture.engine, "T");
    let (items, _) = scan_all(&fixture.engine, scan("T", None));
    fixture = fixture.reopen();
    assert_eq!(describe(&fixture.engine, "T"), before);
    assert_eq!(scan_all(&fixture.engine, scan("T", None)).0, items);
    let request = GetItem {
        table_name: "T".into(),
        key: Item::from([("pk", s("p")), ("sk", n(7))]),
        ..GetItem::default()
    };
    assert!(fixture.engine.run(request).unwrap().item.is_some());
}
