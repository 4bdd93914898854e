//! Compares the expiry entries with the items.

use std::collections::BTreeMap;
use std::ops::Bound;

use trestle_item::codec;
use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::items::{Expected, expiry_entry, item_key};
use super::known::{Known, Owner};
use super::report::{Found, Reporter};
use super::tally::Tally;
use crate::catalog::Table;
use crate::expiry;
use crate::layout::{self, TableId};
use crate::range::Range;

/// Adds up all entries, and examines tables whose sums differ from those of the items.
pub(super) fn check(
    snapshot: &dyn Snapshot,
    known: &Known,
    expected: &Expected,
    reporter: &mut Reporter<'_>,
) -> Result<(), StoreError> {
    let tallies = walk(snapshot, known, reporter)?;
    let differ = |table: &&Table| {
        let is = tallies.get(&table.id).copied().unwrap_or_default();
        is != expected.expiry.get(&table.id).copied().unwrap_or_default()
    };
    let tables: Vec<&Table> = known.tables.values().filter(differ).collect();
    // While old entries are being cleared, there may be more entries than items, but never fewer.
    let exact: BTreeMap<TableId, &Table> = tables
        .iter()
        .filter(|table| !known.has_stale_expiry(table.id))
        .map(|table| (table.id, *table))
        .collect();
    if !exact.is_empty() {
        check_entries(snapshot, &exact, reporter)?;
    }
    for table in tables {
        check_items(snapshot, table, reporter)?;
    }
    Ok(())
}

fn walk(
    snapshot: &dyn Snapshot,
    known: &Known,
    reporter: &mut Reporter<'_>,
) -> Result<BTreeMap<TableId, Tally>, StoreError> {
    reporter.walking("expiry entries");
    let mut tallies: BTreeMap<TableId, Tally> = BTreeMap::new();
    for row in entries(snapshot) {
        let (key, value) = row?;
        reporter.row();
        let Some((_, table, _)) = layout::parse_expiry(&key) else {
            let what = "this is no expiry entry";
            reporter.found(Found::new(Kind::Unreadable, Space::Expiry, &key, what));
            continue;
        };
        match known.expiring_table(table) {
            Owner::Known(table) => {
                reporter.summary.expiry_entries += 1;
                tallies.entry(table.id).or_default().add(&key, &value);
            }
            Owner::Dropped => reporter.summary.rows_to_clear += 1,
            Owner::None => {
                let what = "an entry of a table that does not exist";
                reporter.found(Found::new(Kind::NoOwner, Space::Expiry, &key, what));
            }
        }
    }
    Ok(tallies)
}

fn entries(snapshot: &dyn Snapshot) -> trestle_store::RowIterator<'_> {
    snapshot.range(
        Space::Expiry,
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Forward,
    )
}

/// Checks that every entry of these tables has its item.
fn check_entries(
    snapshot: &dyn Snapshot,
    tables: &BTreeMap<TableId, &Table>,
    reporter: &mut Reporter<'_>,
) -> Result<(), StoreError> {
    reporter.walking("entries of a table that disagrees");
    for row in entries(snapshot) {
        let (key, value) = row?;
        reporter.row();
        let Some((seconds, table, item_key)) = layout::parse_expiry(&key) else {
            continue;
        };
        let Some(table) = tables.get(&table) else { continue };
        let stored = snapshot.get(Space::Items, &item_key.in_table(table.id))?;
        let item = stored.map(|stored| codec::decode(&stored));
        let (kind, what) = match (&item, &table.ttl) {
            _ if !value.is_empty() => (Kind::Unreadable, "the entry has a value"),
            (_, None) => (Kind::StrayExpiry, "the table has no time to live"),
            (None, _) => (Kind::StrayExpiry, "there is no such item"),
            // An item that cannot be read has been reported already.
            (Some(Err(_)), _) => continue,
            // An entry that the backfill has not reached is not wrong: an earlier setting left it.
            (Some(Ok(item)), Some(ttl)) => match expiry::seconds(item, &ttl.attribute) {
                Some(expires) if expires == seconds => continue,
                Some(_) => (Kind::StrayExpiry, "the item expires at another time"),
                None => (Kind::StrayExpiry, "the item does not expire"),
            },
        };
        let shown = item.and_then(Result::ok).map(|item| table.key.key_of(&item));
        let found = Found::new(kind, Space::Expiry, &key, what).table(&table.name);
        reporter.found(match &shown {
            Some(shown) => found.item(shown),
            None => found,
        });
    }
    Ok(())
}

/// Checks that every item of the table has its entry.
fn check_items(
    snapshot: &dyn Snapshot,
    table: &Table,
    reporter: &mut Reporter<'_>,
) -> Result<(), StoreError> {
    reporter.walking("items of a table whose entries disagree");
    let rows = Range::prefix(table.id.0.to_be_bytes().to_vec());
    for row in rows.rows(snapshot, Space::Items, Direction::Forward) {
        let (key, value) = row?;
        reporter.row();
        let Ok(item) = codec::decode(&value) else { continue };
        let Some(entry) = expiry_entry(table, &item, &item_key(&key)) else {
            continue;
        };
        if snapshot.get(Space::Expiry, &entry)?.is_none() {
            let shown = table.key.key_of(&item);
            let what = "the item has no expiry entry";
            reporter.found(
                Found::new(Kind::MissingExpiry, Space::Expiry, &entry, what)
                    .table(&table.name)
                    .item(&shown),
            );
        }
    }
    Ok(())
}
