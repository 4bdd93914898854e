//! The contents of the meta space, with which everything else is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::report::{Found, Reporter};
use super::tally::Count;
use crate::catalog::{Index, Stream, Table};
use crate::layout::{IndexId, StreamId, TableId};
use crate::{meta, tokens};

/// Definitions, notes and counts as stored.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tables: BTreeMap<TableId, Table>,
    /// Every index, with its table.
    pub(super) indexes: BTreeMap<IndexId, (TableId, Arc<Index>)>,
    pub(super) streams: BTreeMap<StreamId, Stream>,
    pub(super) counters: meta::Counters,
    pub(super) stats: BTreeMap<TableId, StoredCounts>,
    dropped_tables: BTreeSet<u32>,
    dropped_indexes: BTreeSet<u32>,
    stale_expiry: BTreeSet<u32>,
    /// A definition could not be read: rows without an owner may belong to it, and are not reported one by
    /// one.
    is_incomplete: bool,
}

/// A row of counts: the table's own, and those of each index.
pub(super) struct StoredCounts {
    pub(super) table: Count,
    pub(super) indexes: BTreeMap<IndexId, Count>,
}

/// The owner of a row.
pub(super) enum Owner<'k, T> {
    Known(&'k T),
    /// It was dropped; the row will be cleared.
    Dropped,
    /// Neither a table nor an index nor a stream.
    None,
}

impl Known {
    pub(super) fn read(snapshot: &dyn Snapshot, reporter: &mut Reporter<'_>) -> Result<Self, StoreError> {
        reporter.walking("definitions");
        let mut known = Known::default();
        for row in snapshot.range(
            Space::Meta,
            Bound::Unbounded,
            Bound::Unbounded,
            Direction::Forward,
        ) {
            let (key, value) = row?;
            reporter.row();
            if let Err(problem) = known.take(&key, &value, reporter) {
                reporter.found(Found::new(Kind::Unreadable, Space::Meta, &key, problem));
            }
        }
        known.check_ids(reporter);
        known.check_stats_owners(reporter);
        reporter.summary.tables = known.tables.len() as u64;
        reporter.summary.indexes = known.indexes.len() as u64;
        reporter.summary.streams = known.streams.len() as u64;
        Ok(known)
    }

    /// Adds one row, or says why it cannot be read.
    fn take(&mut self, key: &[u8], value: &[u8], reporter: &mut Reporter<'_>) -> Result<(), String> {
        if key == meta::COUNTERS_KEY {
            self.counters = meta::Counters::decode(value)
                .filter(|counters| counters.encode() == value)
                .ok_or("these are no counters")?;
            return Ok(());
        }
        if let Some(name) = key.strip_prefix(meta::TABLE_PREFIX) {
            return self.take_table(key, name, value, reporter);
        }
        if let Some(id) = key.strip_prefix(meta::STREAM_PREFIX) {
            return self.take_stream(key, id, value, reporter);
        }
        if let Some(id) = key.strip_prefix(meta::STATS_PREFIX) {
            let counts = stored_counts(value).ok_or("these are no counts")?;
            self.stats.insert(TableId(parse_id(id)?), counts);
            return Ok(());
        }
        if key.starts_with(meta::TOKEN_PREFIX) {
            reporter.summary.tokens += 1;
            tokens::parse(value)
                .filter(|_| value.len() == 16)
                .ok_or("this is no idempotency token")?;
            return Ok(());
        }
        if key.starts_with(meta::DOCUMENT_PREFIX) {
            // Its content is known only to the part of the program that stored it.
            meta::document_name(key).ok_or("this is no name of a document")?;
            return Ok(());
        }
        for (prefix, notes) in [
            (meta::DROPPED_TABLE_PREFIX, &mut self.dropped_tables),
            (meta::DROPPED_INDEX_PREFIX, &mut self.dropped_indexes),
            (meta::STALE_EXPIRY_PREFIX, &mut self.stale_expiry),
        ] {
            if let Some(id) = key.strip_prefix(prefix) {
                notes.insert(parse_id(id)?);
                return Ok(());
            }
        }
        Err("a row with this name means nothing".to_owned())
    }

    fn take_table(
        &mut self,
        key: &[u8],
        name: &[u8],
        value: &[u8],
        reporter: &mut Reporter<'_>,
    ) -> Result<(), String> {
        let table: Table = serde_json::from_slice(value).map_err(|error| {
            self.is_incomplete = true;
            format!("the table's definition cannot be read ({error}); its rows are not checked")
        })?;
        if table.name.as_bytes() != name {
            let what = format!("the definition is that of table {}", table.name);
            reporter.found(Found::new(Kind::Misplaced, Space::Meta, key, what));
        }
        for index in &table.indexes {
            let taken = self.indexes.insert(index.id, (table.id, Arc::clone(index)));
            if taken.is_some() {
                let what = format!("number {} is that of another index, too", index.id.0);
                let found = Found::new(Kind::WrongCounter, Space::Meta, key, what);
                reporter.found(found.table(&table.name).index(&index.name));
            }
        }
        if let Some(other) = self.tables.get(&table.id) {
            let what = format!("number {} is that of table {}, too", table.id.0, other.name);
            reporter.found(Found::new(Kind::WrongCounter, Space::Meta, key, what).table(&table.name));
        }
        self.tables.insert(table.id, table);
        Ok(())
    }

    fn take_stream(
        &mut self,
        key: &[u8],
        id: &[u8],
        value: &[u8],
        reporter: &mut Reporter<'_>,
    ) -> Result<(), String> {
        let stream: Stream = serde_json::from_slice(value).map_err(|error| {
            self.is_incomplete = true;
            format!("the stream's definition cannot be read ({error}); its records are not checked")
        })?;
        if parse_id(id)? != stream.id.0 {
            let what = format!("the definition is that of stream {}", stream.id.0);
            reporter.found(Found::new(Kind::Misplaced, Space::Meta, key, what).table(&stream.table_name));
        }
        self.streams.insert(stream.id, stream);
        Ok(())
    }

    /// Checks that every id was assigned by the counter, and only once.
    fn check_ids(&self, reporter: &mut Reporter<'_>) {
        let tables = self
            .tables
            .values()
            .map(|table| (table.id.0, table.name.as_str()));
        let indexes = self
            .indexes
            .values()
            .map(|(_, index)| (index.id.0, index.name.as_str()));
        let streams = self
            .streams
            .values()
            .map(|stream| (stream.id.0, stream.arn.as_str()));
        // A table's rows and its expiry entries are dropped under the same id, so one kind of note is enough.
        let notes = self.dropped_tables.iter().chain(&self.dropped_indexes);
        let dropped = notes.map(|id| (*id, "what was dropped"));
        let mut seen = BTreeSet::new();
        let mut wrong = |what: String| {
            reporter.found(Found::new(
                Kind::WrongCounter,
                Space::Meta,
                meta::COUNTERS_KEY,
                what,
            ));
        };
        for (id, name) in tables.chain(indexes).chain(streams).chain(dropped) {
            if id > self.counters.next_id {
                let last = self.counters.next_id;
                wrong(format!(
                    "{name} has number {id}, but {last} is the last that was given"
                ));
            }
            if !seen.insert(id) {
                wrong(format!("number {id} of {name} was given twice"));
            }
        }
        for stream in self.streams.values() {
            if let Some(fault) = stream.shards_fault(self.counters.sequence) {
                wrong(fault);
            }
            let last = stream.closed.map_or(stream.first_sequence, |(_, last)| last);
            if last.max(stream.first_sequence) > self.counters.sequence {
                let newest = self.counters.sequence;
                wrong(format!(
                    "{} speaks of change {last}, but {newest} is the newest",
                    stream.arn
                ));
            }
        }
    }

    fn check_stats_owners(&self, reporter: &mut Reporter<'_>) {
        for id in self.stats.keys() {
            if !self.tables.contains_key(id) && !self.is_incomplete {
                let key = meta::stats_key(*id);
                let what = "counts of a table that does not exist";
                reporter.found(Found::new(Kind::NoOwner, Space::Meta, &key, what));
            }
        }
    }

    pub(super) fn table(&self, id: TableId) -> Owner<'_, Table> {
        self.owner(self.tables.get(&id), self.dropped_tables.contains(&id.0))
    }

    pub(super) fn index(&self, id: IndexId) -> Owner<'_, (TableId, Arc<Index>)> {
        self.owner(self.indexes.get(&id), self.dropped_indexes.contains(&id.0))
    }

    pub(super) fn stream(&self, id: StreamId) -> Owner<'_, Stream> {
        self.owner(self.streams.get(&id), false)
    }

    /// Whether entries of this table may be left from an earlier time-to-live setting and not cleared yet.
    pub(super) fn has_stale_expiry(&self, id: TableId) -> bool {
        self.stale_expiry.contains(&id.0)
    }

    /// The table to which these expiry entries belong.
    pub(super) fn expiring_table(&self, id: TableId) -> Owner<'_, Table> {
        self.owner(self.tables.get(&id), self.has_stale_expiry(id))
    }

    fn owner<'k, T>(&self, known: Option<&'k T>, is_dropped: bool) -> Owner<'k, T> {
        match known {
            Some(known) => Owner::Known(known),
            None if is_dropped || self.is_incomplete => Owner::Dropped,
            None => Owner::None,
        }
    }
}

/// The id in the first four bytes of a key.
pub(super) fn leading_id(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*key.first_chunk()?))
}

fn parse_id(bytes: &[u8]) -> Result<u32, String> {
    let bytes = bytes
        .try_into()
        .map_err(|_| "the name does not end in a number")?;
    Ok(u32::from_be_bytes(bytes))
}

fn stored_counts(row: &[u8]) -> Option<StoredCounts> {
    let count = |(items, bytes)| Count { items, bytes };
    let (table, indexes) = meta::parse_stats(row)?;
    let indexes: BTreeMap<_, _> = indexes
        .into_iter()
        .map(|(id, stats)| (id, count(stats.read())))
        .collect();
    Some(StoredCounts {
        table: count(table.read()),
        indexes,
    })
}
