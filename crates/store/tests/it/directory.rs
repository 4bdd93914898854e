//! Opening, closing, and refusing to open.

use crate::support::{all_rows, buffered, fsync, puts, value};
use std::fs;
use tempfile::TempDir;
use trestle_store::{BlockSize, ErrorKind, FjallStore, Settings, Space, Store};

#[test]
fn what_was_committed_is_there_after_opening_again() {
    for settings in [fsync(), buffered()] {
        let dir = TempDir::new().unwrap();
        for round in 1..=5u8 {
            let store = FjallStore::open(dir.path(), settings.clone()).unwrap();
            assert_eq!(store.stats().last_commit, u64::from(round - 1));
            assert_eq!(all_rows(&store, Space::Items).len(), usize::from(round - 1));
            let mut batch = puts(Space::Items, [([round], "item")]);
            batch.put(Space::Meta, b"round", [round].as_slice());
            store.commit(batch).unwrap();
        }
        let store = FjallStore::open(dir.path(), settings).unwrap();
        assert_eq!(value(&store, Space::Meta, b"round").unwrap(), [5]);
    }
}

#[cfg(unix)]
#[test]
fn a_lock_whose_owner_has_ended_is_waited_for() {
    let dir = TempDir::new().unwrap();
    drop(FjallStore::open(dir.path(), buffered()).unwrap());
    let mut owner = std::process::Command::new("true").spawn().unwrap();
    owner.wait().unwrap();
    let file = dir.path().join("LOCK");
    fs::write(&file, owner.id().to_string()).unwrap();
    // A child process of the owner has the lock for a moment longer.
    let held = fs::File::open(&file).unwrap();
    held.lock().unwrap();
    let opening = std::thread::spawn({
        let path = dir.path().to_owned();
        move || FjallStore::open(path, buffered()).map(drop)
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!opening.is_finished());
    drop(held);
    opening.join().unwrap().unwrap();
}

#[test]
fn rows_survive_when_buffers_are_flushed_to_tables_between() {
    let dir = TempDir::new().unwrap();
    let row = |n: u32| (n.to_be_bytes(), vec![n as u8; 10_000]);
    {
        let store = FjallStore::open(dir.path(), buffered()).unwrap();
        for n in 0..1500 {
            store.commit(puts(Space::Meta, [row(n)])).unwrap();
        }
    }
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    assert_eq!(store.stats().last_commit, 1500);
    let expected: Vec<_> = (0..1500).map(|n| (row(n).0.to_vec(), row(n).1)).collect();
    assert!(all_rows(&store, Space::Meta) == expected);
}

#[test]
fn a_second_opening_is_refused_and_names_the_process() {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    let error = FjallStore::open(dir.path(), fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    let expected = format!(
        "data directory {} is in use by process {}",
        dir.path().display(),
        std::process::id()
    );
    assert!(error.to_string().starts_with(&expected), "{error}");

    let view = store.snapshot();
    drop(store);
    assert!(
        FjallStore::open(dir.path(), fsync()).is_err(),
        "a snapshot still reads from the directory"
    );
    drop(view);
    FjallStore::open(dir.path(), fsync()).unwrap();
}

fn refusal(dir: &TempDir) -> String {
    let error = FjallStore::open(dir.path(), fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    error.to_string()
}

#[test]
fn other_versions_are_refused_with_a_way_out() {
    let dir = TempDir::new().unwrap();
    drop(FjallStore::open(dir.path(), fsync()).unwrap());
    let format = dir.path().join("FORMAT");
    assert_eq!(fs::read_to_string(&format).unwrap(), "trestle-store 1\n");

    fs::write(&format, "trestle-store 2\n").unwrap();
    assert!(refusal(&dir).contains("newer version of Trestle"));
    fs::write(&format, "trestle-store 0\n").unwrap();
    assert!(refusal(&dir).contains("docs/internals/format.md"));
    for garbage in [
        b"".as_slice(),
        b"\xff\xfe",
        b"trestle-store -1",
        b"trestle-store 99999999999999",
        b"other 1",
    ] {
        fs::write(&format, garbage).unwrap();
        assert!(refusal(&dir).contains("restore the file"));
    }
    fs::remove_file(&format).unwrap();
    assert!(refusal(&dir).contains("restore the file"));
}

#[test]
fn a_directory_of_somebody_else_is_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("thesis.txt"), "precious").unwrap();
    assert!(refusal(&dir).contains("choose an empty or a new directory"));
    assert_eq!(
        fs::read_to_string(dir.path().join("thesis.txt")).unwrap(),
        "precious"
    );
    let names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["thesis.txt"], "nothing of ours was added");
}

#[test]
fn an_interrupted_creation_is_taken_up_again() {
    let dir = TempDir::new().unwrap();
    let half_made = dir.path().join("db.new");
    fs::create_dir_all(half_made.join("keyspaces")).unwrap();
    fs::write(half_made.join("0.jnl"), "half").unwrap();
    drop(FjallStore::open(dir.path(), fsync()).unwrap());
    assert!(!half_made.exists());

    // Interrupted before the last step: the version is there, the folder not yet under its name.
    fs::rename(dir.path().join("db"), &half_made).unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    store.commit(puts(Space::Meta, [("a", "b")])).unwrap();
}

#[test]
fn opening_what_cannot_be_a_directory_is_an_error() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(
        FjallStore::open(&file, fsync()).unwrap_err().kind(),
        ErrorKind::Io
    );
}

fn with_blocks(kib: u32) -> Settings {
    Settings {
        block_size: Some(BlockSize::from_kib(kib).unwrap()),
        ..buffered()
    }
}

#[test]
fn a_new_directory_has_blocks_of_the_default_size() {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    assert_eq!(store.stats().block_size, Some(BlockSize::default()));
}

#[test]
fn fewer_blocks_are_read_if_they_are_larger() {
    let blocks = |kib| {
        let dir = TempDir::new().unwrap();
        let row = |n: u32| (n.to_be_bytes(), vec![n as u8; 1_000]);
        {
            let store = FjallStore::open(dir.path(), with_blocks(kib)).unwrap();
            // More than a buffer holds: the rest is written to tables.
            for part in 0..40 {
                store
                    .commit(puts(Space::Items, (part * 1_000..(part + 1) * 1_000).map(row)))
                    .unwrap();
            }
        }
        let store = FjallStore::open(dir.path(), with_blocks(kib)).unwrap();
        assert_eq!(all_rows(&store, Space::Items).len(), 40_000);
        store
            .reads(trestle_store::ReadPurpose::default())
            .blocks_from_disk
    };
    let (small, large) = (blocks(4), blocks(64));
    assert!(small > 8 * large, "{small} blocks of 4 KiB, {large} of 64 KiB");
}
