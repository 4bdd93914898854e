use crate::support::{buffered, puts, value};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use trestle_store::{FjallStore, Space, Store};

/// How many table files there are.
fn tables(directory: &Path) -> usize {
    let keyspaces = fs::read_dir(directory.join("db/keyspaces")).unwrap();
    let tables = keyspaces.map(|keyspace| fs::read_dir(keyspace.unwrap().path().join("tables")).unwrap());
    tables.map(Iterator::count).sum()
}

/// Less than any buffer takes: nothing is written to tables yet.
fn fill(store: &FjallStore, megabytes: u32) {
    for space in [Space::Items, Space::Index, Space::Changes] {
        for at in 0..megabytes {
            let rows = [(at.to_be_bytes(), vec![at as u8; 1 << 20])];
            store.commit(puts(space, rows)).unwrap();
        }
    }
}

#[test]
fn what_a_closing_store_has_in_memory_need_not_be_read_from_the_journal_again() {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let before = tables(dir.path());
    fill(&store, 12);
    assert_eq!(tables(dir.path()), before);
    drop(store);
    assert!(tables(dir.path()) >= before + 3, "each space has a table now");
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    for at in 0..12u32 {
        assert_eq!(
            value(&store, Space::Index, &at.to_be_bytes()),
            Some(vec![at as u8; 1 << 20])
        );
    }
}

#[test]
fn a_store_with_little_in_memory_closes_at_once() {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let before = tables(dir.path());
    fill(&store, 1);
    drop(store);
    assert_eq!(tables(dir.path()), before);
}
