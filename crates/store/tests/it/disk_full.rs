//! A full disk, simulated by the system's limit on file sizes.

use crate::support::{fsync, puts, value};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use trestle_store::{ErrorKind, FjallStore, Space, Store};

const CHILD_DIR: &str = "STORE_TEST_FULL_DISK_DIR";

/// 65 MB, in blocks of 512 bytes: room for the journal's preallocated 64 MB, not for the large batch.
const LIMIT_BLOCKS: u32 = 65 * 2048;

/// After a failure the store waits a little before it tries again.
const TIME_TO_TRY: Duration = Duration::from_millis(250);

#[test]
fn a_write_that_does_not_fit_is_an_error_leaves_no_trace_and_is_not_the_last_one() {
    let dir = TempDir::new().unwrap();
    let test = std::env::current_exe().unwrap();
    // The signal must be ignored, or the system ends the process instead of failing the write.
    let script = format!(
        "trap '' XFSZ; ulimit -f {LIMIT_BLOCKS}; exec \"$0\" --exact disk_full::meets_the_limit --nocapture"
    );
    let run = Command::new("sh")
        .args(["-c", &script])
        .arg(test)
        .env(CHILD_DIR, dir.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && output.contains("met the limit"),
        "{output}"
    );

    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    assert_eq!(store.stats().last_commit, 2);
    assert_eq!(value(&store, Space::Items, b"small").unwrap(), b"fits");
    assert_eq!(value(&store, Space::Items, b"large"), None);
    assert_eq!(value(&store, Space::Items, b"later").unwrap(), b"fits");
}

/// Not a test of its own: does nothing unless it runs under the limit.
#[test]
fn meets_the_limit() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let store = FjallStore::open(dir, fsync()).unwrap();
    store.commit(puts(Space::Items, [("small", "fits")])).unwrap();

    // One block of random bytes, repeated at a distance that the journal's compression does not detect.
    let block: Vec<u8> = (0..250_000u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let noise = block.repeat(80);
    let mut large = puts(Space::Items, [("large", noise)]);
    large.put(Space::Index, b"of large", b"");
    assert_eq!(store.commit(large).unwrap_err().kind(), ErrorKind::Io);

    assert_eq!(value(&store, Space::Items, b"small").unwrap(), b"fits");
    assert_eq!(value(&store, Space::Items, b"large"), None);
    assert_eq!(value(&store, Space::Index, b"of large"), None);
    let old_view = store.snapshot();
    let error = store.commit(puts(Space::Items, [("later", "fits")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    assert_eq!(value(&store, Space::Items, b"later"), None);

    // A reader is not cut off: the store is reopened only when it has finished.
    std::thread::sleep(TIME_TO_TRY);
    let error = store.commit(puts(Space::Items, [("later", "fits")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    assert!(error.to_string().contains("reads are under way"), "{error}");
    assert_eq!(
        old_view.get(Space::Items, b"small").unwrap().unwrap().as_slice(),
        b"fits"
    );
    drop(old_view);

    std::thread::sleep(TIME_TO_TRY);
    store.commit(puts(Space::Items, [("later", "fits")])).unwrap();
    assert_eq!(value(&store, Space::Items, b"small").unwrap(), b"fits");
    assert_eq!(value(&store, Space::Items, b"later").unwrap(), b"fits");
    assert_eq!(value(&store, Space::Items, b"large"), None);
    assert_eq!(value(&store, Space::Index, b"of large"), None);
    println!("met the limit");
}

/// 20 MB, less than what the journal holds already: no write can succeed.
const LOW_LIMIT_BLOCKS: u32 = 20 * 2048;

#[test]
fn where_no_write_can_succeed_reads_go_on_and_the_limit_is_named() {
    let dir = TempDir::new().unwrap();
    {
        let store = FjallStore::open(dir.path(), fsync()).unwrap();
        for n in 0..25_u8 {
            store.commit(puts(Space::Items, [([n], noise(n))])).unwrap();
        }
    }
    let script = format!(
        "trap '' XFSZ; ulimit -f {LOW_LIMIT_BLOCKS}; exec \"$0\" --exact disk_full::reads_below_the_limit --nocapture"
    );
    let run = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD_DIR, dir.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && output.contains("read below the limit"),
        "{output}"
    );
}

/// A megabyte that cannot be compressed.
fn noise(seed: u8) -> Vec<u8> {
    let mut random = u64::from(seed) + 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    (0..131_072).flat_map(|_| next().to_le_bytes()).collect()
}

/// Not a test of its own: does nothing unless it runs under the limit.
#[test]
fn reads_below_the_limit() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let store = FjallStore::open(dir, fsync()).unwrap();
    for _ in 0..4 {
        let error = store
            .commit(puts(Space::Items, [("later", "does not fit")]))
            .unwrap_err();
        assert!(error.to_string().contains("ulimit -f"), "{error}");
        for n in 0..25_u8 {
            assert!(value(&store, Space::Items, &[n]).unwrap() == noise(n));
        }
        assert_eq!(value(&store, Space::Items, b"later"), None);
        std::thread::sleep(TIME_TO_TRY);
    }
    println!("read below the limit");
}
