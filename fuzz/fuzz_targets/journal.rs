//! Whatever bytes are in a journal, a store opens with the first commits, unchanged, or reports the damage.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use trestle_fuzz::{Edits, damage};
use trestle_store::{Batch, Direction, FjallStore, Settings, Space, Store as _};

const COMMITS: u8 = 12;

/// The files of a small store, without the part after the last batch of a journal.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = folder("whole");
    let store = FjallStore::open(&folder, settings()).expect("a new store opens");
    for number in 0..COMMITS {
        store.commit(commit(number)).expect("a commit is written");
    }
    // Not closed properly: closing moves the rows out of the journal.
    let mut files = Vec::new();
    collect(&folder, &folder, &mut files);
    drop(store);
    drop(fs::remove_dir_all(&folder));
    files
});

fuzz_target!(|edits: Edits<'_>| {
    let folder = folder("damaged");
    for (name, mut bytes) in FILES.clone() {
        if is_journal(&name) {
            damage(std::slice::from_mut(&mut bytes), &edits);
        }
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder is made");
        fs::write(path, bytes).expect("a file is written");
    }
    check(&folder);
    drop(fs::remove_dir_all(&folder));
});

fn check(folder: &Path) {
    let Ok(store) = FjallStore::open(folder, settings()) else { return };
    let snapshot = store.snapshot();
    let rows: Vec<_> = snapshot
        .range(Space::Items, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
        .map(|row| row.expect("a row of a store that opened is read"))
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    let wanted: Vec<_> = (0..COMMITS).take(rows.len()).map(|number| (vec![number], vec![number; 40])).collect();
    assert_eq!(rows, wanted, "the rows are those of the first commits");
}

fn commit(number: u8) -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Items, vec![number], vec![number; 40]);
    batch
}

fn settings() -> Settings {
    Settings { cache_bytes: 1 << 20, ..Settings::default() }
}

fn is_journal(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "jnl")
}

/// An empty folder of this process, in memory where the system supports that.
fn folder(name: &str) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let folder = root.join(format!("trestle-fuzz-{}-{name}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder is made");
    folder
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder is read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
            continue;
        }
        let mut bytes = fs::read(&path).expect("a file is read");
        if is_journal(&path) {
            bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        }
        let name = path.strip_prefix(root).expect("the file is in the folder").to_owned();
        files.push((name, bytes));
    }
}
