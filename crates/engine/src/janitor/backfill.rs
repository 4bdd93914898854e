//! Adds index rows and expiry entries for rows that are older than an index, or than the time-to-live
//! setting.
//!
//! The position of the walk is part of the table's definition. Writes to rows before the position maintain
//! the index as usual; writes to later rows leave the index alone, because the walk will index their later
//! state. So each item is indexed exactly once.

use std::ops::Bound;
use std::sync::Arc;

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::catalog::{Index, Table, Ttl};
use crate::image::Image;
use crate::layout::{self, ItemKey};
use crate::range::Range;
use crate::shared::internal;
use crate::transaction::Transaction;

/// Rows per commit: few enough not to delay clients noticeably.
const ROWS_PER_COMMIT: usize = 200;

/// Continues the walk for one index.
pub(crate) fn indexes(worker: &Worker) -> Result<Progress, Error> {
    let catalog = worker.shared.catalog.load();
    let unfinished = catalog.tables.values().find_map(|table| {
        let index = table.indexes.iter().find(|index| index.backfill_from.is_some())?;
        Some((table.name.clone(), index.name.clone()))
    });
    let Some((table, index)) = unfinished else {
        return Ok(Progress::None);
    };
    worker.commit(true, move |transaction| index_chunk(transaction, &table, &index))?;
    Ok(Progress::Some)
}

fn index_chunk(transaction: &mut Transaction<'_>, table: &str, index: &str) -> Result<(), Error> {
    let Some(table) = transaction.catalog().tables.get(table).cloned() else {
        return Ok(());
    };
    let Some(position) = table
        .indexes
        .iter()
        .position(|i| i.name == index && i.backfill_from.is_some())
    else {
        return Ok(());
    };
    let Some(index) = table.indexes.get(position).cloned() else {
        return Ok(());
    };
    let from = index.backfill_from.clone().unwrap_or_default();
    let next = walk(transaction, &table, from, |transaction, key, item| {
        transaction.backfill_index_row(&table, &index, key, item);
    })?;
    let mut changed = Table::clone(&table);
    if let Some(slot) = changed.indexes.get_mut(position) {
        *slot = Arc::new(Index {
            backfill_from: next,
            ..Index::clone(&index)
        });
    }
    transaction.put_table(changed)?;
    Ok(())
}

/// Continues the walk for one table's time to live.
pub(crate) fn expiry(worker: &Worker) -> Result<Progress, Error> {
    let catalog = worker.shared.catalog.load();
    let unfinished = catalog
        .tables
        .values()
        .find(|table| table.ttl.as_ref().is_some_and(|ttl| ttl.backfill_from.is_some()))
        .map(|table| table.name.clone());
    let Some(table) = unfinished else {
        return Ok(Progress::None);
    };
    worker.commit(true, move |transaction| expiry_chunk(transaction, &table))?;
    Ok(Progress::Some)
}

fn expiry_chunk(transaction: &mut Transaction<'_>, table: &str) -> Result<(), Error> {
    let Some(table) = transaction.catalog().tables.get(table).cloned() else {
        return Ok(());
    };
    let Some(Ttl {
        attribute,
        backfill_from: Some(from),
    }) = table.ttl.clone()
    else {
        return Ok(());
    };
    let next = walk(transaction, &table, from, |transaction, key, item| {
        if let Some(seconds) = crate::expiry::seconds(item, &attribute) {
            transaction.put_row(Space::Expiry, layout::expiry(seconds, table.id, key), Vec::new());
        }
    })?;
    let ttl = Some(Ttl {
        attribute: attribute.clone(),
        backfill_from: next,
    });
    transaction.put_table(Table {
        ttl,
        ..Table::clone(&table)
    })?;
    Ok(())
}

/// Visits the next rows of a table; returns the next position, or `None` at the end.
fn walk(
    transaction: &mut Transaction<'_>,
    table: &Table,
    from: Vec<u8>,
    mut visit: impl FnMut(&mut Transaction<'_>, &ItemKey, &Image),
) -> Result<Option<Vec<u8>>, Error> {
    let mut range = Range::prefix(table.id.0.to_be_bytes().to_vec());
    range.start = Bound::Included(ItemKey(from).in_table(table.id));
    let snapshot = transaction.shared().store.snapshot();
    let rows = range.rows(&*snapshot, Space::Items, Direction::Forward);
    for (at, row) in rows.enumerate() {
        let (key, value) = row.map_err(internal)?;
        let key = ItemKey(layout::behind(&key, layout::TABLE_BYTES, "backfill")?.to_vec());
        if at == ROWS_PER_COMMIT {
            return Ok(Some(key.0));
        }
        visit(transaction, &key, &Image::stored(value).map_err(internal)?);
    }
    Ok(None)
}
