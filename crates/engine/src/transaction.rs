//! One request's staged writes: every item that changes takes its index rows, change record, expiry entry and counts
//! with it, so that they commit together or not at all.

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

/// Who deletes or writes: shows in the change record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A client's request.
    Client,
    /// The expiry of an item's time to live.
    TimeToLive,
    /// A row's way to its own place: nothing that the application did.
    Migration,
    /// A reindex that raises a row's version attribute: nothing that the application did.
    Touch,
}

/// What one item's write cost besides the item: bytes written per index, for capacity accounting.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Each index whose rows changed, with the size of each row put or removed.
    pub(crate) indexes: Vec<(Arc<Index>, Vec<usize>)>,
}

/// A request's view of the database and its staged writes.
pub(crate) struct Transaction<'g> {
    group: &'g mut Group,
    staged: Staged,
    /// Rows of storage that were read for a hook: what it makes of one is held against the same row when it is written.
    read: RefCell<HashMap<Vec<u8>, Option<Arc<Image>>>>,
    /// Rows that change, if nothing is to stay.
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
    /// Rows written because they follow from others.
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

    /// Runs many writes that do not depend on each other, each as a request of its own: a refusal takes back what that one
    /// staged, and nothing else. What succeeds stays, whatever becomes of this transaction, which has staged nothing before.
    /// Unlike [`Self::attempt`], one of them costs the same after many others.
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

    /// Runs work and tells which rows it would change. Nothing of it stays. This transaction has staged nothing before.
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

    /// Hands everything staged to the group.
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

    /// Runs one of several writes that do not depend on each other: a refusal takes back what this one staged, and
    /// nothing else.
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

    /// Counts a row that follows from another, and tells how many there are.
    pub(crate) fn count_companion(&mut self) -> usize {
        self.staged.companions += 1;
        self.staged.companions
    }

    /// The time that all of this request's effects carry.
    pub(crate) fn now(&self) -> Timestamp {
        self.group.shared.clock.now()
    }

    /// What does not change while the engine is open.
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

    /// What lies at a place.
    pub(crate) fn lying(&self, table: &Table, key: &ItemKey) -> Result<Option<Arc<Image>>, Error> {
        Ok(self.look_at(table, key)?.row)
    }

    /// The same, and whether it was known. Storage is asked once for a place of a table that has a hook.
    pub(crate) fn look_at(&self, table: &Table, key: &ItemKey) -> Result<AtPlace<Arc<Image>>, Error> {
        self.look_again(table, key, None)
    }

    /// The same for a row that was `seen` before the commit: if it is still so, its bytes need not be read into values.
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

    /// What is known of a place without asking storage.
    fn known(&self, place: &[u8]) -> Option<Option<Arc<Image>>> {
        let staged = self.staged.items.get(place);
        let staged = staged.or_else(|| self.group.items.get(place));
        staged.cloned().or_else(|| self.read.borrow().get(place).cloned())
    }

    /// Stages the change of one item from `old` to `new`, with all that follows from it.
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
            // It counts towards the size of a shard, which a preview must not.
            None => self.write_change(table, key, before, after, actor),
        }
        self.write_expiry(table, key, before, after);
        let counts = |image: Option<&Image>| image.map_or((0, 0), |image| (1, image.size() as i64));
        let (counted, counts) = (counts(before), counts(after));
        self.count(&table.stats, counts.0 - counted.0, counts.1 - counted.1);
        // Replacing an item by one of the same size leaves the counts, and so their row, as they are.
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
                continue; // The backfill has yet to come by, and will take the item as it is then.
            }
            if let (Some(old), Some(new)) = (old, new)
                && index.keeps_alike(table, old, new)
            {
                continue; // The row stays as it is.
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
        // DynamoDB records no change where nothing changed.
        if old != new {
            self.record(table, key, old, new, actor);
        }
    }

    /// Records a row in the stream that stays as it is. `false` if the table has no stream.
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
        // Also ahead of the backfill's walk: an earlier time to live may have left the entry.
        if let Some(seconds) = before {
            self.staged
                .batch
                .delete(Space::Expiry, layout::expiry(seconds, table.id, key));
        }
        if ttl.backfill_from.as_ref().is_some_and(|from| key.0 >= *from) {
            return; // As with indexes: the walk will come by.
        }
        if let Some(seconds) = after {
            self.staged
                .batch
                .put(Space::Expiry, layout::expiry(seconds, table.id, key), Vec::new());
        }
    }

    /// A number never given to another table, index or stream.
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

    /// Removes a table's definition and leaves a note so that its rows are cleared in the background.
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

    /// Leaves a note so that expiry entries of the table that no item needs any more are cleared in the background.
    pub(crate) fn drop_expiry(&mut self, id: TableId) {
        self.staged
            .batch
            .put(Space::Meta, meta::stale_expiry_key(id), Vec::new());
    }

    /// Leaves a note so that an index's rows are cleared in the background.
    pub(crate) fn drop_index(&mut self, index: &Index) {
        self.staged
            .batch
            .put(Space::Meta, meta::dropped_index_key(index.id), Vec::new());
    }

    /// Lets a hook take effect, or none.
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

    /// Forgets a stream whose records are gone.
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

    /// What is stored. A row that goes has no need of it.
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
