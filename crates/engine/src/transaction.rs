//! The staged writes of one request: every changed item is staged with its index rows, change record, expiry
//! entry and counts, so that they commit together or not at all.

mod rows;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_hook::Hook;
use trestle_item::{AttributeValue, codec, size};
use trestle_store::{Batch, Bytes, Space};

use crate::catalog::{Catalog, Index, Stats, Table};
use crate::change_log::{self, Change};
use crate::commit::{Group, caught};
use crate::former::AtPlace;
use crate::image::Image;
use crate::layout::{self, ItemKey, StreamId, TableId};
use crate::preview::{Preview, PreviewedRow};
use crate::shared::internal;
use crate::{expiry, former, meta};

/// The origin of a write, as shown in the change record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A client's request.
    Client,
    /// The expiry of an item's time to live.
    TimeToLive,
    /// The move of a row to its own place; not a change by the application.
    Migration,
    /// A reindex that raises a row's version attribute; not a change by the application.
    Touch,
}

/// What was written for one item besides the item: bytes per index, for capacity accounting.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Each index whose rows changed, with the size of each row put or removed.
    pub(crate) indexes: Vec<(Arc<Index>, Vec<usize>)>,
}

/// A request's view of the database and its staged writes.
pub(crate) struct Transaction<'g> {
    group: &'g mut Group,
    staged: Staged,
    /// Rows that were read from storage for a hook: the hook's result for a row applies to the row as it was
    /// read.
    read: RefCell<HashMap<Vec<u8>, Option<Arc<Image>>>>,
    /// Rows that would change, if this is only a preview.
    preview: Option<Preview>,
}

/// What a request has staged so far.
#[derive(Clone)]
struct Staged {
    catalog: Arc<Catalog>,
    batch: Batch,
    items: HashMap<Vec<u8>, Option<Arc<Image>>>,
    stats: Vec<(Arc<Stats>, i64, i64)>,
    touched: Vec<Arc<Table>>,
    counters: meta::Counters,
    /// How many companions were written.
    companions: usize,
}

impl Staged {
    /// Nothing yet, over what a group has staged.
    fn over(group: &Group) -> Self {
        Self {
            catalog: Arc::clone(&group.catalog),
            counters: group.counters,
            batch: Batch::new(),
            items: HashMap::new(),
            stats: Vec::new(),
            touched: Vec::new(),
            companions: 0,
        }
    }
}

impl<'g> Transaction<'g> {
    pub(crate) fn new(group: &'g mut Group) -> Self {
        Self {
            staged: Staged::over(group),
            group,
            read: RefCell::default(),
            preview: None,
        }
    }

    /// Runs many independent writes, each as a request of its own: a refused write drops only what it staged.
    /// Successful writes are kept, even if this transaction fails later; it must not have staged anything
    /// before. Unlike [`Self::attempt`], the cost of a write does not grow with the number of writes before
    /// it.
    pub(crate) fn each<T, U>(
        &mut self,
        writes: impl IntoIterator<Item = T>,
        mut work: impl FnMut(&mut Transaction<'_>, T) -> Result<U, Error>,
    ) -> Vec<Result<U, Error>> {
        debug_assert!(
            self.staged.batch.is_empty(),
            "writes of their own come after something is staged"
        );
        let results = writes.into_iter().map(|write| {
            let mut own = Transaction::new(self.group);
            let result = caught(|| work(&mut own, write));
            if result.is_ok() {
                own.keep();
            }
            result
        });
        let results = results.collect();
        self.staged = Staged::over(self.group);
        self.read.get_mut().clear();
        results
    }

    /// Runs work and returns the rows it would change, without keeping the changes. This transaction must not
    /// have staged anything before.
    pub(crate) fn preview(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Vec<PreviewedRow>, Error> {
        debug_assert!(
            self.staged.batch.is_empty(),
            "a preview would take back what is staged"
        );
        self.preview = Some(Preview::default());
        let result = caught(|| work(self));
        self.staged = Staged::over(self.group);
        let preview = self.preview.take().unwrap_or_default();
        result.map(|()| preview.changed())
    }

    /// Passes everything staged to the group.
    pub(crate) fn keep(self) {
        let Self { group, staged, .. } = self;
        group.catalog = staged.catalog;
        group.counters = staged.counters;
        group.bytes += staged.batch.size_bytes();
        group.batch.append(staged.batch);
        group.items.extend(staged.items);
        group.stats.extend(staged.stats);
        group.touched.extend(staged.touched);
    }

    /// Runs one of several independent writes: a refused write drops only what it staged.
    pub(crate) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.staged.catalog.hook.is_none() {
            return work(self); // A write refuses before it stages anything; only what follows from it can refuse later.
        }
        let before = self.staged.clone();
        self.staged.companions = 0;
        let result = caught(|| work(self));
        if result.is_err() {
            self.staged = before;
        }
        result
    }

    /// Counts a companion, and returns how many there are.
    pub(crate) fn count_companion(&mut self) -> usize {
        self.staged.companions += 1;
        self.staged.companions
    }

    /// The time of all effects of this request.
    pub(crate) fn now(&self) -> Timestamp {
        self.group.shared.clock.now()
    }

    /// The state shared by the whole engine.
    pub(crate) fn shared(&self) -> &Arc<crate::shared::Shared> {
        &self.group.shared
    }

    /// The catalog with this request's own changes.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.staged.catalog
    }

    /// The table for a data operation.
    pub(crate) fn table(&self, name_or_arn: &str) -> Result<Arc<Table>, Error> {
        self.staged.catalog.table(name_or_arn, self.now()).cloned()
    }

    /// The newest state of the item that belongs at `key`.
    pub(crate) fn item(&self, table: &Table, key: &ItemKey) -> Result<Option<Arc<Image>>, Error> {
        let found = former::find(self, table, key)?;
        Ok(found.map(|found| found.image))
    }

    /// The row stored under a key.
    pub(crate) fn lying(&self, table: &Table, key: &ItemKey) -> Result<Option<Arc<Image>>, Error> {
        Ok(self.look_at(table, key)?.row)
    }

    /// Like [`Self::lying`], and whether the row was known. For a table with a hook, storage is read once per
    /// key.
    pub(crate) fn look_at(&self, table: &Table, key: &ItemKey) -> Result<AtPlace<Arc<Image>>, Error> {
        self.look_again(table, key, None)
    }

    /// Like [`Self::look_at`] for a row that was `seen` before the commit: if it is unchanged, its bytes need
    /// not be decoded.
    pub(crate) fn look_again(
        &self,
        table: &Table,
        key: &ItemKey,
        seen: Option<&Arc<Image>>,
    ) -> Result<AtPlace<Arc<Image>>, Error> {
        let place = key.in_table(table.id);
        if let Some(row) = self.known(&place) {
            return Ok(AtPlace { row, is_known: true });
        }
        let stored = self.group.shared.store.get(Space::Items, &place);
        let row = match (stored.map_err(internal)?, seen) {
            (Some(bytes), Some(seen)) if bytes == *seen.bytes() => Some(Arc::clone(seen)),
            (Some(bytes), _) => Some(Arc::new(Image::stored(bytes).map_err(internal)?)),
            (None, _) => None,
        };
        if table.hook.is_some() {
            self.read.borrow_mut().insert(place, row.clone());
        }
        Ok(AtPlace { row, is_known: false })
    }

    /// The row with a storage key, as far as it is known without reading storage.
    fn known(&self, place: &[u8]) -> Option<Option<Arc<Image>>> {
        let staged = self.staged.items.get(place);
        let staged = staged.or_else(|| self.group.items.get(place));
        staged.cloned().or_else(|| self.read.borrow().get(place).cloned())
    }

    /// Stages the change of one item from `old` to `new`, with everything derived from it.
    pub(crate) fn write(
        &mut self,
        table: &Arc<Table>,
        key: &ItemKey,
        old: Option<&Arc<Image>>,
        new: Option<Arc<Image>>,
        actor: Actor,
    ) -> Written {
        if old.is_none() && new.is_none() {
            return Written::default();
        }
        let place = key.in_table(table.id);
        let counted_before = self.staged.stats.len();
        let (before, after) = (old.map(|old| &**old), new.as_deref());
        let written = self.write_index_rows(table, key, before, after);
        match &mut self.preview {
            Some(preview) => preview.note(table, &place, before, after),
            // A record adds to the size of a shard, which a preview must not do.
            None => self.write_change(table, key, before, after, actor),
        }
        self.write_expiry(table, key, before, after);
        let counts = |image: Option<&Image>| image.map_or((0, 0), |image| (1, image.size() as i64));
        let (counted, counts) = (counts(before), counts(after));
        self.count(&table.stats, counts.0 - counted.0, counts.1 - counted.1);
        // If an item is replaced by one of the same size, the counts and their row stay as they are.
        if self.staged.stats.len() > counted_before {
            self.staged.touched.push(Arc::clone(table));
        }
        match &new {
            Some(image) => self
                .staged
                .batch
                .put(Space::Items, place.clone(), image.bytes().clone()),
            None => self.staged.batch.delete(Space::Items, place.clone()),
        }
        self.staged.items.insert(place, new);
        written
    }

    fn count(&mut self, stats: &Arc<Stats>, items: i64, bytes: i64) {
        if items != 0 || bytes != 0 {
            self.staged.stats.push((Arc::clone(stats), items, bytes));
        }
    }

    fn write_index_rows(
        &mut self,
        table: &Table,
        key: &ItemKey,
        old: Option<&Image>,
        new: Option<&Image>,
    ) -> Written {
        let mut written = Written::default();
        for index in &table.indexes {
            if index.backfill_from.as_ref().is_some_and(|from| key.0 >= *from) {
                continue; // The backfill has not reached the item, and will index its later state.
            }
            if let (Some(old), Some(new)) = (old, new)
                && index.keeps_alike(table, old, new)
            {
                continue; // The row is unchanged.
            }
            let before = old.and_then(|image| IndexRow::of(table, index, image, key));
            let after = new.and_then(|image| Some((image, IndexRow::of(table, index, image, key)?)));
            let mut sizes = Vec::new();
            let mut delta = (0, 0);
            if let Some(before) = before {
                delta = (-1, -(before.size as i64));
                if after
                    .as_ref()
                    .is_none_or(|(_, after)| after.place != before.place)
                {
                    self.staged.batch.delete(Space::Index, before.place);
                    sizes.push(before.size);
                }
            }
            if let Some((image, after)) = after {
                delta = (delta.0 + 1, delta.1 + after.size as i64);
                sizes.push(after.size);
                let bytes = after.bytes(table, index, image);
                self.staged.batch.put(Space::Index, after.place, bytes);
            }
            self.count(&index.stats, delta.0, delta.1);
            if !sizes.is_empty() {
                written.indexes.push((Arc::clone(index), sizes));
            }
        }
        written
    }

    /// Adds the row of an item that is older than the index. Repeating it changes nothing.
    pub(crate) fn backfill_index_row(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
        key: &ItemKey,
        image: &Image,
    ) {
        if let Some(row) = IndexRow::of(table, index, image, key) {
            self.count(&index.stats, 1, row.size as i64);
            self.staged.touched.push(Arc::clone(table));
            let bytes = row.bytes(table, index, image);
            self.staged.batch.put(Space::Index, row.place, bytes);
        }
    }

    fn write_change(
        &mut self,
        table: &Table,
        key: &ItemKey,
        old: Option<&Image>,
        new: Option<&Image>,
        actor: Actor,
    ) {
        // DynamoDB records no change if the item is the same.
        if old != new {
            self.record(table, key, old, new, actor);
        }
    }

    /// Records an unchanged row in the stream. `false` if the table has no stream.
    pub(crate) fn record_again(&mut self, table: &Table, key: &ItemKey, row: &Image, actor: Actor) -> bool {
        self.record(table, key, Some(row), Some(row), actor)
    }

    /// Adds a record to the table's stream; `false` if there is none.
    fn record(
        &mut self,
        table: &Table,
        key: &ItemKey,
        old: Option<&Image>,
        new: Option<&Image>,
        actor: Actor,
    ) -> bool {
        let Some(stream) = table
            .stream
            .and_then(|id| self.staged.catalog.streams.get(&id))
            .filter(|s| s.is_enabled())
        else {
            return false;
        };
        self.staged.counters.sequence += 1;
        let shard = stream.shard_of(key.hash());
        let place = layout::change(stream.id, shard, self.staged.counters.sequence);
        let change = Change {
            table,
            view: stream.view,
            old,
            new,
            actor,
            time: self.group.shared.clock.now(),
        };
        let record = change_log::encode(&change);
        stream.wrote(shard, record.len());
        self.staged.batch.put(Space::Changes, place, record);
        true
    }

    fn write_expiry(&mut self, table: &Table, key: &ItemKey, old: Option<&Image>, new: Option<&Image>) {
        let Some(ttl) = &table.ttl else { return };
        let before = old.and_then(|item| expiry::seconds(item, &ttl.attribute));
        let after = new.and_then(|item| expiry::seconds(item, &ttl.attribute));
        if before == after {
            return;
        }
        // Also for items that the backfill has not reached: an earlier setting may have left the entry.
        if let Some(seconds) = before {
            self.staged
                .batch
                .delete(Space::Expiry, layout::expiry(seconds, table.id, key));
        }
        if ttl.backfill_from.as_ref().is_some_and(|from| key.0 >= *from) {
            return; // As with indexes, the backfill will do it.
        }
        if let Some(seconds) = after {
            self.staged
                .batch
                .put(Space::Expiry, layout::expiry(seconds, table.id, key), Vec::new());
        }
    }

    /// An id that was never given to another table, index or stream.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.staged.counters.next_id += 1;
        self.staged.counters.next_id
    }

    /// The sequence number of the newest change.
    pub(crate) fn sequence(&self) -> u64 {
        self.staged.counters.sequence
    }

    /// Stores a table's definition, new or changed.
    pub(crate) fn put_table(&mut self, mut table: Table) -> Result<Arc<Table>, Error> {
        table.link(self.staged.catalog.hook_of(&table.name));
        let table = Arc::new(table);
        let row = serde_json::to_vec(&*table).map_err(internal)?;
        self.staged
            .batch
            .put(Space::Meta, meta::table_key(&table.name), row);
        Arc::make_mut(&mut self.staged.catalog)
            .tables
            .insert(table.name.clone(), Arc::clone(&table));
        Ok(table)
    }

    /// Removes a table's definition and leaves a note to clear its rows in the background.
    pub(crate) fn drop_table(&mut self, table: &Table) {
        Arc::make_mut(&mut self.staged.catalog).tables.remove(&table.name);
        self.staged
            .batch
            .delete(Space::Meta, meta::table_key(&table.name));
        self.staged.batch.delete(Space::Meta, meta::stats_key(table.id));
        self.staged
            .batch
            .put(Space::Meta, meta::dropped_table_key(table.id), Vec::new());
        for index in &table.indexes {
            self.drop_index(index);
        }
        if table.ttl.is_some() {
            self.drop_expiry(table.id);
        }
    }

    /// Leaves a note to clear expiry entries of the table that no item needs, in the background.
    pub(crate) fn drop_expiry(&mut self, id: TableId) {
        self.staged
            .batch
            .put(Space::Meta, meta::stale_expiry_key(id), Vec::new());
    }

    /// Leaves a note to clear an index's rows in the background.
    pub(crate) fn drop_index(&mut self, index: &Index) {
        self.staged
            .batch
            .put(Space::Meta, meta::dropped_index_key(index.id), Vec::new());
    }

    /// Puts a hook, or none, into effect.
    pub(crate) fn install(&mut self, hook: Option<Arc<dyn Hook>>) {
        Arc::make_mut(&mut self.staged.catalog).install(hook);
    }

    /// Stores a stream's definition, new or changed.
    pub(crate) fn put_stream(&mut self, stream: crate::catalog::Stream) -> Result<(), Error> {
        let row = serde_json::to_vec(&stream).map_err(internal)?;
        self.staged
            .batch
            .put(Space::Meta, meta::stream_key(stream.id), row);
        Arc::make_mut(&mut self.staged.catalog)
            .streams
            .insert(stream.id, Arc::new(stream));
        Ok(())
    }

    /// Removes a stream without records.
    pub(crate) fn remove_stream(&mut self, id: StreamId) {
        self.staged.batch.delete(Space::Meta, meta::stream_key(id));
        Arc::make_mut(&mut self.staged.catalog).streams.remove(&id);
    }

    /// The newest state of a raw row.
    pub(crate) fn row(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if let Some(staged) = self
            .staged
            .batch
            .get(space, key)
            .or_else(|| self.group.batch.get(space, key))
        {
            return Ok(staged.map(|value| value.to_vec()));
        }
        Ok(self
            .group
            .shared
            .store
            .get(space, key)
            .map_err(internal)?
            .map(|value| value.to_vec()))
    }

    /// Stages a raw row: for the background work, idempotency tokens and documents.
    pub(crate) fn put_row(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.staged.batch.put(space, key, value);
    }

    /// Stages the removal of a raw row.
    pub(crate) fn delete_row(&mut self, space: Space, key: Vec<u8>) {
        self.staged.batch.delete(space, key);
    }
}

/// An item's row in an index.
struct IndexRow {
    place: Vec<u8>,
    size: usize,
}

impl IndexRow {
    /// The row, unless the item lacks a key attribute of the index.
    fn of(table: &Table, index: &Index, image: &Image, key: &ItemKey) -> Option<Self> {
        let place = layout::index_row(index.id, &index.key, image, key)?;
        let size = if index.projects_all() {
            image.size()
        } else {
            let kept = index.kept(table, image);
            kept.map(|(name, value)| name.len() + size::of_value(value)).sum()
        };
        Some(Self { place, size })
    }

    /// The stored form; empty for a row that is removed.
    fn bytes(&self, table: &Table, index: &Index, image: &Image) -> Bytes {
        if index.projects_all() {
            return image.bytes().clone();
        }
        let kept: Vec<(&String, &AttributeValue)> = index.kept(table, image).collect();
        let mut bytes = Vec::with_capacity(self.size + kept.len() * 4 + 8);
        codec::encode_attributes(kept.into_iter(), &mut bytes);
        bytes.into()
    }
}
