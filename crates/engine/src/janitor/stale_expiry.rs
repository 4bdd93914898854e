//! Clears expiry entries that no item needs: those of dropped tables, and those of a time-to-live setting
//! that was switched off. Entries are ordered by time, not by table, so the walk reads all of them.

use std::ops::Bound;

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::expire::expiring;
use super::{Progress, Worker};
use crate::layout;
use crate::meta;
use crate::range::Range;
use crate::shared::internal;

/// Entries read per round.
const ENTRIES_PER_ROUND: usize = 5000;

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let snapshot = worker.shared.store.snapshot();
    let notes = Range::prefix(meta::STALE_EXPIRY_PREFIX.to_vec());
    let Some(note) = notes.rows(&*snapshot, Space::Meta, Direction::Forward).next() else {
        return Ok(Progress::None);
    };
    let (note, from) = note.map_err(internal)?;
    let (note, from) = (note.to_vec(), from.to_vec());
    let owner = layout::behind(&note, meta::STALE_EXPIRY_PREFIX.len(), "stale expiry entries")?;

    let mut suspects = Vec::new();
    let mut last = None;
    let entries = snapshot.range(
        Space::Expiry,
        Bound::Excluded(&from),
        Bound::Unbounded,
        Direction::Forward,
    );
    for (at, entry) in entries.take(ENTRIES_PER_ROUND).enumerate() {
        let (entry, _) = entry.map_err(internal)?;
        if entry.get(8..12) == Some(owner) {
            suspects.extend(layout::parse_expiry(&entry));
        }
        last = Some(entry.to_vec()).filter(|_| at + 1 == ENTRIES_PER_ROUND);
    }
    worker.commit(false, move |transaction| {
        for (seconds, table, key) in suspects {
            // The setting may have been switched on again since.
            if expiring(transaction, seconds, table, &key)?.is_none() {
                transaction.delete_row(Space::Expiry, layout::expiry(seconds, table, &key));
            }
        }
        // If the note was written again meanwhile, another walk is needed.
        if transaction.row(Space::Meta, &note)? == Some(from) {
            match last {
                Some(entry) => transaction.put_row(Space::Meta, note, entry),
                None => transaction.delete_row(Space::Meta, note),
            }
        }
        Ok(())
    })?;
    Ok(Progress::Some)
}
