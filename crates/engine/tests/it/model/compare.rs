//! Results that are compared completely: queries, scans, counts, streams.

use std::collections::BTreeMap;

use trestle_api::Scan;
use trestle_item::Item;

use super::shapes::SHAPES;
use super::{Model, requests};
use crate::oracle::query::Found;
use crate::oracle::{Event, Key, counted};
use crate::streams::read_all;
use crate::support::{self, describe, query_all, scan_all, sorted};

impl Model<'_> {
    pub(super) fn query(&mut self, shape: usize) {
        let ask = self.draw_ask(shape);
        let limit = self.rng.bool().then(|| self.rng.u32(1..6));
        let query = requests::query(&ask, limit);
        let (items, scanned, _) = query_all(&self.fixture().engine, query);
        let expected = self.oracle.table(&ask.table).query(&ask);
        assert_eq!(scanned, expected.scanned, "rows read by {ask:?}");
        assert_in_order(&items, &expected, &format!("{ask:?}"));
    }

    pub(super) fn scan(&mut self, shape: usize) {
        let index = self.draw_source(shape);
        let total = self.rng.u32(1..5);
        let limit = self.rng.bool().then(|| self.rng.u32(1..8));
        let mut found = Vec::new();
        for segment in 0..total {
            let scan = Scan {
                segment: Some(segment),
                total_segments: Some(total),
                limit,
                ..support::scan(SHAPES[shape].name, index.as_deref())
            };
            found.extend(scan_all(&self.fixture().engine, scan).0);
        }
        let expected = self.oracle.table(SHAPES[shape].name).rows(index.as_deref());
        assert_eq!(sorted(found), sorted(expected), "scan of {index:?}");
    }

    /// Every row of every index.
    pub(super) fn check_indexes(&self, shape: usize) {
        let table = self.oracle.table(SHAPES[shape].name);
        for index in &table.indexes {
            let scan = support::scan(SHAPES[shape].name, Some(&index.name));
            let (found, _) = scan_all(&self.fixture().engine, scan);
            let expected = sorted(table.index_rows(index));
            assert_eq!(sorted(found), expected, "rows of {}", index.name);
        }
    }

    pub(super) fn check_counts(&self, shape: usize) {
        let described = describe(&self.fixture().engine, SHAPES[shape].name);
        let table = self.oracle.table(SHAPES[shape].name);
        assert_eq!((described.item_count, described.table_size_bytes), table.size());
        let local = described.local_secondary_indexes.into_iter().flatten();
        let local = local.map(|index| (index.index_name, (index.item_count, index.index_size_bytes)));
        let global = described.global_secondary_indexes.into_iter().flatten();
        let global = global.map(|index| (index.index_name, (index.item_count, index.index_size_bytes)));
        let found: BTreeMap<String, (u64, u64)> = local.chain(global).collect();
        let size = |index| counted(table.index_rows(index).iter());
        let expected = table
            .indexes
            .iter()
            .map(|index| (index.name.clone(), size(index)));
        assert_eq!(found, expected.collect());
    }

    /// The shards together have each item's history, in order.
    pub(super) fn check_stream(&self, shape: usize) {
        let name = SHAPES[shape].name;
        let engine = &self.fixture().engine;
        let arn = describe(engine, name).latest_stream_arn.unwrap();
        let table = self.oracle.table(name);
        let mut told: BTreeMap<Key, Vec<Event>> = BTreeMap::new();
        for record in read_all(engine, &arn) {
            let event = Event {
                old: record.dynamodb.old_image,
                new: record.dynamodb.new_image,
                expired: record.user_identity.is_some(),
            };
            let key = table.key(&record.dynamodb.keys);
            told.entry(key).or_default().push(event);
        }
        assert_eq!(told, table.history);
    }

    pub(super) fn check_all(&self, shape: usize) {
        let name = SHAPES[shape].name;
        let (found, _) = scan_all(&self.fixture().engine, support::scan(name, None));
        assert_eq!(sorted(found), sorted(self.oracle.table(name).rows(None)));
        self.check_indexes(shape);
        self.check_counts(shape);
        self.check_stream(shape);
    }
}

/// The same items in the same order, where there is one: rows with equal sort keys may come in any.
fn assert_in_order(items: &[Item], expected: &Found, what: &str) {
    assert_eq!(items.len(), expected.shown.len(), "{what}");
    let mut at = 0;
    for group in expected.shown.chunk_by(|one, two| one.0 == two.0) {
        let here = items[at..at + group.len()].to_vec();
        let wanted = group.iter().map(|(_, item)| item.clone()).collect();
        assert_eq!(sorted(here), sorted(wanted), "{what}");
        at += group.len();
    }
}
