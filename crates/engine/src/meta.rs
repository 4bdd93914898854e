//! The meta space: names of rows and their small encodings.

use std::sync::Arc;

use crate::catalog::{Stats, Table};
use crate::layout::{IndexId, StreamId, TableId};

/// The key of the counters.
pub(crate) const COUNTERS_KEY: &[u8] = b"counters";
/// The prefix of table definitions.
pub(crate) const TABLE_PREFIX: &[u8] = b"table/";
/// The prefix of stream definitions.
pub(crate) const STREAM_PREFIX: &[u8] = b"stream/";
/// The prefix of counts.
pub(crate) const STATS_PREFIX: &[u8] = b"stats/";
/// The prefix of documents.
pub(crate) const DOCUMENT_PREFIX: &[u8] = b"document/";
/// The prefix of idempotency tokens.
pub(crate) const TOKEN_PREFIX: &[u8] = b"token/";
/// The prefix of notes about dropped tables.
pub(crate) const DROPPED_TABLE_PREFIX: &[u8] = b"dropped/table/";
/// The prefix of notes about dropped indexes.
pub(crate) const DROPPED_INDEX_PREFIX: &[u8] = b"dropped/index/";

/// The prefix of notes about expiry entries that may be obsolete.
pub(crate) const STALE_EXPIRY_PREFIX: &[u8] = b"dropped/expiry/";

fn joined(prefix: &[u8], rest: &[u8]) -> Vec<u8> {
    [prefix, rest].concat()
}

/// A table's definition.
pub(crate) fn table_key(name: &str) -> Vec<u8> {
    joined(TABLE_PREFIX, name.as_bytes())
}

/// A stream's definition.
pub(crate) fn stream_key(id: StreamId) -> Vec<u8> {
    joined(STREAM_PREFIX, &id.0.to_be_bytes())
}

/// A table's counts.
pub(crate) fn stats_key(id: TableId) -> Vec<u8> {
    joined(STATS_PREFIX, &id.0.to_be_bytes())
}

/// A document of another part of the program.
pub(crate) fn document_key(name: &str) -> Vec<u8> {
    joined(DOCUMENT_PREFIX, name.as_bytes())
}

/// The name of the document with this key.
pub(crate) fn document_name(key: &[u8]) -> Option<&str> {
    let name = str::from_utf8(key.strip_prefix(DOCUMENT_PREFIX)?).ok()?;
    (!name.is_empty()).then_some(name)
}

/// An idempotency token.
pub(crate) fn token_key(token: &str) -> Vec<u8> {
    joined(TOKEN_PREFIX, token.as_bytes())
}

/// The note that a table's rows must be cleared.
pub(crate) fn dropped_table_key(id: TableId) -> Vec<u8> {
    joined(DROPPED_TABLE_PREFIX, &id.0.to_be_bytes())
}

/// The note that an index's rows must be cleared.
pub(crate) fn dropped_index_key(id: IndexId) -> Vec<u8> {
    joined(DROPPED_INDEX_PREFIX, &id.0.to_be_bytes())
}

/// The note that a table's expiry entries must be checked; its value is the entry to continue from.
pub(crate) fn stale_expiry_key(id: TableId) -> Vec<u8> {
    joined(STALE_EXPIRY_PREFIX, &id.0.to_be_bytes())
}

/// Counters that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// The last id given to a table, index or stream.
    pub(crate) next_id: u32,
    /// The sequence number of the newest change.
    pub(crate) sequence: u64,
}

impl Counters {
    /// The stored form: `next_id(4) sequence(8)`.
    pub(crate) fn encode(self) -> Vec<u8> {
        [&self.next_id.to_be_bytes()[..], &self.sequence.to_be_bytes()].concat()
    }

    /// Decodes the stored form. Both counters increase one by one: a number in the upper half means damage,
    /// and the next one could overflow.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let counters = Self {
            next_id: u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?),
            sequence: u64::from_be_bytes(bytes.get(4..12)?.try_into().ok()?),
        };
        let is_possible = counters.next_id <= u32::MAX / 2 && counters.sequence <= u64::MAX / 2;
        is_possible.then_some(counters)
    }
}

/// A table's counts after `deltas`: `items(8) bytes(8)` of the table, then `index(4) items(8) bytes(8)` of each index.
pub(crate) fn stats_row(table: &Table, deltas: &[(Arc<Stats>, i64, i64)]) -> Vec<u8> {
    let mut row = Vec::with_capacity(16 + 20 * table.indexes.len());
    let push = |row: &mut Vec<u8>, stats: &Arc<Stats>| {
        let (mut items, mut bytes) = stats.read();
        for (changed, more_items, more_bytes) in deltas {
            if Arc::ptr_eq(changed, stats) {
                items = items.wrapping_add_signed(*more_items);
                bytes = bytes.wrapping_add_signed(*more_bytes);
            }
        }
        row.extend_from_slice(&items.to_be_bytes());
        row.extend_from_slice(&bytes.to_be_bytes());
    };
    push(&mut row, &table.stats);
    for index in &table.indexes {
        row.extend_from_slice(&index.id.0.to_be_bytes());
        push(&mut row, &index.stats);
    }
    row
}

/// A table's counts and those of each of its indexes.
pub(crate) type StoredStats = (Arc<Stats>, Vec<(IndexId, Arc<Stats>)>);

/// Reads a table's counts: its own, and those of each index by id.
pub(crate) fn parse_stats(row: &[u8]) -> Option<StoredStats> {
    let number = |at: usize| Some(u64::from_be_bytes(row.get(at..at + 8)?.try_into().ok()?));
    let table = Stats::restored(number(0)?, number(8)?);
    let mut indexes = Vec::new();
    let mut at = 16;
    while at < row.len() {
        let id = IndexId(u32::from_be_bytes(row.get(at..at + 4)?.try_into().ok()?));
        indexes.push((id, Stats::restored(number(at + 4)?, number(at + 12)?)));
        at += 20;
    }
    Some((table, indexes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_could_overflow_are_damage() {
        let counters = Counters {
            next_id: 7,
            sequence: 1 << 40,
        };
        assert_eq!(Counters::decode(&counters.encode()), Some(counters));
        for damaged in [
            Counters {
                next_id: u32::MAX,
                ..counters
            },
            Counters {
                sequence: u64::MAX,
                ..counters
            },
        ] {
            assert_eq!(Counters::decode(&damaged.encode()), None);
        }
    }
}
