//! Parts that the sweep has finished are read in one place, and no row is missed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::Query;
use trestle_engine::Engine;
use trestle_item::Item;

use super::layouts::{Id, TABLE, content};
use super::{Migration, ids};
use crate::support::{get, n, put, query_all, s, scan, scan_all};

/// Rows of many partitions, distributed over the table.
fn many() -> BTreeMap<Id, Item> {
    let ids = (0..30).flat_map(|a| {
        let a = format!("a{a}");
        (0..4).flat_map(move |n| ["u", "o"].map(|kind| Id::new(kind, &a, n)))
    });
    ids.map(|id| (id, content(1, 0))).collect()
}

fn partition(a: &str) -> Query {
    Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :p".into()),
        expression_attribute_values: Some(Item::from([(":p", s(format!("new#{a}")))])),
        ..Query::default()
    }
}

/// Every row, by each way to read it.
fn assert_all_there(engine: &Engine, rows: &BTreeMap<Id, Item>) {
    for (id, content) in rows {
        assert_eq!(get(engine, TABLE, id.own()), Some(id.row(content)), "{id:?}");
    }
    for a in 0..30 {
        let (found, ..) = query_all(engine, partition(&format!("a{a}")));
        assert_eq!(ids(&found).len(), 8, "partition {a}");
    }
    assert_eq!(scan_all(engine, scan(TABLE, None)).0.len(), rows.len());
}

#[test]
fn what_the_sweep_has_passed_is_read_in_one_place_and_the_rest_in_both() {
    let rows = many();
    let migration = Migration::of(&rows);
    let page = migration.engine().move_rows(TABLE, None, 120).unwrap();
    assert!(page.moved > 20 && page.next.is_some());
    assert_all_there(migration.engine(), &rows);
    let absent = |a: u32| Id::new("u", &format!("a{a}"), 9).own();
    let before = migration.layouts.looks();
    for a in 0..30 {
        assert_eq!(get(migration.engine(), TABLE, absent(a)), None);
    }
    let looks = migration.layouts.looks() - before;
    assert!((5..=25).contains(&looks), "{looks} of 30 looked into both places");
    migration.sweep_all();
    let before = migration.layouts.looks();
    assert_all_there(migration.engine(), &rows);
    for a in 0..30 {
        assert_eq!(get(migration.engine(), TABLE, absent(a)), None);
    }
    assert_eq!(migration.layouts.looks(), before);
}

#[test]
fn a_page_counts_only_with_all_that_lie_before_it() {
    let rows = many();
    let migration = Migration::of(&rows);
    let engine = migration.engine();
    let half = engine.rows_to_move(TABLE, None, 120).unwrap().next;
    assert!(
        engine
            .move_rows(TABLE, half.as_deref(), 1000)
            .unwrap()
            .next
            .is_none()
    );
    assert_all_there(engine, &rows);
    assert_eq!(migration.remaining(), 120);
}

#[test]
fn a_row_that_cannot_move_is_not_passed_over() {
    let rows = many();
    let migration = Migration::before(&rows);
    let stuck: Vec<Id> = (0..30)
        .step_by(7)
        .map(|a| Id::new("u", &format!("a{a}"), 2))
        .collect();
    for id in &stuck {
        let mut row = id.former_row(&content(1, 0));
        row.insert("stays", n(1));
        migration.engine().run(put(TABLE, row)).unwrap();
    }
    migration.begin();
    for _ in 0..2 {
        migration.sweep_all();
        for id in &stuck {
            let key = id.own();
            let read = migration.engine().run(trestle_api::GetItem {
                table_name: TABLE.into(),
                key,
                ..Default::default()
            });
            assert!(
                read.is_err(),
                "{id:?} lies where it cannot be read, and is not gone"
            );
        }
    }
}

#[test]
fn a_read_that_began_before_the_sweep_passed_sees_what_its_snapshot_shows() {
    let rows = many();
    for a in 0..30 {
        let a = format!("a{a}");
        let migration = swept_in_the_middle_of_a_read(&rows);
        let (found, ..) = query_all(migration.engine(), partition(&a));
        assert_eq!(ids(&found).len(), 8, "partition {a}");
        assert_eq!(migration.remaining(), 0);

        let migration = swept_in_the_middle_of_a_read(&rows);
        let id = Id::new("u", &a, 1);
        assert_eq!(
            get(migration.engine(), TABLE, id.own()),
            Some(id.row(&content(1, 0)))
        );
        assert_eq!(migration.remaining(), 0);
    }
}

fn swept_in_the_middle_of_a_read(rows: &BTreeMap<Id, Item>) -> Migration {
    let migration = Migration::of(rows);
    let engine = migration.engine().clone();
    let sweep = move || assert!(engine.move_rows(TABLE, None, 1000).unwrap().moved > 0);
    *migration.layouts.meanwhile.lock().unwrap() = Some(Box::new(sweep));
    migration
}

#[test]
fn reads_at_once_find_every_row_while_the_sweep_goes_on() {
    let rows = many();
    for at_most in [1, 3, 16] {
        let migration = Migration::of(&rows);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        assert_all_there(migration.engine(), &rows);
                    }
                });
            }
            migration.sweep_all_by(at_most);
            is_over.store(true, Ordering::Relaxed);
        });
        assert_all_there(migration.engine(), &rows);
        migration.fixture.assert_sound();
    }
}
