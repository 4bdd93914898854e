//! Shared code of the tests.

use std::ops::Bound;
use tempfile::TempDir;
use trestle_store::{
    Batch, Bytes, Direction, Durability, FjallStore, MemoryStore, Settings, Snapshot, Space, Store,
};

pub(crate) fn buffered() -> Settings {
    Settings {
        durability: Durability::Buffered,
        cache_bytes: 4 << 20,
        ..Settings::default()
    }
}

pub(crate) fn fsync() -> Settings {
    Settings {
        cache_bytes: 4 << 20,
        ..Settings::default()
    }
}

/// Runs a claim about every store on each of them.
pub(crate) fn on_both(claim: impl Fn(&dyn Store)) {
    claim(&MemoryStore::new());
    let dir = TempDir::new().unwrap();
    claim(&FjallStore::open(dir.path(), buffered()).unwrap());
    let dir = TempDir::new().unwrap();
    claim(&FjallStore::open(dir.path(), fsync()).unwrap());
}

/// A batch that puts these rows into one space.
pub(crate) fn puts<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    space: Space,
    rows: impl IntoIterator<Item = (K, V)>,
) -> Batch {
    let mut batch = Batch::new();
    for (key, value) in rows {
        batch.put(space, key.as_ref(), value.as_ref());
    }
    batch
}

pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub(crate) fn rows_between(
    view: &dyn Snapshot,
    space: Space,
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
    direction: Direction,
) -> Pairs {
    let pair =
        |row: trestle_store::Result<(Bytes, Bytes)>| row.map(|(key, value)| (key.to_vec(), value.to_vec()));
    view.range(space, start, end, direction)
        .map(pair)
        .collect::<Result<_, _>>()
        .unwrap()
}

pub(crate) fn all_rows(store: &dyn Store, space: Space) -> Pairs {
    rows_between(
        &*store.snapshot(),
        space,
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Forward,
    )
}

pub(crate) fn value(store: &dyn Store, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    store.get(space, key).unwrap().map(|value| value.to_vec())
}
