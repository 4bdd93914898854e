//! How much is kept beyond the retention, and what is given up when it is too much.
//!
//! The janitor counts a record once, when it has become older than the retention and is still needed, and
//! subtracts it when it is trimmed. After a start it counts the stored records in steps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use trestle_env::Timestamp;

use crate::catalog::Catalog;
use crate::layout::StreamId;

/// Change records that are older than the retention and kept because routes need them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldChanges {
    /// By table, in the order of their names; only tables with held records.
    pub tables: Vec<HeldTable>,
    /// Whether everything has been counted, which takes a moment after a start.
    pub is_counted: bool,
    /// The most bytes that are held.
    pub bytes_max: u64,
}

/// The held records of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldTable {
    /// The table's name.
    pub table: String,
    /// Change records.
    pub records: u64,
    /// Their bytes, as they are stored.
    pub bytes: u64,
}

impl HeldChanges {
    /// The bytes of all tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }
}

/// The held records of a shard that have been counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldCount {
    /// Records before this number have been counted, or were removed.
    pub(crate) next: u64,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl HeldCount {
    /// Subtracts counted records that were removed.
    pub(crate) fn take_off(&mut self, gone: HeldCount) {
        self.records = self.records.saturating_sub(gone.records);
        self.bytes = self.bytes.saturating_sub(gone.bytes);
    }
}

/// The janitor's counts, for readers.
#[derive(Debug, Default)]
pub(crate) struct HeldRegister {
    held: Mutex<Arc<HeldChanges>>,
    given_up_before: AtomicU64,
}

impl HeldRegister {
    pub(crate) fn read(&self) -> Arc<HeldChanges> {
        Arc::clone(&self.held.lock())
    }

    pub(crate) fn set(&self, held: HeldChanges) {
        *self.held.lock() = Arc::new(held);
    }

    /// Records before this time must be given up by the routes that hold them.
    pub(crate) fn given_up_before(&self) -> Timestamp {
        Timestamp::from_millis(self.given_up_before.load(Ordering::Acquire))
    }

    /// Sets the time, which never decreases: what was given up stays so.
    pub(crate) fn give_up_before(&self, time: Timestamp) {
        self.given_up_before.fetch_max(time.as_millis(), Ordering::AcqRel);
    }
}

/// The counts of shards, by table. Shards of removed streams are dropped.
pub(crate) fn by_table(
    counts: &mut BTreeMap<(StreamId, u16), HeldCount>,
    catalog: &Catalog,
) -> Vec<HeldTable> {
    counts.retain(|(stream, _), _| catalog.streams.contains_key(stream));
    let mut tables: BTreeMap<&str, HeldTable> = BTreeMap::new();
    for ((id, _), count) in counts.iter().filter(|(_, count)| count.records > 0) {
        let Some(stream) = catalog.streams.get(id) else {
            continue;
        };
        let table = tables.entry(&stream.table_name).or_insert_with(|| HeldTable {
            table: stream.table_name.clone(),
            ..HeldTable::default()
        });
        table.records += count.records;
        table.bytes += count.bytes;
    }
    tables.into_values().collect()
}
