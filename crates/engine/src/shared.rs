//! The state that the committer, readers and background work share.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use trestle_api::{Error, Query};
use trestle_env::{Clock, SeldomLog, Signal};
use trestle_store::{Direction, Snapshot, Space, Store};

use crate::catalog::{Catalog, Table};
use crate::conflicts::Conflicts;
use crate::held_changes::HeldRegister;
use crate::holds::{HoldSource, StreamHold};
use crate::layout::TableId;
use crate::options::Options;
use crate::range::Range;
use crate::storage_reads::DoubleReads;
use crate::{OpenError, meta};

/// One open database.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    pub(crate) catalog: ArcSwap<Catalog>,
    pub(crate) conflicts: Arc<Conflicts>,
    /// The sequence number of the newest change that is durable.
    pub(crate) last_sequence: AtomicU64,
    /// Rings after every commit that recorded changes.
    pub(crate) changes: Arc<Signal>,
    pub(crate) counters_at_start: meta::Counters,
    /// Returns which records are needed beyond the retention.
    pub(crate) hold_source: OnceLock<Arc<dyn HoldSource>>,
    /// How much is held beyond the retention.
    pub(crate) held: HeldRegister,
    /// How often former places were searched, by operation.
    pub(crate) double_reads: DoubleReads,
}

impl Shared {
    /// Reads the catalog from storage.
    pub(crate) fn load(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let counters = match store.get(Space::Meta, meta::COUNTERS_KEY)? {
            Some(row) => {
                let counters = meta::Counters::decode(&row);
                counters.ok_or_else(|| OpenError::damaged(meta::COUNTERS_KEY, "no counters"))?
            }
            None => meta::Counters::default(),
        };
        let catalog = load_catalog(&*store.snapshot())?;
        Ok(Self {
            store,
            clock,
            options,
            catalog: ArcSwap::from_pointee(catalog),
            conflicts: Arc::default(),
            last_sequence: AtomicU64::new(counters.sequence),
            changes: Arc::default(),
            counters_at_start: counters,
            hold_source: OnceLock::new(),
            held: HeldRegister::default(),
            double_reads: DoubleReads::default(),
        })
    }
}

impl Shared {
    /// Which change records are needed beyond the retention.
    pub(crate) fn holds(&self) -> Result<Vec<StreamHold>, Error> {
        let read = |query: Query| crate::ops::query::run(self, &query);
        self.hold_source
            .get()
            .map_or(Ok(Vec::new()), |source| source.holds(&read))
    }

    /// Repeats a read until the layout did not change during it: otherwise it would have searched the old
    /// places.
    pub(crate) fn in_one_layout<T>(&self, read: impl Fn(&Catalog) -> Result<T, Error>) -> Result<T, Error> {
        loop {
            let catalog = self.catalog.load();
            let answer = read(&catalog)?;
            if catalog.has_hook_of(&self.catalog.load()) {
                return Ok(answer);
            }
        }
    }
}

/// The definitions that a snapshot holds.
pub(crate) fn load_catalog(snapshot: &dyn Snapshot) -> Result<Catalog, OpenError> {
    let rows = |prefix: &[u8]| Range::prefix(prefix.to_vec()).rows(snapshot, Space::Meta, Direction::Forward);
    let mut catalog = Catalog::default();
    let mut stats = HashMap::new();
    for row in rows(b"stats/") {
        let (key, value) = row?;
        let id = key
            .get(6..10)
            .and_then(|id| Some(TableId(u32::from_be_bytes(id.try_into().ok()?))));
        let parsed = meta::parse_stats(&value);
        let (Some(id), Some(parsed)) = (id, parsed) else {
            return Err(OpenError::damaged(&key, "no counts of a table"));
        };
        stats.insert(id, parsed);
    }
    for row in rows(meta::TABLE_PREFIX) {
        let (key, value) = row?;
        let table = serde_json::from_slice(&value);
        let mut table: Table = table.map_err(|error| OpenError::damaged(&key, error))?;
        if let Some((of_table, of_indexes)) = stats.remove(&table.id) {
            table.stats = of_table;
            for index in &mut table.indexes {
                if let Some((_, counts)) = of_indexes.iter().find(|(id, _)| *id == index.id) {
                    Arc::make_mut(index).stats = Arc::clone(counts);
                }
            }
        }
        catalog.tables.insert(table.name.clone(), Arc::new(table));
    }
    for row in rows(meta::STREAM_PREFIX) {
        let (key, value) = row?;
        let stream = serde_json::from_slice(&value);
        let mut stream: crate::catalog::Stream = stream.map_err(|error| OpenError::damaged(&key, error))?;
        stream.count_bytes();
        catalog.streams.insert(stream.id, Arc::new(stream));
    }
    Ok(catalog)
}

/// Limits the log, because a damaged row may be requested again and again.
static STORAGE_FAILURES: SeldomLog = SeldomLog::every(Duration::from_secs(1));

/// A storage failure as the client sees it: the log has the details.
pub(crate) fn internal(error: impl std::fmt::Display) -> Error {
    if let Some(left_out) = STORAGE_FAILURES.admit("storage") {
        tracing::error!(%error, left_out, "storage failed");
    }
    Error::internal(error.to_string())
}
