//! Scans keep what they find about moving rows for the next pages, as long as it is valid.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::{Error, Query, TransactWriteItems};
use trestle_env::Timestamp;
use trestle_expr::{KeyCondition, KeyOp, KeyTerm};
use trestle_hook::{Change, Edits, Former, Hook, Refused, RowQuery, Rows, Verdict};
use trestle_item::Item;

use super::layouts::{Id, Layouts, Moving, TABLE, content};
use super::{Migration, ids};
use crate::support::{n, number, put, query_all, s, scan, scan_all, transact_update};

fn some() -> BTreeMap<Id, Item> {
    let row = |at| (Id::new("u", "x", at), content(1, 0));
    (0..5).map(row).collect()
}

fn scanned(migration: &Migration) -> Vec<Id> {
    let mut seen = ids(&scan_all(migration.engine(), scan(TABLE, None)).0);
    seen.sort();
    seen
}

/// All rows, through an index in which their former places cannot be computed.
fn fresh() -> Query {
    Query {
        table_name: TABLE.into(),
        index_name: Some("fresh".into()),
        key_condition_expression: Some("f = :f".into()),
        expression_attribute_values: Some(Item::from([(":f", s("f"))])),
        ..Query::default()
    }
}

#[test]
fn what_was_found_out_in_one_layout_is_forgotten_in_the_next() {
    let mut rows = some();
    let migration = Migration::of(&rows);
    assert_eq!(scanned(&migration).len(), 5);
    // Without a hook that knows former places, rows are written there.
    migration.engine().install(Vec::new(), None).unwrap();
    for at in 5..10 {
        let id = Id::new("u", "x", at);
        let row = id.former_row(&content(1, 0));
        migration.engine().run(put(TABLE, row)).unwrap();
        rows.insert(id, content(1, 0));
    }
    migration.begin();
    let expected: Vec<Id> = rows.into_keys().collect();
    assert_eq!(scanned(&migration), expected);
    assert_eq!(query_all(migration.engine(), fresh()).0.len(), 10);
}

#[test]
fn a_look_ahead_is_as_good_as_a_scans_own_and_stays_right_while_rows_move() {
    let migration = Migration::of(&some());
    migration.engine().look_ahead(TABLE);
    let expected: Vec<Id> = some().into_keys().collect();
    assert_eq!(scanned(&migration), expected);
    migration.engine().move_rows(TABLE, None, 2).unwrap();
    migration.engine().look_ahead(TABLE);
    assert_eq!(scanned(&migration), expected);
}

/// A hook that refuses a write with `v` 3, after reading all rows.
#[derive(Debug)]
struct Refusing(Moving);

impl Hook for Refusing {
    fn covers(&self, table: &str) -> bool {
        self.0.covers(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        self.0.former(table)
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        self.0.key(table, given)
    }

    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        self.0.place(table, item, now)
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        let is_refused = |change: &Change<'_>| change.new.is_some_and(|row| number(row, "v") == 3);
        let Some(at) = changes.iter().position(is_refused) else {
            return Ok(Verdict::default());
        };
        let of_index = KeyTerm {
            attribute: "f".into(),
            op: KeyOp::Eq(s("f")),
        };
        let fresh = RowQuery {
            table: TABLE.into(),
            index: Some("fresh".into()),
            key_condition: KeyCondition {
                terms: vec![of_index],
            },
            filter: None,
            limit: None,
            is_guarded: false,
        };
        assert_eq!(rows.query(&fresh)?.len(), 5);
        Err(Refused {
            at: Some(at),
            error: Error::validation("not this"),
        })
    }
}

#[test]
fn what_a_write_sees_of_its_own_move_is_forgotten_when_it_is_refused() {
    let migration = Migration::before(&some());
    let layouts: Arc<Layouts> = Arc::clone(&migration.layouts);
    let hook = Refusing(Moving {
        layouts,
        understands_former_keys: true,
    });
    migration
        .engine()
        .install(Vec::new(), Some(Arc::new(hook)))
        .unwrap();
    let update = |at, v| {
        let key = Id::new("u", "x", at).own();
        transact_update(TABLE, key, "SET v = :v", None, Item::from([(":v", n(v))]))
    };
    let request = TransactWriteItems {
        transact_items: vec![update(1, 2), update(2, 3)],
        ..TransactWriteItems::default()
    };
    migration.engine().run(request).unwrap_err();
    assert_eq!(query_all(migration.engine(), fresh()).0.len(), 5);
}
