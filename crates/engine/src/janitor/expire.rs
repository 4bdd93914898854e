//! Deletes items whose time to live is over.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::catalog::{State, Table};
use crate::consequences::RowChange;
use crate::expiry;
use crate::image::Image;
use crate::layout::{self, ItemKey, TableId};
use crate::shared::internal;
use crate::transaction::{Actor, Transaction};

/// Items deleted per commit.
const ITEMS_PER_COMMIT: usize = 100;
/// Items that expired longer ago are left alone, as DynamoDB does: they are old data, not expiring data.
const IGNORED_AFTER: Duration = Duration::from_secs(5 * 365 * 24 * 60 * 60);

/// The time between two warnings about expired items that a hook does not allow to be removed.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

/// Deletes some of the items that are due.
///
/// A hook may refuse the deletion of an item. Then the item stays, with its expiry entry and everything that
/// depends on it: deleting it alone would make the other rows wrong, and removing the entry would keep the
/// item forever. The entry is tried again in the next pass; this pass continues after it, so that other
/// entries do not wait.
pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let now = worker.shared.clock.now();
    let oldest = now.minus(IGNORED_AFTER).as_secs().to_be_bytes();
    // An item expires once the second in its attribute has passed.
    let end = now.as_secs().to_be_bytes();
    let kept = worker.kept_until.take();
    let start = match &kept {
        Some(entry) => Bound::Excluded(entry.as_slice()),
        None => Bound::Included(&oldest[..]),
    };
    let snapshot = worker.shared.store.snapshot();
    let rows = snapshot.range(Space::Expiry, start, Bound::Excluded(&end), Direction::Forward);
    let mut due = Vec::new();
    let mut last = None;
    for row in rows.take(ITEMS_PER_COMMIT) {
        let (entry, _) = row.map_err(internal)?;
        due.extend(layout::parse_expiry(&entry));
        last = Some(entry.to_vec());
    }
    if last.is_none() {
        return Ok(Progress::None);
    }
    let refused = Arc::new(Mutex::new(None));
    let told = Arc::clone(&refused);
    worker.commit(false, move |transaction| {
        *told.lock() = expire_all(transaction, &due);
        Ok(())
    })?;
    let refused = refused.lock().take();
    let is_kept = refused.is_some();
    if let Some(refused) = refused {
        log(worker, &refused, now);
    }
    worker.kept_until.replace(if is_kept { last } else { kept });
    Ok(Progress::Some)
}

/// Items that were kept because a hook refused their deletion.
struct Kept {
    items: usize,
    /// The table of the first, and its key.
    first: (String, String),
    /// Why it was kept.
    error: Error,
}

/// Logs which item was kept, and why. Each pass finds the same items, so not every pass logs them.
fn log(worker: &Worker, kept: &Kept, now: Timestamp) {
    if now < worker.next_kept_warning.get() {
        return;
    }
    worker.next_kept_warning.set(now.plus(BETWEEN_WARNINGS));
    let (table, key) = &kept.first;
    tracing::warn!(
        items = kept.items,
        table,
        key,
        error = %kept.error,
        "items whose time to live is over were kept, the first for this reason; they will be tried again"
    );
}

/// Deletes the items of expiry entries. Returns those that are kept, if any.
fn expire_all(transaction: &mut Transaction<'_>, due: &[(u64, TableId, ItemKey)]) -> Option<Kept> {
    let mut all_kept: Option<Kept> = None;
    for (seconds, table, key) in due {
        let Err(error) = expire(transaction, *seconds, *table, key) else {
            continue;
        };
        match &mut all_kept {
            Some(kept) => kept.items += 1,
            None => {
                let first = named(transaction, *table, key);
                all_kept = Some(Kept {
                    items: 1,
                    first,
                    error,
                });
            }
        }
    }
    all_kept
}

/// The table and the key of an item, for a log line.
fn named(transaction: &Transaction<'_>, id: TableId, key: &ItemKey) -> (String, String) {
    let Some(table) = transaction.catalog().by_id(id) else {
        return (format!("number {}", id.0), format!("{:02x?}", key.0));
    };
    let item = layout::key_attributes(&table.key, &key.0);
    let json = item.and_then(|item| serde_json::to_string(&item).ok());
    let key = json.unwrap_or_else(|| format!("{:02x?}", key.0));
    (table.name.clone(), key)
}

/// An expired item and its table.
type Expiring = (Arc<Table>, Arc<Image>);

/// The item of an expiry entry, if it still expires at that second, with its table.
pub(super) fn expiring(
    transaction: &Transaction<'_>,
    seconds: u64,
    table: TableId,
    key: &ItemKey,
) -> Result<Option<Expiring>, Error> {
    let Some(table) = transaction.catalog().by_id(table).cloned() else {
        return Ok(None);
    };
    // Items of a table that is being deleted are removed with it, without effects; so their expiry must have
    // none either.
    if matches!(table.state, State::Deleting(_)) {
        return Ok(None);
    }
    // The entry has the key under which the item is stored.
    let Some((ttl, item)) = table.ttl.as_ref().zip(transaction.lying(&table, key)?) else {
        return Ok(None);
    };
    let expires = expiry::seconds(&item, &ttl.attribute) == Some(seconds);
    Ok(expires.then_some((table, item)))
}

/// Deletes one item, unless it has been written or deleted since.
fn expire(
    transaction: &mut Transaction<'_>,
    seconds: u64,
    table: TableId,
    key: &ItemKey,
) -> Result<(), Error> {
    transaction.attempt(|transaction| {
        if let Some((table, item)) = expiring(transaction, seconds, table, key)? {
            let (key, item) = transaction.belonging(&table, key, item)?;
            RowChange::new(table, key, Some(item), None).write(transaction, Actor::TimeToLive)?;
        }
        // Also if the item was not deleted: the entry would be read again in every pass.
        transaction.delete_row(Space::Expiry, layout::expiry(seconds, table, key));
        Ok(())
    })
}
