//! Who may read a data directory.

use crate::support::{fsync, puts};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;
use trestle_store::{FjallStore, Space, Store};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_directory_is_for_its_owner_alone() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("new");
    let store = FjallStore::open(&data, fsync()).unwrap();
    store.commit(puts(Space::Items, [("a", "b")])).unwrap();
    drop(store);
    for folder in [&data, &data.join("db"), &data.join("journals")] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for file in ["FORMAT", "LOCK", "SYNCED"] {
        assert_eq!(mode(&data.join(file)), 0o600, "{file}");
    }
}

/// The folder may be the user's own; the data in it is protected all the same.
#[test]
fn a_folder_that_exists_keeps_its_mode() {
    let dir = TempDir::new().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    FjallStore::open(dir.path(), fsync()).unwrap();
    assert_eq!(mode(dir.path()), 0o755);
    assert_eq!(mode(&dir.path().join("db")), 0o700);
}
