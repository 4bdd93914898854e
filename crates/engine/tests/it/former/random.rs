//! Random operations during a migration, compared with a map: point reads, queries, scans and index queries
//! of any page size, and readers that continue from a bookmark while rows move.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trestle_api::{DeleteItem, Query, Scan};
use trestle_item::Item;

use super::layouts::{Id, KINDS, TABLE, content};
use super::{Migration, ids};
use crate::support::{get, number, put, rounds, s, transact_delete, transact_put, update};

const STEPS: usize = 60;

#[test]
fn every_row_is_read_once_with_its_newest_value_while_rows_move() {
    rounds(20, |rng| Work::new(rng).run());
}

/// A reader that reads page by page, with writes in between.
struct Reader {
    what: What,
    next: Option<Item>,
    seen: Vec<Id>,
    /// The rows that existed at the start and have not been removed, created again, or given another index
    /// key.
    steady: BTreeSet<Id>,
}

#[derive(Clone, Debug)]
enum What {
    Partition {
        pk: String,
        forward: bool,
    },
    Table {
        segment: u32,
        segments: u32,
    },
    Index {
        name: &'static str,
        value: String,
        forward: bool,
    },
    Local {
        pk: String,
    },
}

struct Work<'r> {
    rng: &'r mut fastrand::Rng,
    migration: Migration,
    rows: BTreeMap<Id, Item>,
    position: Option<Vec<u8>>,
    readers: Vec<Reader>,
}

impl<'r> Work<'r> {
    fn new(rng: &'r mut fastrand::Rng) -> Self {
        let mut rows = BTreeMap::new();
        for _ in 0..rng.usize(40..120) {
            rows.insert(an_id(rng), content(rng.i64(0..3), rng.i64(0..2)));
        }
        let migration = Migration::of(&rows);
        Self {
            rng,
            migration,
            rows,
            position: None,
            readers: Vec::new(),
        }
    }

    fn run(mut self) {
        for _ in 0..STEPS {
            match self.rng.u32(..16) {
                0 => self.put(),
                1 => self.update(),
                2 => self.delete(),
                3 => self.transact(),
                4 | 5 => self.sweep(),
                6 | 7 => self.check_point_reads(),
                8 => self.check_lists(),
                9 | 10 => self.start_reader(),
                _ => self.go_on_reading(),
            }
        }
        while !self.readers.is_empty() {
            self.go_on_reading();
        }
        self.check_point_reads();
        self.check_lists();
        self.migration.sweep_all();
        self.check_lists();
        self.migration.fixture.assert_sound();
    }

    fn a_row(&mut self) -> Option<Id> {
        let at = self.rng.usize(..self.rows.len().max(1));
        self.rows.keys().nth(at).cloned()
    }

    /// A key from a client that may not know the new layout yet.
    fn given(&mut self, id: &Id) -> Item {
        if self.rng.bool() { id.own() } else { id.former() }
    }

    fn no_longer_steady(&mut self, id: &Id) {
        for reader in &mut self.readers {
            reader.steady.remove(id);
        }
    }

    fn put(&mut self) {
        let id = an_id(self.rng);
        let content = content(self.rng.i64(0..3), self.rng.i64(0..2));
        let mut item = self.given(&id);
        for (name, value) in content.iter() {
            item.insert(name.clone(), value.clone());
        }
        self.migration.fixture.engine.run(put(TABLE, item)).unwrap();
        self.rows.insert(id.clone(), content);
        self.no_longer_steady(&id);
    }

    fn update(&mut self) {
        let Some(id) = self.a_row() else { return };
        let request = update(TABLE, self.given(&id), "SET w = :w", Item::from([(":w", s("w"))]));
        self.migration.fixture.engine.run(request).unwrap();
        self.rows.entry(id).or_default().insert("w", s("w"));
    }

    fn delete(&mut self) {
        let Some(id) = self.a_row() else { return };
        let request = DeleteItem {
            table_name: TABLE.into(),
            key: self.given(&id),
            ..DeleteItem::default()
        };
        self.migration.fixture.engine.run(request).unwrap();
        self.rows.remove(&id);
        self.no_longer_steady(&id);
    }

    /// Removes one row and adds another, in one transaction.
    fn transact(&mut self) {
        let (Some(gone), new) = (self.a_row(), an_id(self.rng)) else {
            return;
        };
        if gone == new {
            return;
        }
        let content = content(self.rng.i64(0..3), self.rng.i64(0..2));
        let request = trestle_api::TransactWriteItems {
            transact_items: vec![
                transact_delete(TABLE, self.given(&gone), Some("attribute_exists(v)")),
                transact_put(TABLE, new.row(&content)),
            ],
            ..Default::default()
        };
        self.migration.fixture.engine.run(request).unwrap();
        self.rows.remove(&gone);
        self.rows.insert(new.clone(), content);
        self.no_longer_steady(&gone);
        self.no_longer_steady(&new);
    }

    fn sweep(&mut self) {
        let at_most = self.rng.usize(1..5);
        let moved = self
            .migration
            .fixture
            .engine
            .move_rows(TABLE, self.position.as_deref(), at_most);
        self.position = moved.unwrap().next;
    }

    fn check_point_reads(&mut self) {
        for kind in KINDS {
            let id = Id::new(kind, ["x", "x-2"][self.rng.usize(..2)], self.rng.i64(0..30));
            let expected = self.rows.get(&id).map(|content| id.row(content));
            let given = self.given(&id);
            assert_eq!(
                get(&self.migration.fixture.engine, TABLE, given),
                expected,
                "{id:?}"
            );
        }
    }

    fn check_lists(&mut self) {
        for what in every_list() {
            let limit = self.rng.u32(1..6);
            let mut seen = Vec::new();
            let mut next = None;
            loop {
                let (items, last) = self.page(&what, next, limit);
                for item in &items {
                    self.check_row(&what, item);
                }
                seen.extend(ids(&items));
                next = last;
                if next.is_none() {
                    break;
                }
            }
            let expected = self.expected(&what);
            let distinct: BTreeSet<Id> = seen.iter().cloned().collect();
            assert_eq!(distinct.len(), seen.len(), "{what:?} shows a row twice: {seen:?}");
            assert_eq!(distinct, expected, "{what:?}");
            if let What::Partition { forward, .. } = what {
                let order: Vec<Item> = seen.iter().map(Id::own).collect();
                let mut sorted = order.clone();
                sorted.sort_by_key(|key| key.get("sk").and_then(|sk| sk.as_s()).map(str::to_owned));
                if !forward {
                    sorted.reverse();
                }
                assert_eq!(order, sorted, "{what:?}");
            }
        }
    }

    /// Checks that a listed row is the row in its own place.
    fn check_row(&self, what: &What, item: &Item) {
        let id = Id::of_own(item).unwrap_or_else(|| panic!("{what:?} shows {item:?}"));
        let content = self
            .rows
            .get(&id)
            .unwrap_or_else(|| panic!("{what:?} shows {item:?}"));
        match what {
            What::Index { name: "fresh", .. } => assert_eq!(item.len(), 3, "{item:?}"),
            _ => assert_eq!(*item, id.row(content)),
        }
    }

    fn expected(&self, what: &What) -> BTreeSet<Id> {
        let is_in = |id: &Id, content: &Item| match what {
            What::Partition { pk, .. } | What::Local { pk } => id.own().get("pk") == Some(&s(pk.as_str())),
            What::Table { .. } => true,
            What::Index { name, value, .. } => {
                let attribute = if *name == "fresh" { "f" } else { "g" };
                content.get(attribute) == Some(&s(value.as_str()))
            }
        };
        let rows = self.rows.iter().filter(|(id, content)| is_in(id, content));
        rows.map(|(id, _)| id.clone()).collect()
    }

    fn page(&self, what: &What, next: Option<Item>, limit: u32) -> (Vec<Item>, Option<Item>) {
        let engine = &self.migration.fixture.engine;
        let query = |index: Option<&str>, name: &str, value: &str, forward: bool| Query {
            table_name: TABLE.into(),
            index_name: index.map(str::to_owned),
            key_condition_expression: Some(format!("{name} = :h")),
            expression_attribute_values: Some(Item::from([(":h", s(value))])),
            scan_index_forward: Some(forward),
            limit: Some(limit),
            exclusive_start_key: next.clone(),
            ..Query::default()
        };
        let query = match what {
            What::Partition { pk, forward } => query(None, "pk", pk, *forward),
            What::Local { pk } => query(Some("local"), "pk", pk, true),
            What::Index { name, value, forward } => {
                let attribute = if *name == "fresh" { "f" } else { "g" };
                query(Some(name), attribute, value, *forward)
            }
            What::Table { segment, segments } => {
                let answer = engine.run(Scan {
                    table_name: TABLE.into(),
                    limit: Some(limit),
                    segment: Some(*segment),
                    total_segments: Some(*segments),
                    exclusive_start_key: next,
                    ..Scan::default()
                });
                let answer = answer.unwrap();
                let items = answer.items.unwrap_or_default().into_iter().collect();
                return (items, answer.last_evaluated_key);
            }
        };
        let answer = engine.run(query).unwrap();
        let items = answer.items.unwrap_or_default().into_iter().collect();
        (items, answer.last_evaluated_key)
    }

    fn start_reader(&mut self) {
        let lists = every_list();
        let what = lists[self.rng.usize(..lists.len())].clone();
        let steady = self.expected(&what);
        self.readers.push(Reader {
            what,
            next: None,
            seen: Vec::new(),
            steady,
        });
    }

    fn go_on_reading(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        let mut reader = self.readers.swap_remove(self.rng.usize(..self.readers.len()));
        let limit = self.rng.u32(1..4);
        let (items, last) = self.page(&reader.what, reader.next.take(), limit);
        reader.seen.extend(ids(&items));
        match last {
            Some(last) => {
                reader.next = Some(last);
                self.readers.push(reader);
            }
            None => check_reader(&reader),
        }
    }
}

fn check_reader(reader: &Reader) {
    let mut times: HashMap<&Id, u32> = HashMap::new();
    for id in &reader.seen {
        *times.entry(id).or_default() += 1;
    }
    for id in &reader.steady {
        assert_eq!(
            times.get(id),
            Some(&1),
            "{:?} shows {id:?} not once: {:?}",
            reader.what,
            reader.seen
        );
    }
}

fn an_id(rng: &mut fastrand::Rng) -> Id {
    let a = ["x", "x-2"][rng.usize(..2)];
    Id::new(KINDS[rng.usize(..KINDS.len())], a, rng.i64(0..30))
}

fn every_list() -> Vec<What> {
    let mut lists = vec![
        What::Table {
            segment: 0,
            segments: 1,
        },
        What::Index {
            name: "fresh",
            value: "f".into(),
            forward: true,
        },
        What::Local { pk: "new#x".into() },
        What::Local { pk: "zed#3".into() },
    ];
    for pk in ["new#x", "new#x-2", "zed#1", "zed#11", "plain#x"] {
        for forward in [true, false] {
            lists.push(What::Partition {
                pk: pk.into(),
                forward,
            });
        }
    }
    for value in ["g0", "g1"] {
        for forward in [true, false] {
            lists.push(What::Index {
                name: "by-group",
                value: value.into(),
                forward,
            });
        }
    }
    lists
}

#[test]
fn segments_of_a_scan_show_each_row_once_while_rows_move() {
    rounds(10, |rng| {
        let mut work = Work::new(rng);
        work.sweep();
        let segments = 3;
        let mut seen = Vec::new();
        for segment in 0..segments {
            let mut next = None;
            loop {
                let (items, last) = work.page(&What::Table { segment, segments }, next, 2);
                seen.extend(ids(&items));
                work.sweep();
                next = last;
                if next.is_none() {
                    break;
                }
            }
        }
        seen.sort();
        let expected: Vec<Id> = work.rows.keys().cloned().collect();
        assert_eq!(seen, expected);
        assert!(work.rows.values().all(|row| number(row, "v") < 3));
    });
}

#[test]
fn pages_of_an_index_are_right_within_rows_of_one_index_key() {
    let rows: BTreeMap<Id, Item> = (0..13)
        .flat_map(|at| ["u", "o", "z"].map(|kind| (Id::new(kind, "x", at), content(1, 0))))
        .collect();
    let migration = Migration::of(&rows);
    migration.engine().move_rows(TABLE, None, 20).unwrap();
    for forward in [true, false] {
        let query = Query {
            table_name: TABLE.into(),
            index_name: Some("by-group".into()),
            key_condition_expression: Some("g = :g".into()),
            expression_attribute_values: Some(Item::from([(":g", s("g0"))])),
            scan_index_forward: Some(forward),
            limit: Some(2),
            ..Query::default()
        };
        let (items, _, _) = crate::support::query_all(migration.engine(), query);
        let mut seen = ids(&items);
        seen.sort();
        assert_eq!(seen, rows.keys().cloned().collect::<Vec<_>>());
    }
}
