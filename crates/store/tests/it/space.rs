//! Space is freed while nothing else happens.

use crate::support::{all_rows, buffered, puts};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_store::{Batch, FjallStore, Space, Store};

const MIB: u64 = 1024 * 1024;

/// Bytes in the tables of the space `items`.
fn tables_bytes(dir: &Path) -> u64 {
    let tables = fs::read_dir(dir.join("db/keyspaces/3/tables")).unwrap();
    // A table may be removed while it is read.
    let len = |table: std::io::Result<fs::DirEntry>| table.unwrap().metadata().map_or(0, |file| file.len());
    tables.map(len).sum()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in 30 s: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn key(n: u32) -> [u8; 8] {
    (u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes()
}

/// Bytes that cannot be compressed.
fn noise(n: u32) -> Vec<u8> {
    (0..256)
        .flat_map(|at: u32| (at ^ n).wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

fn delete(store: &FjallStore, rows: std::ops::Range<u32>) {
    for rows in rows.collect::<Vec<_>>().chunks(500) {
        let mut batch = Batch::new();
        rows.iter()
            .for_each(|n| batch.delete(Space::Items, key(*n).as_slice()));
        store.commit(batch).unwrap();
    }
}

#[test]
fn the_space_of_deleted_rows_is_given_back_by_itself() {
    const ROWS: u32 = 11_000;
    // From here on, rows are deleted first: enough of them that buffers are written.
    const FIRST: u32 = 9_500;
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    for rows in (0..ROWS).collect::<Vec<_>>().chunks(500) {
        store
            .commit(puts(Space::Items, rows.iter().map(|n| (key(*n), noise(*n)))))
            .unwrap();
    }
    delete(&store, FIRST..ROWS);
    wait_until("buffers are written to tables", || {
        tables_bytes(dir.path()) > 8 * MIB
    });
    delete(&store, 100..FIRST);
    wait_until("tables shrink", || tables_bytes(dir.path()) < MIB);
    assert_eq!(all_rows(&store, Space::Items).len(), 100);
    drop(store);
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    assert_eq!(all_rows(&store, Space::Items).len(), 100);
}
