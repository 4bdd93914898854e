//! A process that is killed in the middle of its work.

use crate::support::{buffered, fsync, value};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trestle_store::{Batch, ErrorKind, FjallStore, Settings, Space, Store};

const CHILD_DIR: &str = "STORE_TEST_CHILD_DIR";
const CHILD_BUFFERED: &str = "STORE_TEST_CHILD_BUFFERED";

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    for (mode, settings) in [("", fsync()), ("yes", buffered())] {
        let dir = TempDir::new().unwrap();
        let mut acknowledged = 0;
        for round in 1..=3 {
            acknowledged = kill_after(&dir, mode, round * 40);
            acknowledged = check(&dir, &settings, acknowledged);
        }
        assert!(acknowledged >= 120);
    }
}

/// Starts a writer, kills it once it has acknowledged this commit, and returns the last one it acknowledged.
fn kill_after(dir: &TempDir, mode: &str, commit: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::writes_until_killed", "--nocapture"])
        .env(CHILD_DIR, dir.path())
        .env(CHILD_BUFFERED, mode)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut last = 0;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.by_ref().map(Result::unwrap) {
        // The test harness prints lines of its own.
        last = line
            .strip_prefix("committed ")
            .map_or(last, |number| number.parse().unwrap());
        if last >= commit {
            break;
        }
    }
    let error = FjallStore::open(dir.path(), fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert!(
        error
            .to_string()
            .contains(&format!("in use by process {}", child.id())),
        "{error}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = lines
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("committed ")?.parse().ok());
    rest.last().unwrap_or(last)
}

/// Everything acknowledged is there, and every batch is whole. Returns the last batch.
fn check(dir: &TempDir, settings: &Settings, acknowledged: u64) -> u64 {
    let store = FjallStore::open(dir.path(), settings.clone()).unwrap();
    let last = store.stats().last_commit;
    assert!(
        last >= acknowledged,
        "{acknowledged} was acknowledged, {last} is there"
    );
    for space in Space::ALL {
        assert_eq!(value(&store, space, b"last").unwrap(), last.to_be_bytes());
        for number in 1..=last {
            assert_eq!(value(&store, space, &number.to_be_bytes()).unwrap(), body(number));
        }
    }
    last
}

fn body(number: u64) -> Vec<u8> {
    vec![number as u8; 200 + (number as usize % 7) * 1000]
}

/// Not a test of its own: does nothing unless it runs as the process to be killed.
#[test]
fn writes_until_killed() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let is_buffered = std::env::var(CHILD_BUFFERED).is_ok_and(|mode| mode == "yes");
    let store = FjallStore::open(dir, if is_buffered { buffered() } else { fsync() }).unwrap();
    let first = store.stats().last_commit + 1;
    for number in first..first + 100_000 {
        let mut batch = Batch::new();
        for space in Space::ALL {
            batch.put(space, b"last", number.to_be_bytes().as_slice());
            batch.put(space, number.to_be_bytes().as_slice(), body(number));
        }
        store.commit(batch).unwrap();
        println!("committed {number}");
    }
}
