//! Directories that are read without changing them.

use crate::damage::{copy_of, files};
use crate::support::{all_rows, buffered, fsync, puts};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;
use tempfile::TempDir;
use trestle_store::{DirectoryAccess, ErrorKind, FileCheck, FjallStore, Settings, Space, Store};

fn read_only() -> Settings {
    Settings {
        access: DirectoryAccess::ReadOnly,
        file_check: FileCheck::Everything,
        ..fsync()
    }
}

/// A closed directory with tables and a journal.
fn filled() -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    for n in 0..60_u32 {
        let rows = (0..100_u32).map(|row| {
            (
                [n.to_be_bytes(), row.to_be_bytes()].concat(),
                vec![n as u8; 10_000],
            )
        });
        store.commit(puts(Space::Items, rows)).unwrap();
    }
    drop(store);
    copy_of(dir.path())
}

/// The metadata of all files.
fn state(dir: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let state = |file: PathBuf| {
        let path = dir.join(&file);
        let changed = fs::metadata(&path).unwrap().modified().unwrap();
        (file, (changed, fs::read(&path).unwrap()))
    };
    files(dir).into_iter().map(state).collect()
}

#[test]
fn a_directory_that_is_only_read_stays_as_it_is() {
    let dir = filled();
    assert!(
        files(dir.path())
            .iter()
            .any(|file| file.starts_with("db/keyspaces/3/tables"))
    );
    // Bytes that opening would cut off, and a file that it would delete.
    let journal = dir.path().join("db/0.jnl");
    let mut torn = fs::read(&journal).unwrap();
    torn.extend([1, 2, 3]);
    fs::write(&journal, torn).unwrap();
    fs::write(dir.path().join("db/keyspaces/3/tables/999"), "left over").unwrap();
    let before = state(dir.path());

    let store = FjallStore::open(dir.path(), read_only()).unwrap();
    assert_eq!(all_rows(&store, Space::Items).len(), 6_000);
    let error = store.commit(puts(Space::Items, [("a", "b")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    drop(store);
    assert!(state(dir.path()) == before);
    assert!(!dir.path().join("LOCK").exists());
    FjallStore::open(dir.path(), fsync()).unwrap();
}

#[test]
fn damage_is_told_with_the_path_that_was_given() {
    let dir = filled();
    let table = files(dir.path())
        .into_iter()
        .find(|file| file.starts_with("db/keyspaces/3/tables"))
        .unwrap();
    let path = dir.path().join(&table);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let message = FjallStore::open(dir.path(), read_only()).unwrap_err().to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert!(message.contains("space items"), "{message}");

    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let journal = dir.path().join("db/0.jnl");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[100] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let message = FjallStore::open(dir.path(), read_only()).unwrap_err().to_string();
    assert!(message.contains(journal.to_str().unwrap()), "{message}");
}

#[test]
fn a_directory_that_a_process_has_open_is_not_read() {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    let error = FjallStore::open(dir.path(), read_only()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    drop(store);
    let reader = FjallStore::open(dir.path(), read_only()).unwrap();
    FjallStore::open(dir.path(), read_only()).unwrap();
    assert_eq!(
        FjallStore::open(dir.path(), fsync()).unwrap_err().kind(),
        ErrorKind::InUse
    );
    drop(reader);
    FjallStore::open(dir.path(), fsync()).unwrap();
}

/// Each read of a directory that is being written sees every commit that was acknowledged before it, and only
/// complete commits.
#[test]
fn a_directory_that_a_process_has_open_can_be_looked_at() {
    const ROWS: u32 = 50;
    // Enough for tables to be written meanwhile.
    const COMMITS: u32 = 200;
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let live = || Settings {
        access: DirectoryAccess::Live,
        ..fsync()
    };
    let committed = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..COMMITS {
                let rows = (0..ROWS).map(|row| {
                    let key = [n.to_be_bytes(), row.to_be_bytes()].concat();
                    (key, n.wrapping_mul(2_654_435_761).to_be_bytes().repeat(2_000))
                });
                store.commit(puts(Space::Items, rows)).unwrap();
                committed.store(n + 1, Ordering::SeqCst);
            }
        });
        // The last read takes place when nothing is written any more.
        let mut before = 0;
        while before < COMMITS {
            before = committed.load(Ordering::SeqCst);
            let look = FjallStore::open(dir.path(), live()).unwrap();
            let seen = all_rows(&look, Space::Items).len() as u32;
            assert!(seen >= before * ROWS, "{seen} rows after {before} commits");
            assert_eq!(seen % ROWS, 0, "half a commit is seen");
            let refused = look.commit(puts(Space::Items, [([1_u8].to_vec(), vec![1])]));
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        }
    });
}

#[test]
fn a_directory_without_data_is_not_made() {
    let dir = TempDir::new().unwrap();
    assert_eq!(
        FjallStore::open(dir.path(), read_only()).unwrap_err().kind(),
        ErrorKind::Format
    );
    let missing = dir.path().join("missing");
    assert!(FjallStore::open(&missing, read_only()).is_err());
    assert!(!missing.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
