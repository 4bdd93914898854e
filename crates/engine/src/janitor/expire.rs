//! Deletes items whose time to live is over.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::catalog::Table;
use crate::expiry;
use crate::image::Image;
use crate::layout::{self, ItemKey, TableId};
use crate::shared::internal;
use crate::transaction::{Actor, Transaction};

/// Items deleted per commit.
const ITEMS_PER_COMMIT: usize = 100;
/// Items that expired longer ago are left alone, as DynamoDB does: they are old data, not expiring data.
const IGNORED_AFTER: Duration = Duration::from_secs(5 * 365 * 24 * 60 * 60);

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let now = worker.shared.clock.now();
    let start = now.minus(IGNORED_AFTER).as_secs().to_be_bytes();
    // An item is expired once the second it names has passed.
    let end = now.as_secs().to_be_bytes();
    let snapshot = worker.shared.store.snapshot();
    let mut due = Vec::new();
    let rows = snapshot.range(
        Space::Expiry,
        Bound::Included(&start),
        Bound::Excluded(&end),
        Direction::Forward,
    );
    for row in rows.take(ITEMS_PER_COMMIT) {
        let (entry, _) = row.map_err(internal)?;
        due.extend(layout::parse_expiry(&entry));
    }
    if due.is_empty() {
        return Ok(Progress::None);
    }
    worker.commit(false, move |transaction| {
        due.into_iter()
            .try_for_each(|(seconds, table, key)| expire(transaction, seconds, table, &key))
    })?;
    Ok(Progress::Some)
}

/// An item whose time is over, and its table.
type Expiring = (Arc<Table>, Arc<Image>);

/// The item behind an expiry entry, if it still expires at that second, with its table.
pub(super) fn expiring(
    transaction: &Transaction<'_>,
    seconds: u64,
    table: TableId,
    key: &ItemKey,
) -> Result<Option<Expiring>, Error> {
    let Some(table) = transaction.catalog().by_id(table).cloned() else {
        return Ok(None);
    };
    let Some((ttl, item)) = table.ttl.as_ref().zip(transaction.item(&table, key)?) else {
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
    if let Some((table, item)) = expiring(transaction, seconds, table, key)? {
        transaction.write(&table, key, Some(&item), None, Actor::TimeToLive);
    }
    // Also where the item was not deleted: an entry that nobody else removes would be looked at forever.
    transaction.delete_row(Space::Expiry, layout::expiry(seconds, table, key));
    Ok(())
}
