//! Limits on how much a reindex slows down live traffic: while clients write, it takes small steps, one at a time,
//! and returns to normal afterwards.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::TouchRows;
use trestle_reindex::{EndpointHost, LiveTraffic, ReindexSetup, Reindexer, StartReindex, Touch, TouchFuture};

use crate::support::{TouchByEngine, World, to_version};

/// The largest steps with and without live traffic.
const SMALL: usize = 16;
const LARGE: usize = 128;

/// Touches rows, and records its steps.
struct Steps {
    engine: TouchByEngine,
    sizes: Mutex<Vec<usize>>,
    /// Writes of clients so far. They happen during the steps with these numbers.
    writes: Arc<AtomicU64>,
    busy: RangeInclusive<usize>,
    /// How long a row takes, and how long during those steps.
    row: [Duration; 2],
    under_way: AtomicUsize,
    /// The maximum number of steps at the same time, from the twentieth step on.
    at_once: AtomicUsize,
}

impl Steps {
    fn new(world: &World, busy: RangeInclusive<usize>, row: [u64; 2]) -> Arc<Self> {
        Arc::new(Self {
            engine: TouchByEngine(world.engine.clone()),
            sizes: Mutex::default(),
            writes: Arc::default(),
            busy,
            row: row.map(Duration::from_millis),
            under_way: AtomicUsize::default(),
            at_once: AtomicUsize::default(),
        })
    }
}

impl Touch for Steps {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        let number = {
            let mut sizes = self.sizes.lock();
            sizes.push(rows.keys.len());
            sizes.len()
        };
        let is_busy = self.busy.contains(&number);
        self.writes.fetch_add(u64::from(is_busy), Ordering::SeqCst);
        let took = self.row[usize::from(is_busy)] * rows.keys.len() as u32;
        Box::pin(async move {
            let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            if number >= 20 {
                self.at_once.fetch_max(under_way, Ordering::SeqCst);
            }
            tokio::time::sleep(took).await;
            let touched = self.engine.touch(rows).await;
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            touched
        })
    }
}

struct Counted(Arc<AtomicU64>);

impl LiveTraffic for Counted {
    fn other_writes(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Live traffic with writes since the last check, at every check.
#[derive(Default)]
struct Incessant(AtomicU64);

impl LiveTraffic for Incessant {
    fn other_writes(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Touches all rows with these steps.
async fn worked(world: &World, steps: &Arc<Steps>, traffic: Option<Arc<dyn LiveTraffic>>, workers: u32) {
    let setup = world.setup(
        Arc::new(world.engine.clone()),
        Arc::clone(steps) as Arc<dyn Touch>,
        Arc::new(EndpointHost::default()),
    );
    let reindexer = Reindexer::new(ReindexSetup { traffic, ..setup });
    let asked = StartReindex {
        page_rows: 2_000,
        workers,
        ..to_version("one", 7)
    };
    reindexer.start(asked).await.unwrap();
    reindexer.work("one").await.unwrap();
}

#[tokio::test]
async fn steps_are_small_while_others_write_and_grow_again_afterwards() {
    let world = World::new();
    // A single segment.
    world.fill(850);
    let steps = Steps::new(&world, 6..=10, [0, 0]);
    let traffic = Arc::new(Counted(Arc::clone(&steps.writes)));
    worked(&world, &steps, Some(traffic), 1).await;
    let [before, beside, after] = [&[16, 32, 64, 128, 128, 128][..], &[16; 5], &[32, 64, 128, 50]];
    assert_eq!(*steps.sizes.lock(), [before, beside, after].concat());
    assert_eq!(world.at_version(7), 850);
}

#[tokio::test]
async fn beside_others_the_workers_of_a_process_take_turns() {
    let world = World::new();
    world.fill(1_000);
    let steps = Steps::new(&world, 0..=0, [0, 0]);
    worked(&world, &steps, Some(Arc::new(Incessant::default())), 4).await;
    let sizes = steps.sizes.lock();
    assert!(sizes.iter().all(|size| *size <= SMALL), "{sizes:?}");
    assert_eq!(steps.at_once.load(Ordering::SeqCst), 1);
    assert_eq!(world.at_version(7), 1_000);
}

#[tokio::test]
async fn where_others_are_not_known_slow_answers_make_steps_small_until_they_are_fast_again() {
    let world = World::new();
    world.fill(1_500);
    let slow = 6..=10;
    let steps = Steps::new(&world, slow.clone(), [2, 10]);
    worked(&world, &steps, None, 1).await;
    let sizes = steps.sizes.lock();
    let (slow_ones, after) = (&sizes[*slow.start()..*slow.end()], &sizes[*slow.end()..]);
    assert!(slow_ones.iter().all(|size| *size == SMALL), "{sizes:?}");
    assert!(after.iter().any(|size| *size >= LARGE / 2), "{sizes:?}");
    assert_eq!(world.at_version(7), 1_500);
}
