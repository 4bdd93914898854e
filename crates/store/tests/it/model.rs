//! Random histories, compared with a sorted map.

use crate::support::{Pairs, buffered, rows_between};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use tempfile::TempDir;
use trestle_store::{Batch, Direction, FjallStore, MemoryStore, Space, Store};

type Model = BTreeMap<(Space, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(Space, Vec<u8>, Option<Vec<u8>>)>),
    Range(Space, Bound<Vec<u8>>, Bound<Vec<u8>>, Direction),
    /// Closes and reopens; does nothing to a store in memory.
    Reopen,
}

/// Few and short, so that histories meet the same keys again.
fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)], 1..4)
}

fn space() -> impl Strategy<Value = Space> {
    proptest::sample::select(Space::ALL.to_vec())
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let change = (
        space(),
        key(),
        proptest::option::weighted(0.7, vec(any::<u8>(), 0..40)),
    );
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Reverse)];
    prop_oneof![
        6 => vec(change, 0..12).prop_map(Step::Commit),
        4 => (space(), bound(), bound(), direction).prop_map(|(space, start, end, direction)| {
            Step::Range(space, start, end, direction)
        }),
        1 => Just(Step::Reopen),
    ]
}

fn commit(store: &dyn Store, model: &mut Model, changes: Vec<(Space, Vec<u8>, Option<Vec<u8>>)>) {
    let mut batch = Batch::new();
    for (space, key, value) in changes {
        match value {
            Some(value) => {
                batch.put(space, key.as_slice(), value.as_slice());
                model.insert((space, key), value);
            }
            None => {
                batch.delete(space, key.as_slice());
                model.remove(&(space, key));
            }
        }
    }
    store.commit(batch).unwrap();
}

fn expected(
    model: &Model,
    space: Space,
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
    direction: Direction,
) -> Pairs {
    let inside = |key: &[u8]| {
        let after = match start {
            Bound::Included(start) => key >= start,
            Bound::Excluded(start) => key > start,
            Bound::Unbounded => true,
        };
        let before = match end {
            Bound::Included(end) => key <= end,
            Bound::Excluded(end) => key < end,
            Bound::Unbounded => true,
        };
        after && before
    };
    let rows = model.iter().filter(|((of, key), _)| *of == space && inside(key));
    let mut rows: Pairs = rows
        .map(|((_, key), value)| (key.clone(), value.clone()))
        .collect();
    if direction == Direction::Reverse {
        rows.reverse();
    }
    rows
}

fn check_all(store: &dyn Store, model: &Model) {
    let view = store.snapshot();
    for space in Space::ALL {
        let (start, end) = (Bound::Unbounded, Bound::Unbounded);
        let rows = rows_between(&*view, space, start, end, Direction::Forward);
        assert_eq!(rows, expected(model, space, start, end, Direction::Forward));
    }
    for ((space, key), value) in model {
        assert_eq!(view.get(*space, key).unwrap().unwrap().as_slice(), value);
    }
}

fn run(mut store: Box<dyn Store>, steps: Vec<Step>, reopen: impl Fn(Box<dyn Store>) -> Box<dyn Store>) {
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Commit(changes) => commit(&*store, &mut model, changes),
            Step::Range(space, start, end, direction) => {
                let (start, end) = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
                let rows = rows_between(&*store.snapshot(), space, start, end, direction);
                assert_eq!(rows, expected(&model, space, start, end, direction));
            }
            Step::Reopen => store = reopen(store),
        }
    }
    check_all(&*store, &model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_in_memory_behaves_like_a_sorted_map(steps in vec(step(), 1..60)) {
        run(Box::new(MemoryStore::new()), steps, |store| store);
    }
}

proptest! {
    // Each case opens a directory several times.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_on_disk_behaves_like_a_sorted_map_across_openings(steps in vec(step(), 1..40)) {
        let dir = TempDir::new().unwrap();
        let open = || Box::new(FjallStore::open(dir.path(), buffered()).unwrap()) as Box<dyn Store>;
        run(open(), steps, |store| {
            drop(store);
            open()
        });
    }
}
