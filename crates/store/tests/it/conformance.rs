//! What every store promises.

use crate::support::{all_rows, on_both, puts, rows_between, value};
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trestle_store::Direction::{Forward, Reverse};
use trestle_store::{Batch, ErrorKind, KEY_BYTES_MAX, Space};

#[test]
fn a_missing_key_is_none_and_a_new_store_is_empty() {
    on_both(|store| {
        for space in Space::ALL {
            assert_eq!(value(store, space, b"absent"), None);
            assert_eq!(all_rows(store, space), []);
        }
        assert_eq!(store.stats().last_commit, 0);
    });
}

#[test]
fn a_batch_changes_all_its_spaces() {
    on_both(|store| {
        let mut batch = Batch::new();
        for space in Space::ALL {
            batch.put(space, b"key", space.name());
        }
        store.commit(batch).unwrap();
        for space in Space::ALL {
            assert_eq!(value(store, space, b"key").unwrap(), space.name().as_bytes());
            assert_eq!(
                all_rows(store, space).len(),
                1,
                "spaces do not leak into one another"
            );
        }
        assert_eq!(store.stats().last_commit, 1);
    });
}

#[test]
fn overwriting_deleting_and_putting_again_leave_the_last_state() {
    on_both(|store| {
        store
            .commit(puts(Space::Items, [("a", "1"), ("b", "1")]))
            .unwrap();
        store.commit(puts(Space::Items, [("a", "2")])).unwrap();
        assert_eq!(value(store, Space::Items, b"a").unwrap(), b"2");
        let mut batch = Batch::new();
        batch.delete(Space::Items, b"a");
        batch.delete(Space::Items, b"never was there");
        store.commit(batch).unwrap();
        assert_eq!(value(store, Space::Items, b"a"), None);
        assert_eq!(all_rows(store, Space::Items), [(b"b".to_vec(), b"1".to_vec())]);
        store.commit(puts(Space::Items, [("a", "3")])).unwrap();
        assert_eq!(value(store, Space::Items, b"a").unwrap(), b"3");
    });
}

#[test]
fn several_changes_of_one_key_in_a_batch_count_as_the_last() {
    on_both(|store| {
        let mut batch = Batch::new();
        batch.put(Space::Items, b"put then deleted", b"x");
        batch.delete(Space::Items, b"put then deleted");
        batch.delete(Space::Items, b"deleted then put");
        batch.put(Space::Items, b"deleted then put", b"y");
        store.commit(batch).unwrap();
        assert_eq!(value(store, Space::Items, b"put then deleted"), None);
        assert_eq!(value(store, Space::Items, b"deleted then put").unwrap(), b"y");
    });
}

#[test]
fn an_empty_batch_is_no_commit() {
    on_both(|store| {
        store.commit(Batch::new()).unwrap();
        assert_eq!(store.stats().last_commit, 0);
    });
}

#[test]
fn empty_values_are_values() {
    on_both(|store| {
        store.commit(puts(Space::Expiry, [("here", "")])).unwrap();
        assert_eq!(value(store, Space::Expiry, b"here").unwrap(), b"");
        assert_eq!(all_rows(store, Space::Expiry).len(), 1);
    });
}

#[test]
fn large_values_come_back_whole() {
    on_both(|store| {
        let random: Vec<u8> = (0..3_000_000u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let repetitive = vec![7; 1_000_000];
        store
            .commit(puts(
                Space::Items,
                [("random", &random), ("repetitive", &repetitive)],
            ))
            .unwrap();
        assert_eq!(value(store, Space::Items, b"random").unwrap(), random);
        assert_eq!(value(store, Space::Items, b"repetitive").unwrap(), repetitive);
    });
}

#[test]
fn the_longest_key_is_stored_and_a_longer_or_empty_one_refused_with_its_batch() {
    on_both(|store| {
        let longest = vec![1; KEY_BYTES_MAX];
        store.commit(puts(Space::Items, [(&longest, b"v")])).unwrap();
        assert_eq!(value(store, Space::Items, &longest).unwrap(), b"v");
        for impossible in [vec![1; KEY_BYTES_MAX + 1], Vec::new()] {
            let mut batch = puts(Space::Meta, [("beside", "v")]);
            batch.put(Space::Items, impossible, b"v");
            assert_eq!(store.commit(batch).unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(value(store, Space::Meta, b"beside"), None);
        }
        store.commit(puts(Space::Meta, [("after", "v")])).unwrap();
    });
}

#[test]
fn a_snapshot_does_not_change() {
    on_both(|store| {
        store
            .commit(puts(Space::Items, [("a", "1"), ("b", "1")]))
            .unwrap();
        let before = store.snapshot();
        let mut batch = puts(Space::Items, [("a", "2"), ("c", "2")]);
        batch.delete(Space::Items, b"b");
        batch.put(Space::Index, b"i", b"2");
        store.commit(batch).unwrap();

        assert_eq!(before.get(Space::Items, b"a").unwrap().unwrap().as_slice(), b"1");
        assert!(before.get(Space::Index, b"i").unwrap().is_none());
        let rows = rows_between(&*before, Space::Items, Unbounded, Unbounded, Forward);
        assert_eq!(
            rows,
            [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"1".to_vec())]
        );
        let after: Vec<_> = all_rows(store, Space::Items)
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        assert_eq!(after, [b"a", b"c"]);
    });
}

#[test]
fn an_iterator_keeps_its_view_while_rows_change_under_it() {
    on_both(|store| {
        store
            .commit(puts(Space::Items, (0..100u8).map(|n| ([n + 1], "old"))))
            .unwrap();
        let view = store.snapshot();
        let mut rows = view.range(Space::Items, Unbounded, Unbounded, Forward);
        let first = rows.next().unwrap().unwrap();
        store
            .commit(puts(Space::Items, (0..200u8).map(|n| ([n + 1], "new"))))
            .unwrap();
        let rest: Vec<_> = rows.map(|row| row.unwrap().1.to_vec()).collect();
        assert_eq!(first.1.as_slice(), b"old");
        assert_eq!(rest, vec![b"old".to_vec(); 99]);
    });
}

#[test]
fn ranges_obey_every_kind_of_bound_in_both_directions() {
    let keys: [&[u8]; 7] = [b"a", b"a\0", b"aa", b"b", b"b\xff", b"c", b"\xff\xff"];
    let points: [&[u8]; 9] = [
        b"\0",
        b"a",
        b"a\0",
        b"ab",
        b"b",
        b"b\xff",
        b"b\xff\0",
        b"\xff",
        b"\xff\xff\xff",
    ];
    let bounds: Vec<Bound<&[u8]>> = points
        .iter()
        .flat_map(|point| [Included(*point), Excluded(*point)])
        .chain([Unbounded])
        .collect();
    on_both(|store| {
        store
            .commit(puts(Space::Index, keys.map(|key| (key, key))))
            .unwrap();
        let view = store.snapshot();
        for start in &bounds {
            for end in &bounds {
                let inside = |key: &&[u8]| after(*start, key) && before(*end, key);
                let mut expected: Vec<Vec<u8>> = keys
                    .iter()
                    .filter(|key| inside(key))
                    .map(|key| key.to_vec())
                    .collect();
                let found = |direction| -> Vec<Vec<u8>> {
                    let rows = rows_between(&*view, Space::Index, *start, *end, direction);
                    rows.into_iter().map(|(key, _)| key).collect()
                };
                assert_eq!(found(Forward), expected, "{start:?}..{end:?}");
                expected.reverse();
                assert_eq!(found(Reverse), expected, "{start:?}..{end:?} in reverse");
            }
        }
    });
}

fn after(start: Bound<&[u8]>, key: &[u8]) -> bool {
    match start {
        Included(start) => key >= start,
        Excluded(start) => key > start,
        Unbounded => true,
    }
}

fn before(end: Bound<&[u8]>, key: &[u8]) -> bool {
    match end {
        Included(end) => key <= end,
        Excluded(end) => key < end,
        Unbounded => true,
    }
}

/// Each batch writes its number to every space and to two keys in one of them. A reader that sees two numbers
/// in one view, or a smaller number in the second of two reads, has seen half a batch.
#[test]
fn readers_never_see_half_a_batch_while_a_writer_works() {
    const BATCHES: u32 = 300;
    on_both(|store| {
        let (views, done) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| check_views(store, &views, &done));
            }
            // On a busy machine the readers may start late.
            while views.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            for number in 1..=BATCHES {
                let mut batch = Batch::new();
                for space in Space::ALL {
                    batch.put(space, b"n", number.to_be_bytes().as_slice());
                    batch.put(space, number.to_be_bytes().as_slice(), b"row");
                }
                store.commit(batch).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        assert_eq!(all_rows(store, Space::Changes).len(), BATCHES as usize + 1);
    });
}

fn check_views(store: &dyn trestle_store::Store, views: &AtomicU32, done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        let view = store.snapshot();
        let number = |space| view.get(space, b"n").unwrap().map(|bytes| bytes.to_vec());
        let first = number(Space::Meta);
        assert!(Space::ALL.iter().all(|space| number(*space) == first));
        let rows = rows_between(&*view, Space::Expiry, Unbounded, Unbounded, Forward).len();
        let expected = first.map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().unwrap()) + 1);
        assert_eq!(rows, expected as usize);

        let earlier = value(store, Space::Meta, b"n");
        let later = value(store, Space::Expiry, b"n");
        assert!(earlier <= later, "a second read went back in time");
        views.fetch_add(1, Ordering::SeqCst);
    }
}
