//! Checks the items: each readable and under its own key. Also adds up everything that is derived from them.

use std::collections::BTreeMap;
use std::ops::Bound;

use trestle_item::{Item, codec, size};
use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::known::{Known, Owner, leading_id};
use super::report::{Found, Reporter};
use super::tally::{Count, Tally};
use crate::catalog::{Index, Table};
use crate::expiry;
use crate::layout::{self, IndexId, ItemKey, TableId};

/// The expected content of the other spaces and of the counts, computed from the items.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) tables: BTreeMap<TableId, Count>,
    pub(super) indexes: BTreeMap<IndexId, (Count, Tally)>,
    pub(super) expiry: BTreeMap<TableId, Tally>,
}

/// Walks all items.
pub(super) fn walk(
    snapshot: &dyn Snapshot,
    known: &Known,
    reporter: &mut Reporter<'_>,
) -> Result<Expected, StoreError> {
    reporter.walking("items");
    let mut expected = Expected::default();
    for row in snapshot.range(
        Space::Items,
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Forward,
    ) {
        let (key, value) = row?;
        reporter.row();
        let owner = leading_id(&key).map_or(Owner::None, |id| known.table(TableId(id)));
        match owner {
            Owner::Known(table) => {
                reporter.summary.items += 1;
                if let Some(item) = check(table, &key, &value, reporter) {
                    expected.add(table, &key, &item, &value);
                }
            }
            Owner::Dropped => reporter.summary.rows_to_clear += 1,
            Owner::None => {
                let what = "an item of a table that does not exist";
                reporter.found(Found::new(Kind::NoOwner, Space::Items, &key, what));
            }
        }
    }
    Ok(expected)
}

/// The item, if it can be read.
fn check(table: &Table, key: &[u8], value: &[u8], reporter: &mut Reporter<'_>) -> Option<Item> {
    let found = |kind, what: String| Found::new(kind, Space::Items, key, what).table(&table.name);
    let item = match codec::decode(value) {
        Ok(item) => item,
        Err(error) => {
            reporter.found(found(Kind::Unreadable, error.to_string()));
            return None;
        }
    };
    for part in table.key.attributes() {
        let kind = item
            .get(&part.name)
            .map(trestle_item::AttributeValue::scalar_type);
        if kind != Some(Some(part.kind)) {
            let what = format!(
                "the item has no key attribute {} of type {}",
                part.name,
                part.kind.name()
            );
            reporter.found(found(Kind::Unreadable, what));
            return None;
        }
    }
    let place = ItemKey::of(&table.key, &item).map(|key| key.in_table(table.id));
    if place.as_deref() != Some(key) {
        let shown = table.key.key_of(&item);
        let what = "the item's key attributes belong under another key".to_owned();
        reporter.found(found(Kind::Misplaced, what).item(&shown));
    }
    Some(item)
}

impl Expected {
    fn add(&mut self, table: &Table, key: &[u8], item: &Item, value: &[u8]) {
        let item_key = item_key(key);
        self.tables.entry(table.id).or_default().add(size::of_item(item));
        for index in &table.indexes {
            if let Some(row) = IndexRow::expected(table, index, item, value, &item_key) {
                let (count, tally) = self.indexes.entry(index.id).or_default();
                count.add(row.bytes);
                tally.add(&row.key, &row.value);
            }
        }
        if let Some(entry) = expiry_entry(table, item, &item_key) {
            self.expiry.entry(table.id).or_default().add(&entry, &[]);
        }
    }
}

/// The item key in an item's storage key.
pub(super) fn item_key(key: &[u8]) -> ItemKey {
    ItemKey(key.get(4..).unwrap_or_default().to_vec())
}

/// An index row as it should be.
pub(super) struct IndexRow {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    bytes: usize,
}

impl IndexRow {
    /// The row of an item, if the item is in the index and the backfill has reached it. `value` is the item's
    /// stored form.
    pub(super) fn expected(
        table: &Table,
        index: &Index,
        item: &Item,
        value: &[u8],
        item_key: &ItemKey,
    ) -> Option<Self> {
        if is_ahead(index.backfill_from.as_ref(), item_key) {
            return None;
        }
        let key = layout::index_row(index.id, &index.key, item, item_key)?;
        if index.projects_all() {
            // An item has one stored form, so the row has the same bytes.
            return Some(Self {
                key,
                value: value.to_vec(),
                bytes: size::of_item(item),
            });
        }
        let kept = index.project(table, item);
        Some(Self {
            key,
            value: codec::encode(&kept),
            bytes: size::of_item(&kept),
        })
    }
}

/// The expiry entry of an item, if its table has time to live and the backfill has reached the item.
pub(super) fn expiry_entry(table: &Table, item: &Item, item_key: &ItemKey) -> Option<Vec<u8>> {
    let ttl = table.ttl.as_ref()?;
    if is_ahead(ttl.backfill_from.as_ref(), item_key) {
        return None;
    }
    let seconds = expiry::seconds(item, &ttl.attribute)?;
    Some(layout::expiry(seconds, table.id, item_key))
}

/// Whether a backfill has not reached the item yet.
fn is_ahead(backfill_from: Option<&Vec<u8>>, item_key: &ItemKey) -> bool {
    backfill_from.is_some_and(|from| item_key.0 >= *from)
}
