//! Rows in former places: found by reads, moved by writes and the sweep; clients see only different keys.

mod double_reads;
mod layouts;
mod random;
mod swept;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trestle_api::{
    BatchExecuteStatement, BatchGetItem, BatchStatementRequest, ExecuteStatement, Get, KeysAndAttributes,
    MIGRATION_PRINCIPAL, OperationType, Query, Record, Select, StreamViewType, TIME_TO_LIVE_PRINCIPAL,
    TOUCH_PRINCIPAL, TimeToLiveSpecification, TouchRows, Touched, TransactGetItem, TransactGetItems,
    TransactWriteItems, UpdateTimeToLive,
};
use trestle_engine::Engine;
use trestle_hook::Hook;
use trestle_item::Item;
use trestle_store::Space;

use self::layouts::{Id, Layouts, Moving, TABLE, content};
use crate::streams::read_all;
use crate::support::{
    Fixture, describe, get, n, put, query_all, s, scan, scan_all, table, transact_update, update, with_stream,
};

/// A table during a migration.
pub(crate) struct Migration {
    fixture: Fixture,
    layouts: Arc<Layouts>,
}

impl Migration {
    /// Rows in their former places, and the hook that knows both places.
    fn of(rows: &BTreeMap<Id, Item>) -> Self {
        let migration = Self::before(rows);
        migration.begin();
        migration
    }

    /// Rows in their former places, and no hook that knows other places.
    fn before(rows: &BTreeMap<Id, Item>) -> Self {
        let fixture = Fixture::new();
        let create = table(
            TABLE,
            "pk:S | sk:S",
            &[
                ("local", "pk:S | v:N", "ALL"),
                ("local-keys", "pk:S | v:N", "KEYS_ONLY"),
            ],
            &[("by-group", "g:S | v:N", "ALL"), ("fresh", "f:S", "KEYS_ONLY")],
        );
        let create = with_stream(create, StreamViewType::NewAndOldImages);
        fixture.engine.run(create).unwrap();
        for (id, content) in rows {
            let row = id.former_row(content);
            fixture.engine.run(put(TABLE, row)).unwrap();
        }
        Self {
            fixture,
            layouts: Arc::default(),
        }
    }

    fn begin(&self) {
        let hook: Arc<dyn Hook> = Arc::new(Moving {
            layouts: Arc::clone(&self.layouts),
            understands_former_keys: true,
        });
        self.fixture.engine.install(Vec::new(), Some(hook)).unwrap();
    }

    fn engine(&self) -> &Engine {
        &self.fixture.engine
    }

    fn sweep_all(&self) -> u64 {
        self.sweep_all_by(3)
    }

    fn sweep_all_by(&self, rows: usize) -> u64 {
        let (mut position, mut moved) = (None, 0);
        loop {
            let page = self.engine().move_rows(TABLE, position.as_deref(), rows).unwrap();
            moved += page.moved;
            match page.next {
                Some(next) => position = Some(next),
                None => return moved,
            }
        }
    }

    fn records(&self) -> Vec<Record> {
        let arn = describe(self.engine(), TABLE).latest_stream_arn.unwrap();
        read_all(self.engine(), &arn)
    }

    /// The number of rows still in former places.
    fn remaining(&self) -> usize {
        self.engine().rows_to_move(TABLE, None, 1000).unwrap().keys.len()
    }
}

/// What identifies the rows of a page.
fn ids(items: &[Item]) -> Vec<Id> {
    let id = |item: &Item| Id::of_own(item).unwrap_or_else(|| panic!("not in its own place: {item:?}"));
    items.iter().map(id).collect()
}

fn one(kind: &'static str) -> (Id, BTreeMap<Id, Item>) {
    let id = Id::new(kind, "x", 7);
    let rows = BTreeMap::from([(id.clone(), content(1, 0))]);
    (id, rows)
}

fn told(record: &Record) -> (OperationType, Option<&str>) {
    let identity = record.user_identity.as_ref();
    (
        record.event_name,
        identity.and_then(|identity| identity.principal_id.as_deref()),
    )
}

#[test]
fn a_write_moves_the_row_first_and_the_stream_tells_the_move_from_the_write() {
    let (id, rows) = one("u");
    let migration = Migration::of(&rows);
    let request = update(TABLE, id.own(), "SET v = :v", Item::from([(":v", n(2))]));
    migration.engine().run(request).unwrap();

    let records = migration.records();
    let [_, gone, come, write] = records.as_slice() else {
        panic!("{records:#?}")
    };
    let moved = Some(MIGRATION_PRINCIPAL);
    assert_eq!(told(gone), (OperationType::Remove, moved));
    assert_eq!(gone.dynamodb.keys, id.former());
    assert_eq!(told(come), (OperationType::Insert, moved));
    assert_eq!(come.dynamodb.new_image, Some(id.row(&content(1, 0))));
    assert_eq!(told(write), (OperationType::Modify, None));
    assert_eq!(write.dynamodb.old_image, Some(id.row(&content(1, 0))));
    assert_eq!(write.dynamodb.new_image, Some(id.row(&content(2, 0))));
    assert_eq!(migration.remaining(), 0);
    assert_eq!(describe(migration.engine(), TABLE).item_count, 1);
    migration.fixture.assert_sound();
}

#[test]
fn a_touch_moves_the_row_first_and_is_told_from_the_move() {
    let (id, rows) = one("u");
    let migration = Migration::of(&rows);
    let touch = TouchRows {
        table: TABLE.to_owned(),
        attribute: "reindexVersion".to_owned(),
        version: 3,
        keys: vec![id.own(), Id::new("u", "x", 8).own()],
        ..TouchRows::default()
    };
    let touched = migration.engine().touch(touch).unwrap().wait().unwrap();
    assert_eq!(touched, [Touched::Raised, Touched::Gone]);
    let records = migration.records();
    let [_, gone, come, touch] = records.as_slice() else {
        panic!("{records:#?}")
    };
    assert_eq!(
        [gone, come].map(|move_| told(move_).1),
        [Some(MIGRATION_PRINCIPAL); 2]
    );
    assert_eq!(told(touch), (OperationType::Modify, Some(TOUCH_PRINCIPAL)));
    let mut raised = id.row(&content(1, 0));
    raised.insert("reindexVersion", n(3));
    assert_eq!(touch.dynamodb.new_image, Some(raised));
    assert_eq!(migration.remaining(), 0);
    migration.fixture.assert_sound();
}

#[test]
fn a_write_that_is_refused_moves_nothing() {
    let (id, rows) = one("o");
    let migration = Migration::of(&rows);
    let before = migration.fixture.rows(Space::Items);
    let mut request = update(TABLE, id.own(), "SET v = :v", Item::from([(":v", n(2))]));
    request.condition_expression = Some("v = :v".into());
    migration.engine().run(request).unwrap_err();
    let transaction = TransactWriteItems {
        transact_items: vec![
            transact_update(TABLE, id.own(), "SET w = :v", None, Item::from([(":v", n(2))])),
            transact_update(
                TABLE,
                Id::new("u", "x", 1).own(),
                "SET w = :v",
                Some("attribute_exists(v)"),
                Item::from([(":v", n(2))]),
            ),
        ],
        ..TransactWriteItems::default()
    };
    migration.engine().run(transaction).unwrap_err();
    assert_eq!(migration.fixture.rows(Space::Items), before);
    assert_eq!(migration.records().len(), 1);
}

#[test]
fn a_write_that_changes_nothing_moves_the_row_all_the_same() {
    let (id, rows) = one("z");
    let migration = Migration::of(&rows);
    let request = update(TABLE, id.own(), "SET v = :v", Item::from([(":v", n(1))]));
    migration.engine().run(request).unwrap();
    assert_eq!(migration.remaining(), 0);
    assert_eq!(
        get(migration.engine(), TABLE, id.own()),
        Some(id.row(&content(1, 0)))
    );
}

#[test]
fn reads_of_every_kind_find_the_row_and_write_nothing() {
    for kind in ["u", "o", "z"] {
        let (id, rows) = one(kind);
        let migration = Migration::of(&rows);
        let engine = migration.engine();
        let spaces = [
            Space::Items,
            Space::Index,
            Space::Changes,
            Space::Expiry,
            Space::Meta,
        ];
        let before = spaces.map(|space| migration.fixture.rows(space));
        let expected = id.row(&content(1, 0));

        assert_eq!(get(engine, TABLE, id.own()), Some(expected.clone()));
        assert_eq!(get(engine, TABLE, id.former()), Some(expected.clone()));
        let batch = BatchGetItem {
            request_items: BTreeMap::from([(
                TABLE.to_owned(),
                KeysAndAttributes {
                    keys: vec![id.own()],
                    ..KeysAndAttributes::default()
                },
            )]),
            ..BatchGetItem::default()
        };
        let batch = engine.run(batch).unwrap().responses;
        assert_eq!(batch.get(TABLE), Some(&vec![expected.clone()]));
        let transaction = TransactGetItems {
            transact_items: vec![TransactGetItem {
                get: Get {
                    table_name: TABLE.into(),
                    key: id.own(),
                    ..Get::default()
                },
            }],
            ..TransactGetItems::default()
        };
        let responses = engine.run(transaction).unwrap().responses;
        assert_eq!(responses[0].item, Some(expected.clone()));
        let own = id.own();
        let part = |name| own.get(name).unwrap().as_s().unwrap();
        let text = format!(
            "SELECT * FROM \"{TABLE}\" WHERE pk = '{}' AND sk = '{}'",
            part("pk"),
            part("sk")
        );
        let statement = ExecuteStatement {
            statement: text.clone(),
            ..ExecuteStatement::default()
        };
        assert_eq!(engine.run(statement).unwrap().items, vec![expected.clone()]);
        let statements = BatchExecuteStatement {
            statements: vec![BatchStatementRequest {
                statement: text,
                ..BatchStatementRequest::default()
            }],
            ..BatchExecuteStatement::default()
        };
        let answered = engine.run(statements).unwrap().responses;
        assert_eq!(answered[0].item, Some(expected.clone()));
        let everything = ExecuteStatement {
            statement: format!("SELECT * FROM \"{TABLE}\""),
            ..ExecuteStatement::default()
        };
        assert_eq!(engine.run(everything).unwrap().items, vec![expected.clone()]);
        assert_eq!(scan_all(engine, scan(TABLE, None)).0, vec![expected.clone()]);
        let group = Query {
            table_name: TABLE.into(),
            index_name: Some("by-group".into()),
            key_condition_expression: Some("g = :g".into()),
            expression_attribute_values: Some(Item::from([(":g", s("g0"))])),
            ..Query::default()
        };
        assert_eq!(query_all(engine, group).0, vec![expected.clone()]);
        // Attributes that an index of keys does not project are fetched from where the row is stored.
        let whole = Query {
            table_name: TABLE.into(),
            index_name: Some("local-keys".into()),
            key_condition_expression: Some("pk = :p AND v = :v".into()),
            expression_attribute_values: Some(Item::from([
                (":p", own.get("pk").unwrap().clone()),
                (":v", n(1)),
            ])),
            select: Some(Select::AllAttributes),
            ..Query::default()
        };
        assert_eq!(query_all(engine, whole).0, vec![expected]);
        assert_eq!(
            spaces.map(|space| migration.fixture.rows(space)),
            before,
            "{kind}"
        );
    }
}

#[test]
fn a_row_in_its_own_place_costs_one_look_and_when_all_have_moved_every_read_does() {
    let (id, rows) = one("u");
    let plain = Id::new("p", "x", 1);
    let migration = Migration::of(&rows);
    let engine = migration.engine();
    let looks = || migration.layouts.looks();

    get(engine, TABLE, id.own()).unwrap();
    assert_eq!(looks(), 1, "the row was looked for in both places");
    assert_eq!(get(engine, TABLE, Id::new("u", "x", 8).own()), None);
    assert_eq!(looks(), 2, "a row that is not there might be elsewhere");
    engine.run(put(TABLE, plain.row(&content(1, 1)))).unwrap();
    migration.sweep_all();
    let after = looks();
    get(engine, TABLE, id.own()).unwrap();
    get(engine, TABLE, plain.own()).unwrap();
    let partition = Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :p".into()),
        expression_attribute_values: Some(Item::from([(":p", s("plain#x"))])),
        ..Query::default()
    };
    assert_eq!(query_all(engine, partition).0.len(), 1);
    assert_eq!(
        looks(),
        after,
        "both rows are where they belong, and nothing moves to that partition"
    );
    assert_eq!(get(engine, TABLE, Id::new("u", "x", 8).own()), None);
    assert_eq!(looks(), after, "the sweep has passed the place where it would be");

    migration.layouts.is_over.store(true, Ordering::Relaxed);
    assert_eq!(get(engine, TABLE, Id::new("u", "x", 8).own()), None);
    assert_eq!(scan_all(engine, scan(TABLE, None)).0.len(), 2);
    assert_eq!(scan_all(engine, scan(TABLE, Some("by-group"))).0.len(), 2);
    assert_eq!(looks(), after, "nothing is in a former place any more");
}

#[test]
fn the_sweep_moves_what_nobody_touches_and_repeating_it_does_nothing() {
    let rows: BTreeMap<Id, Item> = (0..20)
        .flat_map(|at| layouts::KINDS.map(|kind| (Id::new(kind, "x", at), content(at, at % 2))))
        .collect();
    let migration = Migration::of(&rows);
    assert_eq!(migration.remaining(), 60);
    assert_eq!(migration.sweep_all(), 60);
    assert_eq!((migration.remaining(), migration.sweep_all()), (0, 0));
    let records = migration.records();
    let moves = records
        .iter()
        .filter(|record| told(record).1 == Some(MIGRATION_PRINCIPAL));
    assert_eq!(moves.count(), 120);
    migration.layouts.is_over.store(true, Ordering::Relaxed);
    let (items, _) = scan_all(migration.engine(), scan(TABLE, None));
    let mut found: Vec<Item> = items.into_iter().collect();
    let mut expected: Vec<Item> = rows.iter().map(|(id, content)| id.row(content)).collect();
    found.sort_by_key(|row| format!("{row:?}"));
    expected.sort_by_key(|row| format!("{row:?}"));
    assert_eq!(found, expected);
    migration.fixture.assert_sound();
}

#[test]
fn a_row_that_cannot_move_is_told_of_and_holds_up_no_other() {
    let rows: BTreeMap<Id, Item> = (0..5).map(|at| (Id::new("u", "x", at), content(1, 0))).collect();
    let migration = Migration::before(&rows);
    let stuck = Id::new("u", "x", 2);
    let mut row = stuck.former_row(&content(1, 0));
    row.insert("stays", n(1));
    migration.engine().run(put(TABLE, row)).unwrap();
    migration.begin();
    let moved = migration.engine().move_rows(TABLE, None, 100).unwrap();
    assert_eq!((moved.moved, moved.looked_at, moved.next), (4, 5, None));
    assert_eq!(moved.stuck.len(), 1);
    assert_eq!(moved.stuck[0].key, stuck.former());
    assert_eq!(moved.stuck[0].reason, "it stays");
    assert_eq!(migration.remaining(), 1);
}

#[test]
fn a_row_expires_from_its_former_place_under_its_own_key() {
    let (id, mut rows) = one("o");
    let due = crate::support::START.as_secs() as i64 + 10;
    rows.entry(id.clone()).or_default().insert("ttl", n(due));
    let migration = Migration::before(&rows);
    let ttl = UpdateTimeToLive {
        table_name: TABLE.into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "ttl".into(),
        },
    };
    migration.engine().run(ttl).unwrap();
    migration.begin();
    migration.fixture.clock.advance(Duration::from_secs(11));
    migration.fixture.until("the row to expire", || {
        scan_all(migration.engine(), scan(TABLE, None)).0.is_empty()
    });
    let records = migration.records();
    let last = records.last().unwrap();
    assert_eq!(told(last), (OperationType::Remove, Some(TIME_TO_LIVE_PRINCIPAL)));
    assert_eq!(last.dynamodb.keys, id.own());
    assert_eq!(migration.fixture.rows(Space::Expiry), Vec::new());
    migration.fixture.assert_sound();
}

#[test]
fn a_deleted_row_does_not_come_back_and_one_put_anew_is_the_only_one() {
    let (id, rows) = one("u");
    let migration = Migration::of(&rows);
    let delete = trestle_api::DeleteItem {
        table_name: TABLE.into(),
        key: id.own(),
        return_values: Some(trestle_api::ReturnValue::AllOld),
        ..Default::default()
    };
    let answer = migration.engine().run(delete).unwrap();
    assert_eq!(answer.attributes, Some(id.row(&content(1, 0))));
    assert_eq!(get(migration.engine(), TABLE, id.own()), None);
    assert_eq!(migration.sweep_all(), 0);
    assert_eq!(get(migration.engine(), TABLE, id.own()), None);

    let (id, rows) = one("u");
    let migration = Migration::of(&rows);
    migration
        .engine()
        .run(put(TABLE, id.row(&content(5, 1))))
        .unwrap();
    assert_eq!(migration.sweep_all(), 0);
    assert_eq!(
        scan_all(migration.engine(), scan(TABLE, None)).0,
        vec![id.row(&content(5, 1))]
    );
}

#[test]
fn what_is_removed_while_rows_are_swept_stays_removed() {
    let rows: BTreeMap<Id, Item> = (0..400)
        .map(|at| (Id::new("u", "x", at), content(1, 0)))
        .collect();
    let migration = Migration::of(&rows);
    let engine = migration.engine();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while migration.remaining() > 0 {
                engine.move_rows(TABLE, None, 400).unwrap();
            }
        });
        for id in rows.keys() {
            let delete = trestle_api::DeleteItem {
                table_name: TABLE.into(),
                key: id.own(),
                ..Default::default()
            };
            engine.run(delete).unwrap();
        }
    });
    assert_eq!(scan_all(engine, scan(TABLE, None)).0, Vec::new());
    migration.fixture.assert_sound();
}

#[test]
fn a_read_that_overlaps_the_beginning_finds_the_row() {
    let (id, rows) = one("u");
    for _ in 0..40 {
        let migration = Migration::before(&rows);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // The former key is accepted before, during and after the move.
                        assert!(get(migration.engine(), TABLE, id.former()).is_some());
                    }
                });
            }
            migration.begin();
            migration.sweep_all();
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn scans_at_once_show_every_row_while_the_sweep_goes_on() {
    let rows: BTreeMap<Id, Item> = (0..400)
        .map(|at| (Id::new("u", "x", at), content(1, 0)))
        .collect();
    let migration = Migration::of(&rows);
    let expected: Vec<Id> = rows.keys().cloned().collect();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut pages = scan(TABLE, None);
                    pages.limit = Some(40);
                    let mut seen = ids(&scan_all(migration.engine(), pages).0);
                    seen.sort();
                    assert_eq!(seen, expected);
                }
            });
        }
        migration.sweep_all_by(1);
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_row_is_not_found_under_the_key_of_a_former_place() {
    let (id, rows) = one("u");
    let migration = Migration::before(&rows);
    let hook: Arc<dyn Hook> = Arc::new(Moving {
        layouts: Arc::clone(&migration.layouts),
        understands_former_keys: false,
    });
    migration.engine().install(Vec::new(), Some(hook)).unwrap();
    assert_eq!(get(migration.engine(), TABLE, id.former()), None);
    assert_eq!(
        get(migration.engine(), TABLE, id.own()),
        Some(id.row(&content(1, 0)))
    );
}

#[test]
fn clients_of_the_layout_before_are_understood_or_told_what_changed() {
    let rows: BTreeMap<Id, Item> = (0..3)
        .flat_map(|at| ["u", "o"].map(|kind| (Id::new(kind, "x", at), content(at, 0))))
        .collect();
    let migration = Migration::of(&rows);
    let query = |pk: &str| Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :p".into()),
        expression_attribute_values: Some(Item::from([(":p", s(pk))])),
        limit: Some(2),
        ..Query::default()
    };
    let (items, _, _) = query_all(migration.engine(), query("bef#x"));
    assert_eq!(ids(&items), [0, 1, 2].map(|at| Id::new("o", "x", at)));
    let refused = migration.engine().run(query("old#x")).unwrap_err();
    assert_eq!(refused.message(), "the layout has changed");

    // A bookmark of the previous layout: a query continues if its order is the same; the order of a scan is
    // different.
    let mut resumed = query("bef#x");
    resumed.exclusive_start_key = Some(Id::new("o", "x", 1).former());
    let (items, _, _) = query_all(migration.engine(), resumed);
    assert_eq!(ids(&items), [Id::new("o", "x", 2)]);
    let refused = |request: Query| {
        let refused = migration.engine().run(request).unwrap_err();
        assert!(refused.message().contains("Begin the query again"), "{refused}");
    };
    let mut reordered = query("new#x");
    reordered.exclusive_start_key = Some(Id::new("u", "x", 1).former());
    refused(reordered);
    let mut key = Id::new("o", "x", 1).former();
    key.insert("g", s("g0"));
    key.insert("v", n(1));
    refused(Query {
        index_name: Some("by-group".into()),
        key_condition_expression: Some("g = :p".into()),
        exclusive_start_key: Some(key),
        ..query("g0")
    });
    let mut scan = scan(TABLE, None);
    scan.exclusive_start_key = Some(Id::new("o", "x", 1).former());
    let refused = migration.engine().run(scan).unwrap_err();
    assert!(refused.message().contains("Begin the scan again"), "{refused}");
}
