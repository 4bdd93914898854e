//! The newest changes of a table, read from the end of its log.

use std::ops::Bound;

use trestle_api::{Error, Record};
use trestle_store::{Direction, Space};

use crate::Engine;
use crate::horizon::Horizon;
use crate::layout;
use crate::ops::get_records::{record, recorded};
use crate::range::Range;
use crate::shared::internal;
use crate::stream_position::shard_id;

/// A change record and its shard.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentChange {
    /// The shard's id.
    pub shard: String,
    /// The record, as in GetRecords.
    pub record: Record,
}

impl Engine {
    /// The newest changes of a table that are within the retention of its stream, oldest first. A table without a stream has none.
    pub fn recent_changes(&self, table: &str, at_most: usize) -> Result<Vec<RecentChange>, Error> {
        let shared = self.shared();
        let catalog = shared.catalog.load();
        let table = catalog.table(table, shared.clock.now())?;
        let Some(stream) = table.stream.and_then(|id| catalog.streams.get(&id)) else {
            return Ok(Vec::new());
        };
        let snapshot = shared.store.snapshot();
        let mut rows = Vec::new();
        for shard in 0..stream.shard_count() {
            let range = Range {
                start: Bound::Included(layout::change(stream.id, shard, 0)),
                end: Bound::Included(layout::change(stream.id, shard, u64::MAX)),
            };
            let newest = range.rows(&*snapshot, Space::Changes, Direction::Reverse);
            for row in newest.take(at_most) {
                let (key, value) = row.map_err(internal)?;
                rows.push((layout::change_sequence(&key), shard, key, value));
            }
        }
        rows.sort_unstable_by_key(|(sequence, ..)| *sequence);
        let cutoff = shared.oldest_shown(Horizon::Retention);
        let mut changes = Vec::new();
        for (_, shard, key, value) in rows.split_off(rows.len().saturating_sub(at_most)) {
            let (sequence, recorded) = recorded(&key, &value)?;
            if recorded.time >= cutoff {
                changes.push(RecentChange {
                    shard: shard_id(stream, shard),
                    record: record(shared, stream, sequence, recorded),
                });
            }
        }
        Ok(changes)
    }
}
