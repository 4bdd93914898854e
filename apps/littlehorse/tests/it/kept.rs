//! A store that keeps the state after each commit, as a process killed there would leave it, or that fails a
//! commit; and the place of rows in a store.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trestle::{MemoryStore, Store};
use trestle_store::{Batch, Bytes, Direction, ReadCounts, ReadPurpose, Result, Snapshot, Space, Stats};

/// Commits that fail. Their number is not meaningful, because concurrent requests share a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failing {
    /// Commits that put some rows and remove others, such as a step of a run, whose tags change.
    Step,
    /// Commits that only remove rows, such as a message.
    Removal,
}

/// A store in memory, with a copy of it behind each commit since [`Kept::begin`].
#[derive(Debug)]
pub(crate) struct Kept {
    store: MemoryStore,
    is_begun: AtomicBool,
    left: Mutex<Vec<Arc<MemoryStore>>>,
    /// The commits that fail.
    failing: Mutex<Option<Failing>>,
    has_failed: AtomicBool,
    /// Commits that were asked for.
    commits: AtomicUsize,
}

impl Default for Kept {
    fn default() -> Self {
        Kept {
            store: MemoryStore::new(),
            is_begun: AtomicBool::new(false),
            left: Mutex::default(),
            failing: Mutex::default(),
            has_failed: AtomicBool::new(false),
            commits: AtomicUsize::new(0),
        }
    }
}

impl Kept {
    /// The present state is the first that is kept.
    pub(crate) fn begin(&self) {
        self.is_begun.store(true, Ordering::SeqCst);
        self.keep();
    }

    /// The states that a process leaves if it is killed at the beginning, and after each commit.
    pub(crate) fn left(&self) -> Vec<Arc<MemoryStore>> {
        self.left.lock().unwrap().clone()
    }

    /// Waits until the background work has ended: the clock of a test stands still, so that no timer fires.
    pub(crate) async fn at_rest(&self) {
        let mut seen = usize::MAX;
        while seen != self.commits.load(Ordering::SeqCst) {
            seen = self.commits.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Lets such commits fail until [`Kept::heal`].
    pub(crate) fn fail(&self, failing: Failing) {
        *self.failing.lock().unwrap() = Some(failing);
    }

    /// Lets commits succeed again. Returns whether one had failed.
    pub(crate) fn heal(&self) -> bool {
        *self.failing.lock().unwrap() = None;
        self.has_failed.swap(false, Ordering::SeqCst)
    }

    /// Whether this commit fails.
    fn fails(&self, batch: &Batch) -> bool {
        self.commits.fetch_add(1, Ordering::SeqCst);
        let items = batch
            .clone()
            .into_changes()
            .filter(|(space, ..)| *space == Space::Items);
        let (removals, puts): (Vec<_>, Vec<_>) = items.partition(|(.., value)| value.is_none());
        let fails = match *self.failing.lock().unwrap() {
            None => false,
            Some(Failing::Step) => !removals.is_empty() && !puts.is_empty(),
            Some(Failing::Removal) => !removals.is_empty() && puts.is_empty(),
        };
        self.has_failed.fetch_or(fails, Ordering::SeqCst);
        fails
    }

    fn keep(&self) {
        self.left.lock().unwrap().push(Arc::new(copy(&self.store)));
    }
}

fn rows(store: &dyn Store, space: Space, mut each: impl FnMut(Bytes, Bytes)) {
    let snapshot = store.snapshot();
    for row in snapshot.range(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward) {
        let (key, value) = row.unwrap();
        each(key, value);
    }
}

/// The same rows in a separate store.
fn copy(store: &dyn Store) -> MemoryStore {
    let mut batch = Batch::new();
    for space in Space::ALL {
        rows(store, space, |key, value| batch.put(space, key, value));
    }
    let copy = MemoryStore::new();
    copy.commit(batch).unwrap();
    copy
}

/// Changes that no store accepts: a key is too long.
fn refused() -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Items, vec![0; 1 << 20], Vec::new());
    batch
}

impl Store for Kept {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.store.get(space, key)
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        if self.fails(&batch) {
            return self.store.commit(refused());
        }
        self.store.commit(batch)?;
        if self.is_begun.load(Ordering::SeqCst) {
            self.keep();
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.store.sync()
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    fn reads(&self, purpose: ReadPurpose) -> ReadCounts {
        self.store.reads(purpose)
    }
}

/// A row's key in storage.
pub(crate) type Place = (String, String);

/// The parts of a key in storage: the table (4 bytes), a hash (8), the length of the partition key (2), both
/// keys.
fn place(key: &[u8]) -> (&[u8], Place) {
    let (table, key) = key.split_at(4);
    let length = usize::from(u16::from_be_bytes([key[8], key[9]]));
    let (pk, sk) = key[10..].split_at(length);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (table, (text(pk), text(sk)))
}

/// The places of the rows of the application's table, including tags, read without a model, which would show
/// a row that is in two places once.
pub(crate) fn places(store: &dyn Store) -> Vec<Place> {
    let mut tables: BTreeMap<Vec<u8>, Vec<Place>> = BTreeMap::new();
    rows(store, Space::Items, |key, _| {
        let (table, place) = place(key.as_slice());
        tables.entry(table.to_vec()).or_default().push(place);
    });
    // It is the table that has the workflows.
    let is_ours = |places: &Vec<Place>| places.iter().any(|(_, sk)| sk.starts_with("0/2/"));
    tables.into_values().find(is_ours).unwrap()
}

/// The tags of all rows in storage, key and value. Their partitions are called `{tenant}/5/…`.
pub(crate) fn tags(store: &dyn Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut tags = BTreeMap::new();
    rows(store, Space::Items, |key, value| {
        if place(key.as_slice()).1.0.contains("/5/") {
            tags.insert(key.as_slice().to_vec(), value.as_slice().to_vec());
        }
    });
    tags
}

/// Whether a row of a run has a key of the grouped layout.
pub(crate) fn is_grouped((pk, _): &Place) -> bool {
    pk.contains("/wrg/")
}

/// The name of a row wherever it is: its key in the legacy layout.
pub(crate) fn name((pk, sk): &Place) -> String {
    let Some((tenant, run)) = pk.split_once("/wrg/") else {
        return format!("{pk} {sk}");
    };
    let mut parts: Vec<&str> = sk.split('/').collect();
    parts.insert(2, run);
    format!("{tenant} {}", parts.join("/"))
}
