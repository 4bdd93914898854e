//! The mechanism beneath all effects: rows as they were and as they will be.
//!
//! An effect only reads and writes rows in the ledger. A written row waits until it is settled: its keys are
//! derived, and its own effects run, for the change from the state that was settled last to the present one.
//! When no row waits, the rows that differ from storage are those that follow from the write. So the order of
//! effects does not matter, a row that several effects change is one row, and two entities that update each
//! other stop as soon as neither changes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_expr::{KeyOp, KeyTerm};
use trestle_hook::{By, Companion, RowQuery, Rows};
use trestle_item::{AttributeValue, Item, key};

use super::Stopped;
use super::copy_note::CopyNote;
use super::large_values::Values;
use super::lookup::Lookup;
use super::orphans::{self, OrphanCount};
use super::own_rows::OwnRows;
use crate::attribute::said;
use crate::entity::Entity;
use crate::model::{Model, Projection, Table};
use crate::refusal::Refusal;

/// The most rows that are settled for one write besides its own. It stops models whose effects cause each
/// other endlessly.
pub(super) const SETTLED_MAX: usize = 10_000;

/// Up to so many rows, a query examines all of them; with more, it uses a lookup.
const SCANNED_MAX: usize = 64;

/// A row in the ledger.
pub(super) type At = usize;

pub(super) struct Ledger<'m, 'r> {
    pub(super) model: &'m Model,
    pub(super) now: Timestamp,
    pub(super) by: By,
    /// Whether rows keep the time of their last change.
    pub(super) keeps_times: bool,
    pub(super) rows: &'r dyn Rows,
    entries: Vec<Entry>,
    /// By table and bytes of the key.
    places: HashMap<(usize, Vec<u8>), At>,
    lookup: Lookup,
    waiting: VecDeque<At>,
    settled: usize,
    /// How many rows belong to the request.
    roots: usize,
    /// The root whose consequences are being computed.
    cause: At,
    orphans: OwnRows<OrphanCount>,
    notes: OwnRows<CopyNote>,
    pub(super) values: Values,
}

struct Entry {
    table: usize,
    key: Item,
    stored: Option<Arc<Item>>,
    /// The state whose effects have been applied.
    settled: Option<Arc<Item>>,
    current: Option<Arc<Item>>,
    /// The position of the entity that `current` belongs to, if known.
    entity: Option<usize>,
    waits: bool,
    is_root: bool,
    /// Whether it is as a client gave it: its index keys are still to be compared with those that follow from
    /// its attributes.
    is_given: bool,
    /// Whether it is a root that is still to be settled as the client wrote it. A refusal of it concerns the
    /// root itself.
    is_own: bool,
    /// The root that it follows from.
    cause: At,
}

/// A row to settle.
pub(super) struct Waiting {
    pub(super) at: At,
    pub(super) table: usize,
    pub(super) old: Option<Arc<Item>>,
    pub(super) new: Option<Arc<Item>>,
    /// The position of the entity that `new` belongs to, if known.
    pub(super) entity: Option<usize>,
}

impl<'m, 'r> Ledger<'m, 'r> {
    pub(super) fn new(model: &'m Model, rows: &'r dyn Rows, now: Timestamp, by: By) -> Self {
        Ledger {
            model,
            now,
            by,
            keeps_times: matches!(by, By::Touch | By::SecondLook),
            rows,
            entries: Vec::new(),
            places: HashMap::new(),
            lookup: Lookup::default(),
            waiting: VecDeque::new(),
            settled: 0,
            roots: 0,
            cause: 0,
            orphans: OwnRows::default(),
            notes: OwnRows::default(),
            values: Values::default(),
        }
    }

    /// The root whose consequences were computed last: the reason if they are refused.
    pub(super) fn cause(&self) -> At {
        self.cause
    }

    /// Everything written from here on follows from this root.
    pub(super) fn blame(&mut self, root: At) {
        self.cause = root;
    }

    /// Makes a row part of the request. Roots are entered first.
    pub(super) fn make_root(&mut self, at: At) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.is_root = true;
            entry.cause = at;
            self.roots += 1;
        }
    }

    /// Writes a root as the client gave it. `entity` is its recognised entity.
    pub(super) fn give(&mut self, at: At, entity: Option<&Entity>, item: Option<Arc<Item>>) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.is_own = item.is_some();
            entry.entity = entity.filter(|_| item.is_some()).map(|entity| entity.position);
            entry.current = item;
            entry.is_given = true;
            self.lookup.changed(at);
        }
    }

    /// Whether a row is as the client gave it; from here on, it is as the model requires.
    pub(super) fn take_given(&mut self, at: At) -> bool {
        let entry = self.entries.get_mut(at);
        entry.is_some_and(|entry| std::mem::take(&mut entry.is_given))
    }

    pub(super) fn is_root(&self, at: At) -> bool {
        self.entries.get(at).is_some_and(|entry| entry.is_root)
    }

    /// A row as it was when its effects were last applied.
    pub(super) fn settled(&self, at: At) -> Option<Arc<Item>> {
        self.entries.get(at).and_then(|entry| entry.settled.clone())
    }

    /// A row's table and the bytes of its key.
    pub(super) fn place(&self, at: At) -> Option<(usize, Vec<u8>)> {
        let entry = self.entries.get(at)?;
        Some((entry.table, bytes(&entry.key)))
    }

    /// A row that waits to be settled, without taking it from the queue.
    pub(super) fn waiting(&self, at: At) -> Option<Waiting> {
        self.entries.get(at).map(|entry| Waiting {
            at,
            table: entry.table,
            old: entry.settled.clone(),
            new: entry.current.clone(),
            entity: entry.entity,
        })
    }

    /// Stores a row as the model requires it, before its effects run.
    pub(super) fn prepare(&mut self, at: At, item: Arc<Item>) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.current = Some(item);
            self.lookup.changed(at);
        }
    }

    /// Enters a row with its stored state.
    pub(super) fn enter(&mut self, table: usize, key: Item, stored: Option<Arc<Item>>) -> At {
        let at = self.entries.len();
        self.places.insert((table, bytes(&key)), at);
        self.entries.push(Entry {
            table,
            key,
            settled: stored.clone(),
            current: stored.clone(),
            stored,
            entity: None,
            waits: false,
            is_root: false,
            is_given: false,
            is_own: false,
            cause: self.cause,
        });
        self.lookup.changed(at);
        at
    }

    /// The row of an entity with this key.
    pub(super) fn find(&mut self, entity: &Entity, key: Item) -> Result<At, Stopped> {
        if let Some(at) = self.places.get(&(entity.table, bytes(&key))) {
            return Ok(*at);
        }
        let stored = match self.model.known_table(entity.table) {
            Ok(table) => self.rows.get(&table.table_name, &key).map_err(Stopped::Rows)?,
            Err(defect) => return Err(defect.into()),
        };
        Ok(self.enter(entity.table, key, stored))
    }

    /// The entity of a row, if it is one.
    pub(super) fn entity_of(&self, table: usize, row: &Item) -> Option<&'m Entity> {
        let table = self.model.tables.get(table)?;
        self.model.recognise_in(table, row).ok().flatten()
    }

    /// The name of a row's entity for a message; the name of its table if it has none.
    pub(super) fn entity_at(&self, at: At) -> String {
        let Some(entry) = self.entries.get(at) else {
            return String::new();
        };
        let row = entry.current.as_deref().or(entry.settled.as_deref());
        let entity = row.and_then(|row| self.entity_of(entry.table, row));
        let table = || self.model.tables.get(entry.table).map(|table| table.name.clone());
        entity
            .map(|entity| entity.name.clone())
            .or_else(table)
            .unwrap_or_default()
    }

    /// The change of a row, for a message: `create the row of entity team with id "a"`.
    pub(super) fn consequence(&self, at: At) -> String {
        let Some(entry) = self.entries.get(at) else {
            return String::new();
        };
        let verb = match (&entry.settled, &entry.current) {
            (None, Some(_)) => "create",
            (Some(_), None) => "remove",
            _ => "change",
        };
        let row = entry.current.as_deref().or(entry.settled.as_deref());
        let entity = row.and_then(|row| self.entity_of(entry.table, row));
        let identity = entity.and_then(|entity| entity.identify(&entry.key));
        let with = said(identity.as_ref().unwrap_or(&entry.key));
        format!("{verb} the row of entity {} with {with}", self.entity_at(at))
    }

    /// A row as it will be.
    pub(super) fn row(&self, at: At) -> Option<Arc<Item>> {
        self.entries.get(at).and_then(|entry| entry.current.clone())
    }

    pub(super) fn key(&self, at: At) -> Option<&Item> {
        self.entries.get(at).map(|entry| &entry.key)
    }

    /// Writes a row of an entity. Its key and tag need not be given. With both, it cannot belong to another
    /// entity.
    pub(super) fn put(&mut self, entity: &Entity, at: At, item: impl Into<Arc<Item>>) {
        let mut item = item.into();
        if let Some(entry) = self.entries.get(at) {
            for (name, value) in &entry.key {
                if item.get(name) != Some(value) {
                    Arc::make_mut(&mut item).insert(name.clone(), value.clone());
                }
            }
        }
        let table = self.model.tables.get(entity.table);
        if let Some(tag) = table.and_then(|table| table.entity_attribute.as_ref())
            && item.get(tag).and_then(AttributeValue::as_s) != Some(&entity.tag)
        {
            Arc::make_mut(&mut item).insert(tag.clone(), entity.tag.as_str());
        }
        self.write(at, Some(entity.position), Some(item));
    }

    pub(super) fn remove(&mut self, at: At) {
        self.write(at, None, None);
    }

    fn write(&mut self, at: At, entity: Option<usize>, item: Option<Arc<Item>>) {
        let Some(entry) = self.entries.get_mut(at) else {
            debug_assert!(false, "no row {at} in the ledger");
            return;
        };
        if entry.current == item {
            return;
        }
        entry.current = item;
        entry.entity = entity;
        self.lookup.changed(at);
        self.wait(at);
    }

    /// Queues a row to be settled, whether or not it was written.
    pub(super) fn wait(&mut self, at: At) {
        if let Some(entry) = self.entries.get_mut(at)
            && !entry.waits
        {
            entry.waits = true;
            if !entry.is_own {
                entry.cause = self.cause;
            }
            self.waiting.push_back(at);
        }
    }

    /// The next row to settle.
    pub(super) fn next(&mut self) -> Result<Option<Waiting>, Refusal> {
        let Some(at) = self.waiting.pop_front() else {
            return Ok(None);
        };
        self.settled += 1;
        if self.settled > SETTLED_MAX + self.roots {
            return Err(Refusal::TooMuchFollows {
                entity: self.entity_at(self.cause),
                rows: SETTLED_MAX,
            });
        }
        if let Some(entry) = self.entries.get_mut(at) {
            entry.waits = false;
            entry.is_own = false;
            self.cause = entry.cause;
        }
        Ok(self.waiting(at))
    }

    /// Marks the effects of a row's present state as applied.
    pub(super) fn settle(&mut self, at: At, item: Option<Arc<Item>>) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.settled.clone_from(&item);
            entry.current = item;
            self.lookup.changed(at);
        }
    }

    /// The rows that a query finds, as they will be; unordered.
    pub(super) fn query(&mut self, table: usize, query: &RowQuery) -> Result<Vec<At>, Stopped> {
        let known = self.model.known_table(table)?;
        let whole = holds_whole_rows(known, query.index.as_deref());
        for row in self.rows.query(query).map_err(Stopped::Rows)? {
            let key = key_in(known, &row);
            if self.places.contains_key(&(table, bytes(&key))) {
                continue;
            }
            let stored = if whole {
                Some(Arc::new(row))
            } else {
                self.rows.get(&known.table_name, &key).map_err(Stopped::Rows)?
            };
            self.enter(table, key, stored);
        }
        Ok(self.found(table, query))
    }

    /// The rows in the ledger that a query finds, as they will be.
    fn found(&mut self, table: usize, query: &RowQuery) -> Vec<At> {
        let entries = &self.entries;
        let row = |at: At| {
            let entry = entries.get(at).filter(|entry| entry.table == table)?;
            entry.current.as_deref()
        };
        let candidates = match entries.len() > SCANNED_MAX {
            true => self
                .lookup
                .candidates(table, query, |at, attribute| row(at)?.get(attribute)),
            false => None,
        };
        let mut candidates = candidates.unwrap_or_else(|| (0..entries.len()).collect());
        candidates.retain(|at| row(*at).is_some_and(|row| finds(query, row)));
        candidates
    }

    /// The orphan count of a missing row of an entity.
    pub(super) fn orphan_count(
        &mut self,
        entity: &Entity,
        attribute: &str,
        row: &Item,
    ) -> Result<&mut OrphanCount, Stopped> {
        orphans::count(&mut self.orphans, self.model, self.rows, entity, attribute, row)
    }

    /// Notes that copies are to be updated. Every write gives the note another stamp.
    pub(super) fn note(&mut self, note: CopyNote) -> Result<(), Stopped> {
        let now = self.now.as_millis();
        let (note, is_first) = self.notes.row(note, self.rows)?;
        if is_first {
            note.stamp = now.max(note.stamp + 1);
        }
        Ok(())
    }

    /// Whether a query finds a row, in storage or among those of this write.
    pub(super) fn finds_any(&mut self, table: usize, query: RowQuery) -> Result<bool, Stopped> {
        if !self.found(table, &query).is_empty() {
            return Ok(true);
        }
        let first = RowQuery {
            limit: Some(1),
            ..query
        };
        let stored = self.rows.query(&first).map_err(Stopped::Rows)?;
        Ok(!stored.is_empty())
    }

    /// What follows from the first rows, the roots: every other row that has changed.
    pub(super) fn companions(self, roots: usize) -> Vec<Companion> {
        let model = self.model;
        let changed = self
            .entries
            .into_iter()
            .skip(roots)
            .filter(|entry| entry.current != entry.stored);
        let companions = changed.filter_map(|entry| {
            let Entry {
                table, key, current, ..
            } = entry;
            Some(Companion {
                table: model.tables.get(table)?.table_name.clone(),
                key,
                item: current,
            })
        });
        companions
            .chain(self.orphans.companions())
            .chain(self.notes.companions())
            .chain(self.values.companions())
            .collect()
    }
}

/// The key of a row.
pub(super) fn key_in(table: &Table, row: &Item) -> Item {
    let attributes = table.key.attributes();
    let pairs = attributes.filter_map(|key| Some((key.name.clone(), row.get(&key.name)?.clone())));
    pairs.collect()
}

fn bytes(row_key: &Item) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    for (name, value) in row_key {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        // A value that is not a key finds nothing; storage reports it.
        let _ = key::encode_component(value, &mut bytes);
    }
    bytes
}

fn holds_whole_rows(table: &Table, index: Option<&str>) -> bool {
    let index = index.and_then(|name| table.index(name));
    index.is_none_or(|index| index.projection == Projection::All)
}

fn finds(query: &RowQuery, row: &Item) -> bool {
    query.key_condition.terms.iter().all(|term| holds(term, row))
        && query.filter.as_ref().is_none_or(|filter| filter.holds(row))
}

fn holds(term: &KeyTerm, row: &Item) -> bool {
    let Some(value) = row.get(&term.attribute) else {
        return false;
    };
    let is = |wanted: &AttributeValue, accepts: fn(std::cmp::Ordering) -> bool| {
        value.compare(wanted).is_some_and(accepts)
    };
    match &term.op {
        KeyOp::Eq(wanted) => value == wanted,
        KeyOp::Lt(wanted) => is(wanted, std::cmp::Ordering::is_lt),
        KeyOp::Le(wanted) => is(wanted, std::cmp::Ordering::is_le),
        KeyOp::Gt(wanted) => is(wanted, std::cmp::Ordering::is_gt),
        KeyOp::Ge(wanted) => is(wanted, std::cmp::Ordering::is_ge),
        KeyOp::Between(low, high) => {
            is(low, std::cmp::Ordering::is_ge) && is(high, std::cmp::Ordering::is_le)
        }
        KeyOp::BeginsWith(AttributeValue::S(beginning)) => {
            value.as_s().is_some_and(|text| text.starts_with(beginning))
        }
        KeyOp::BeginsWith(AttributeValue::B(beginning)) => {
            value.as_b().is_some_and(|bytes| bytes.starts_with(beginning))
        }
        KeyOp::BeginsWith(_) => false,
    }
}
