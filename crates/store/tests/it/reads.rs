//! The costs of reads are counted.

use crate::support::{all_rows, buffered, on_both, puts, rows_between, value};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::Path;
use tempfile::TempDir;
use trestle_store::{Direction, FjallStore, ReadCounts, ReadPurpose, Space, Store};

const ASKED: ReadPurpose = ReadPurpose(5);

/// What `read` costs.
fn cost(store: &dyn Store, read: impl FnOnce(&dyn Store)) -> ReadCounts {
    let before = store.reads(ASKED);
    ASKED.during(|| read(store));
    store.reads(ASKED) - before
}

#[test]
fn a_lookup_is_one_whether_or_not_there_is_a_row_and_a_range_is_one_however_many_rows_it_has() {
    on_both(|store| {
        store
            .commit(puts(Space::Items, [("a", "1"), ("b", "2"), ("c", "3")]))
            .unwrap();
        let lookup = ReadCounts {
            point_lookups: 1,
            ..ReadCounts::default()
        };
        let range = ReadCounts {
            ranges: 1,
            ..ReadCounts::default()
        };
        assert_eq!(
            cost(store, |store| drop(value(store, Space::Items, b"a"))),
            lookup
        );
        assert_eq!(
            cost(store, |store| drop(value(store, Space::Items, b"z"))),
            lookup
        );
        assert_eq!(cost(store, |store| drop(all_rows(store, Space::Items))), range);
        assert_eq!(cost(store, |store| drop(all_rows(store, Space::Index))), range);
        let twice = |store: &dyn Store| {
            let view = store.snapshot();
            view.get(Space::Items, b"b").unwrap();
            rows_between(
                &*view,
                Space::Items,
                Included(b"b"),
                Unbounded,
                Direction::Reverse,
            );
            // Bounds in the wrong order: storage is not asked.
            rows_between(
                &*view,
                Space::Items,
                Excluded(b"c"),
                Excluded(b"a"),
                Direction::Forward,
            );
        };
        assert_eq!(cost(store, twice), lookup + range);
    });
}

#[test]
fn reads_without_a_purpose_and_for_another_one_are_counted_apart() {
    on_both(|store| {
        let before = store.reads(ReadPurpose::default());
        let other = cost(store, |store| {
            ReadPurpose(6).during(|| value(store, Space::Meta, b"a"));
        });
        value(store, Space::Meta, b"a");
        assert_eq!(other, ReadCounts::default());
        assert_eq!(store.reads(ReadPurpose(6)).point_lookups, 1);
        assert_eq!((store.reads(ReadPurpose::default()) - before).point_lookups, 1);
    });
}

const ROWS: u32 = 640;

/// Larger than a block should be, so each row has a block of its own.
fn row(n: u32) -> ([u8; 4], Vec<u8>) {
    (n.to_be_bytes(), vec![n as u8; 64 * 1024])
}

/// So many rows that most are in tables when the store is closed, the first ones in any case.
fn fill(dir: &Path) {
    let store = FjallStore::open(dir, buffered()).unwrap();
    for n in 0..ROWS {
        store.commit(puts(Space::Items, [row(n)])).unwrap();
    }
}

#[test]
fn a_row_comes_from_disk_the_first_time_and_from_the_cache_the_second() {
    let dir = TempDir::new().unwrap();
    fill(dir.path());
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let read = |store: &dyn Store| {
        let (key, bytes) = row(77);
        assert_eq!(value(store, Space::Items, &key), Some(bytes));
    };
    let (cold, warm) = (cost(&store, read), cost(&store, read));
    assert_eq!((cold.point_lookups, warm.point_lookups), (1, 1));
    assert!(cold.blocks_from_disk >= 1, "{cold:?}");
    assert_eq!(warm.blocks_from_disk, 0, "{warm:?}");
    assert_eq!(
        warm.blocks_from_cache,
        cold.blocks_from_disk + cold.blocks_from_cache,
        "the same blocks, from the cache: {cold:?}, {warm:?}"
    );
}

/// The engine's iterators do not count what they find in the cache. The documentation says so: if this fails,
/// the documentation can promise more.
#[test]
fn a_warm_range_counts_no_blocks_of_rows() {
    let dir = TempDir::new().unwrap();
    fill(dir.path());
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let read = |store: &dyn Store| {
        let view = store.snapshot();
        let rows = view.range(Space::Items, Unbounded, Unbounded, Direction::Forward);
        assert_eq!(rows.take(40).filter(Result::is_ok).count(), 40);
    };
    let (cold, warm) = (cost(&store, read), cost(&store, read));
    assert!(cold.blocks_from_disk >= 40, "{cold:?}");
    assert_eq!(warm.blocks_from_disk, 0, "{warm:?}");
    assert!(warm.blocks_from_cache < 40, "{warm:?}");
}

#[test]
fn a_range_counts_the_blocks_it_has_read_also_when_it_is_left_early() {
    let dir = TempDir::new().unwrap();
    fill(dir.path());
    let store = FjallStore::open(dir.path(), buffered()).unwrap();
    let few = cost(&store, |store| {
        let view = store.snapshot();
        let mut rows = view.range(Space::Items, Unbounded, Unbounded, Direction::Forward);
        rows.nth(9).unwrap().unwrap();
    });
    let all = cost(&store, |store| {
        assert_eq!(all_rows(store, Space::Items).len() as u32, ROWS)
    });
    assert_eq!((few.ranges, all.ranges), (1, 1));
    assert!((10..40).contains(&few.blocks_from_disk), "{few:?}");
    let blocks = all.blocks_from_disk + all.blocks_from_cache;
    assert!(blocks >= u64::from(ROWS / 2), "{all:?}");
}
