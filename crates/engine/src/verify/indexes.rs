//! Compares the rows of secondary indexes with the items.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use trestle_item::{Item, codec, key};
use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::items::{Expected, IndexRow, item_key};
use super::known::{Known, Owner, leading_id};
use super::report::{Found, Reporter};
use super::tally::Tally;
use crate::catalog::{Index, Table};
use crate::layout::{IndexId, ItemKey};
use crate::range::Range;

/// Adds up all index rows, and examines indexes whose sums differ from those of the items.
pub(super) fn check(
    snapshot: &dyn Snapshot,
    known: &Known,
    expected: &Expected,
    reporter: &mut Reporter<'_>,
) -> Result<(), StoreError> {
    let tallies = walk(snapshot, known, reporter)?;
    for (id, (table, index)) in &known.indexes {
        let is = tallies.get(id).copied().unwrap_or_default();
        let should = expected
            .indexes
            .get(id)
            .map(|(_, tally)| *tally)
            .unwrap_or_default();
        if is == should {
            continue;
        }
        if let Some(table) = known.tables.get(table) {
            let closer = Closer {
                snapshot,
                table,
                index,
            };
            closer.check_rows(reporter)?;
            closer.check_items(reporter)?;
        }
    }
    Ok(())
}

fn walk(
    snapshot: &dyn Snapshot,
    known: &Known,
    reporter: &mut Reporter<'_>,
) -> Result<BTreeMap<IndexId, Tally>, StoreError> {
    reporter.walking("index rows");
    let mut tallies: BTreeMap<IndexId, Tally> = BTreeMap::new();
    for row in snapshot.range(
        Space::Index,
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Forward,
    ) {
        let (key, value) = row?;
        reporter.row();
        match leading_id(&key).map_or(Owner::None, |id| known.index(IndexId(id))) {
            Owner::Known((_, index)) => {
                reporter.summary.index_rows += 1;
                tallies.entry(index.id).or_default().add(&key, &value);
            }
            Owner::Dropped => reporter.summary.rows_to_clear += 1,
            Owner::None => {
                let what = "a row of an index that does not exist";
                reporter.found(Found::new(Kind::NoOwner, Space::Index, &key, what));
            }
        }
    }
    Ok(tallies)
}

/// Examines one index row by row.
struct Closer<'a> {
    snapshot: &'a dyn Snapshot,
    table: &'a Table,
    index: &'a Arc<Index>,
}

impl Closer<'_> {
    /// Checks that every row has its item.
    fn check_rows(&self, reporter: &mut Reporter<'_>) -> Result<(), StoreError> {
        reporter.walking("rows of an index that disagrees");
        let rows = Range::prefix(self.index.id.0.to_be_bytes().to_vec());
        for row in rows.rows(self.snapshot, Space::Index, Direction::Forward) {
            let (key, value) = row?;
            reporter.row();
            let Some(item_key) = self.item_key(&key) else {
                let what = "the row's key is not made of the index's key attributes";
                reporter.found(self.found(Kind::Unreadable, &key, what.to_owned()));
                continue;
            };
            let Some(stored) = self
                .snapshot
                .get(Space::Items, &item_key.in_table(self.table.id))?
            else {
                reporter.found(self.found(Kind::StrayIndexRow, &key, "there is no such item".to_owned()));
                continue;
            };
            // An item that cannot be read has been reported already.
            if let Ok(item) = codec::decode(&stored) {
                self.check_row(&key, &value, &item_key, &item, &stored, reporter);
            }
        }
        Ok(())
    }

    fn check_row(
        &self,
        key: &[u8],
        value: &[u8],
        item_key: &ItemKey,
        item: &Item,
        stored: &[u8],
        reporter: &mut Reporter<'_>,
    ) {
        let shown = self.table.key.key_of(item);
        let expected = IndexRow::expected(self.table, self.index, item, stored, item_key);
        let (kind, what) = match expected {
            None if self.index.backfill_from.is_some() => (
                Kind::StrayIndexRow,
                "the index's backfill has not come to the item".to_owned(),
            ),
            None => (
                Kind::StrayIndexRow,
                "the item lacks a key attribute of the index".to_owned(),
            ),
            Some(row) if row.key != key => (
                Kind::StrayIndexRow,
                "the item's index key is another one".to_owned(),
            ),
            Some(row) if row.value == value => return,
            Some(row) => match codec::decode(value) {
                Err(error) => (Kind::Unreadable, error.to_string()),
                Ok(held) => (
                    Kind::WrongIndexRow,
                    difference(&held, &codec::decode(&row.value).unwrap_or_default()),
                ),
            },
        };
        reporter.found(self.found(kind, key, what).item(&shown));
    }

    /// Checks that every item has its row. Existing rows have been compared before.
    fn check_items(&self, reporter: &mut Reporter<'_>) -> Result<(), StoreError> {
        reporter.walking("items of an index that disagrees");
        let rows = Range::prefix(self.table.id.0.to_be_bytes().to_vec());
        for row in rows.rows(self.snapshot, Space::Items, Direction::Forward) {
            let (key, value) = row?;
            reporter.row();
            let Ok(item) = codec::decode(&value) else { continue };
            let expected = IndexRow::expected(self.table, self.index, &item, &value, &item_key(&key));
            let Some(expected) = expected else { continue };
            if self.snapshot.get(Space::Index, &expected.key)?.is_none() {
                let shown = self.table.key.key_of(&item);
                let what = "the item has no row in the index".to_owned();
                reporter.found(
                    self.found(Kind::MissingIndexRow, &expected.key, what)
                        .item(&shown),
                );
            }
        }
        Ok(())
    }

    /// The item's key at the end of an index row's key.
    fn item_key(&self, key: &[u8]) -> Option<ItemKey> {
        let mut rest = key.get(12..)?;
        for part in self.index.key.attributes() {
            rest = key::decode_component(part.kind, rest)?.1;
        }
        Some(ItemKey(rest.to_vec()))
    }

    fn found<'f>(&'f self, kind: Kind, key: &'f [u8], what: String) -> Found<'f> {
        Found::new(kind, Space::Index, key, what)
            .table(&self.table.name)
            .index(&self.index.name)
    }
}

/// The names of the attributes that differ.
fn difference(held: &Item, should: &Item) -> String {
    let mut names: Vec<&str> = held
        .keys()
        .chain(should.keys())
        .map(String::as_str)
        .filter(|name| held.get(name) != should.get(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    format!("the row differs from the item in: {}", names.join(", "))
}
