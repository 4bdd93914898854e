//! Files that determine which tables a space consists of: damage to them is refused before anything is
//! deleted.

use crate::damage::{copy_of, files};
use crate::support::{fsync, puts};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_store::{ErrorKind, FjallStore, Space, Store};

/// The folder of the space `meta`.
const META: &str = "db/keyspaces/2";

/// A directory as a killed process leaves it: the version before the current one is still there.
fn killed_with_tables() -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    for n in 0..12_u32 {
        let rows = (0..100).map(|row: u32| {
            (
                [n.to_be_bytes(), row.to_be_bytes()].concat(),
                vec![n as u8; 10_000],
            )
        });
        store.commit(puts(Space::Meta, rows)).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while current_version(dir.path()) < 2 || !version_before(dir.path()).is_file() {
        assert!(Instant::now() < deadline, "nothing was flushed");
        std::thread::sleep(Duration::from_millis(10));
    }
    copy_of(dir.path())
}

fn current_version(dir: &Path) -> u64 {
    let current = fs::read(dir.join(META).join("current")).unwrap();
    u64::from_le_bytes(current[..8].try_into().unwrap())
}

fn version_before(dir: &Path) -> PathBuf {
    dir.join(META).join(format!("v{}", current_version(dir) - 1))
}

fn refusal(dir: &Path) -> String {
    let error = FjallStore::open(dir, fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    error.to_string()
}

#[test]
fn a_file_that_selects_an_older_version_is_refused_and_nothing_is_deleted() {
    let dir = killed_with_tables();
    let current = dir.path().join(META).join("current");
    let whole = fs::read(&current).unwrap();
    let mut damaged = whole.clone();
    damaged[..8].copy_from_slice(&(current_version(dir.path()) - 1).to_le_bytes());
    fs::write(&current, &damaged).unwrap();
    let before = files(dir.path());

    let message = refusal(dir.path());
    assert!(message.contains(current.to_str().unwrap()), "{message}");
    assert!(message.contains("space meta"), "{message}");
    assert!(message.contains("trestle restore"), "{message}");
    assert_eq!(files(dir.path()), before, "nothing was deleted");

    fs::write(&current, &whole).unwrap();
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    assert_eq!(store.stats().last_commit, 12, "putting the file back helps");
}

#[test]
fn every_flipped_byte_of_the_selecting_files_is_refused_naming_the_file() {
    let dir = killed_with_tables();
    let version = dir
        .path()
        .join(META)
        .join(format!("v{}", current_version(dir.path())));
    let current = dir.path().join(META).join("current");
    let marker = dir.path().join("db/version");
    let before = files(dir.path());
    for file in [current, version, marker] {
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&file, &damaged).unwrap();
            let message = refusal(dir.path());
            // The checksum of a version file is in `current`: either of the two may be damaged.
            let named = message.contains(file.to_str().unwrap());
            assert!(named, "byte {at} of {}: {message}", file.display());
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(files(dir.path()), before, "nothing was deleted");
}

#[test]
fn a_table_without_its_end_or_without_its_file_is_refused_naming_it() {
    let dir = killed_with_tables();
    let table = files(dir.path())
        .into_iter()
        .find(|file| file.starts_with(format!("{META}/tables")))
        .unwrap();
    let table = dir.path().join(table);
    let whole = fs::read(&table).unwrap();
    let before = files(dir.path());
    for len in [0, 20, whole.len() / 2, whole.len() - 1] {
        fs::write(&table, &whole[..len]).unwrap();
        let message = refusal(dir.path());
        assert!(message.contains(table.to_str().unwrap()), "{message}");
    }
    assert_eq!(files(dir.path()), before, "nothing was deleted");
    fs::remove_file(&table).unwrap();
    let message = refusal(dir.path());
    let expected = format!("{} is missing", table.display());
    assert!(message.starts_with(&expected), "{message}");
}
