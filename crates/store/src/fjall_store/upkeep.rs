//! The background work of an open store while it is idle.
//!
//! - Second names are kept up to date with the journals ([`second_names`](super::second_names)).
//! - Tables in which many rows were deleted are merged once there has been no commit for a while; buffers are
//!   written to tables before. The engine merges only when new rows are written, so the space of a deleted
//!   table would otherwise stay in use until then.
//! - Tables of a small store are merged when it is idle, so that a range reads one block instead of one block
//!   of each of several tables ([`sorted_runs`](super::sorted_runs)). That happens once after each write at
//!   most.

use super::inner::Inner;
use super::opened::Opened;
use super::repeated::Repeated;
use crate::Result;
use std::sync::Arc;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// After so many checks without a commit the store is idle.
const LOOKS_AT_REST: u32 = 3;

/// After so many deletions the tables are checked.
const DELETIONS_MIN: u64 = 1_000;

/// A snapshot may stay open for long.
const ATTEMPTS_MAX: u32 = 10;

/// Works until it is dropped.
pub(super) fn start(inner: Arc<Inner>) -> Result<Repeated> {
    let mut upkeep = Upkeep::default();
    Repeated::start("store-upkeep", INTERVAL, move || upkeep.work(&inner))
}

#[derive(Default)]
struct Upkeep {
    /// The state at the last check.
    commits: u64,
    /// Checks since the last one that saw a commit.
    idle_looks: u32,
    /// The last commit before the store was merged because it was idle.
    merged_after: Option<u64>,
    /// The number of deletions whose rows have been cleared away.
    deletions_cleared: u64,
    /// How often clearing was attempted.
    attempts: u32,
}

impl Upkeep {
    fn work(&mut self, inner: &Inner) {
        inner.name_journals();
        let commits = inner.last_commit();
        let is_idle = commits == std::mem::replace(&mut self.commits, commits);
        self.idle_looks = if is_idle {
            self.idle_looks.saturating_add(1)
        } else {
            0
        };
        let is_tidied = is_idle && inner.is_writable();
        if let Some(opened) = inner.opened_if_well().filter(|_| is_tidied) {
            self.tidy(&opened, inner.deletions());
        }
    }

    /// Rows that an open snapshot can still see stay; clearing is attempted again.
    fn clear(&mut self, opened: &Opened, deletions: u64) {
        opened.merge(opened.keyspaces.worth_merging());
        self.attempts += 1;
        if self.attempts == ATTEMPTS_MAX || opened.keyspaces.worth_merging().next().is_none() {
            (self.deletions_cleared, self.attempts) = (deletions, 0);
        }
    }

    /// Nothing was written for a while.
    fn tidy(&mut self, opened: &Opened, deletions: u64) {
        let keyspaces = &opened.keyspaces;
        if keyspaces.has_sealed_buffers() {
            return;
        }
        // Rows in buffers are read faster than rows in tables: so they stay there unless there is a reason.
        match deletions - self.deletions_cleared >= DELETIONS_MIN {
            true if keyspaces.buffered_bytes() > 0 => keyspaces.seal_buffers(),
            true => self.clear(opened, deletions),
            false => self.sort(opened),
        }
    }

    /// Merges the tables that are worth it, once after each write.
    fn sort(&mut self, opened: &Opened) {
        if self.idle_looks >= LOOKS_AT_REST && self.merged_after != Some(self.commits) {
            self.merged_after = Some(self.commits);
            opened.merge(opened.keyspaces.worth_sorting());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fjall_store::FjallStore;
    use crate::fjall_store::sorted_runs::SortedRuns;
    use crate::{Batch, DirectoryAccess, Settings, Space, Store};
    use fjall::AbstractTree as _;
    use std::ops::Range;
    use std::time::Instant;
    use tempfile::TempDir;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A store whose upkeep is run only by the test.
    fn open(dir: &TempDir, access: DirectoryAccess) -> FjallStore {
        let settings = Settings {
            access,
            ..Settings::default()
        };
        let mut store = FjallStore::open(dir.path(), settings).unwrap();
        store.background.clear();
        store
    }

    fn runs(store: &FjallStore) -> usize {
        let opened = store.inner.opened_if_well().unwrap();
        SortedRuns::of(opened.keyspaces.of(Space::Items)).count
    }

    /// A value that changes whenever the tables change.
    fn version(store: &FjallStore) -> u64 {
        let opened = store.inner.opened_if_well().unwrap();
        opened.keyspaces.of(Space::Items).tree.current_version().id()
    }

    /// Rows over all keys, so that the tables overlap.
    fn put(store: &FjallStore, rows: Range<u32>) {
        let mut batch = Batch::new();
        for row in rows {
            let key = row.wrapping_mul(2_654_435_769).to_be_bytes();
            batch.put(Space::Items, key.as_slice(), vec![7; 100]);
        }
        store.commit(batch).unwrap();
    }

    /// Writes what is in buffers to a table.
    fn write_table(store: &FjallStore) {
        let opened = store.inner.opened_if_well().unwrap();
        opened.keyspaces.seal_buffers();
        wait_until(|| !opened.keyspaces.has_sealed_buffers());
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// One table that the engine has moved out of its first level, and one that it leaves there until another
    /// is added.
    fn two_runs(dir: &TempDir) -> FjallStore {
        let store = open(dir, DirectoryAccess::ReadWrite);
        put(&store, 0..1_000);
        write_table(&store);
        let opened = store.inner.opened_if_well().unwrap();
        wait_until(|| opened.keyspaces.of(Space::Items).tree.l0_run_count() == 0);
        put(&store, 1_000..2_000);
        write_table(&store);
        assert_eq!(runs(&store), 2);
        store
    }

    fn look(upkeep: &mut Upkeep, store: &FjallStore, times: u32) {
        (0..times).for_each(|_| upkeep.work(&store.inner));
    }

    #[test]
    fn a_merge_that_is_asked_for_makes_tables_and_what_is_in_memory_one_run() {
        let dir = TempDir::new().unwrap();
        let store = two_runs(&dir);
        put(&store, 2_000..2_001);
        store.merge().unwrap();
        assert_eq!(runs(&store), 1);
        let opened = store.inner.opened_if_well().unwrap();
        assert_eq!(opened.keyspaces.of(Space::Items).tree.active_memtable().size(), 0);
    }

    #[test]
    fn tables_are_merged_when_the_store_comes_to_rest_and_not_again_without_a_write() {
        let dir = TempDir::new().unwrap();
        let store = two_runs(&dir);
        let mut upkeep = Upkeep::default();
        // The first check sees commits.
        look(&mut upkeep, &store, LOOKS_AT_REST);
        assert_eq!(runs(&store), 2, "not at rest yet");
        look(&mut upkeep, &store, 1);
        assert_eq!(runs(&store), 1);
        let merged = version(&store);
        look(&mut upkeep, &store, 2 * LOOKS_AT_REST);
        assert_eq!(version(&store), merged, "nothing was written meanwhile");
        put(&store, 0..1);
        write_table(&store);
        let written = version(&store);
        look(&mut upkeep, &store, 2 * LOOKS_AT_REST);
        assert_eq!(version(&store), written, "a row is not worth it");
        put(&store, 2_000..3_000);
        write_table(&store);
        look(&mut upkeep, &store, LOOKS_AT_REST + 1);
        assert_eq!(runs(&store), 1, "a third is");
        let rows = store.snapshot();
        let rows = rows.range(
            Space::Items,
            std::ops::Bound::Unbounded,
            std::ops::Bound::Unbounded,
            crate::Direction::Forward,
        );
        assert_eq!(rows.count(), 3_000);
    }

    #[test]
    fn tables_stay_as_they_are_while_commits_come() {
        let dir = TempDir::new().unwrap();
        let store = two_runs(&dir);
        let mut upkeep = Upkeep::default();
        for row in 0..5 * LOOKS_AT_REST {
            look(&mut upkeep, &store, LOOKS_AT_REST);
            put(&store, row..row + 1);
        }
        assert_eq!(runs(&store), 2);
    }

    #[test]
    fn tables_of_a_directory_that_is_only_read_stay_as_they_are() {
        let dir = TempDir::new().unwrap();
        drop(two_runs(&dir));
        let store = open(&dir, DirectoryAccess::ReadOnly);
        look(&mut Upkeep::default(), &store, 3 * LOOKS_AT_REST);
        assert_eq!(runs(&store), 2);
    }

    /// The longest that a commit of one row took while the store did this, and how many commits there were.
    fn longest_commit(store: &FjallStore, pace: Duration, work: impl FnOnce() + Send) -> (Duration, u32) {
        std::thread::scope(|scope| {
            let working = scope.spawn(work);
            let (mut longest, mut commits) = (Duration::ZERO, 0);
            while !working.is_finished() {
                let begun = Instant::now();
                put(store, 10_000_000 + commits..10_000_001 + commits);
                longest = longest.max(begun.elapsed());
                commits += 1;
                std::thread::sleep(pace);
            }
            (longest, commits)
        })
    }

    /// ```sh
    /// cargo test --release -p trestle-store --lib commits_beside_a_merge -- --ignored --nocapture
    /// ```
    #[test]
    #[ignore = "a measurement: it takes half a minute and says how long commits wait"]
    fn commits_beside_a_merge() {
        for pace in [Duration::ZERO, Duration::from_micros(500)] {
            let dir = TempDir::new().unwrap();
            let store = open(&dir, DirectoryAccess::ReadWrite);
            // 240 MiB in two runs: the most that is merged in an idle store.
            for part in 0..24_u32 {
                let mut batch = Batch::new();
                for row in part * 100_000..(part + 1) * 100_000 {
                    let key = row.wrapping_mul(2_654_435_769).to_be_bytes();
                    let random = u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                    batch.put(Space::Items, key.as_slice(), random.repeat(12));
                }
                store.commit(batch).unwrap();
            }
            write_table(&store);
            let opened = store.inner.opened_if_well().unwrap();
            std::thread::sleep(Duration::from_secs(5));
            let items = opened.keyspaces.of(Space::Items);
            let bytes = items.disk_space() >> 20;
            let alone = longest_commit(&store, pace, || std::thread::sleep(Duration::from_secs(3)));
            let begun = Instant::now();
            let beside = longest_commit(&store, pace, || opened.merge(std::iter::once(items)));
            let took = begun.elapsed();
            println!(
                "pace {pace:?}: {bytes} MiB merged in {took:?}; longest commit {beside:?}, without a merge {alone:?}"
            );
        }
    }
}
