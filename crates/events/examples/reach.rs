//! Measures what routes cost: from commit to delivery on an idle system, and the throughput of writes without routes,
//! with one and with ten.
//!
//! `cargo run --release -p trestle-events --example reach [DIRECTORY]`: in memory, or in a new directory inside of that one.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement talks to the terminal and ends when it cannot go on"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, StreamSpecification,
    StreamViewType,
};
use trestle_engine::{Engine, Options, StoreSettings};
use trestle_env::SystemClock;
use trestle_events::{Batch, Deliver, Destination, Door, Outcome, Route, Router, Setup, Target, Typer};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_store::{FjallStore, MemoryStore, Store};

const WRITERS: usize = 16;
const WRITES: usize = 20_000;

/// Counts what it gets, and tells who waits for it.
#[derive(Default)]
struct Counter {
    count: AtomicU64,
    arrived: parking_lot::Mutex<Option<Instant>>,
    bell: parking_lot::Condvar,
}

impl Target for Counter {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        self.count
            .fetch_add(batch.deliveries.len() as u64, Ordering::SeqCst);
        *self.arrived.lock() = Some(Instant::now());
        self.bell.notify_one();
        Box::pin(std::future::ready(Outcome::Done))
    }
}

struct Nothing;

impl Typer for Nothing {
    fn entity(&self, _: &str, _: &Item) -> Option<Arc<str>> {
        None
    }
}

fn main() {
    let home = std::env::args().nth(1);
    let run = |routes: usize| {
        let directory = home.as_ref().map(|home| tempfile::tempdir_in(home).unwrap());
        throughput(directory.as_ref().map(tempfile::TempDir::path), routes)
    };
    run(0);
    for _ in 0..3 {
        let (none, one, ten) = (run(0), run(1), run(10));
        println!(
            "writes/s: {none:.0} without routes, {one:.0} with one ({:.0} %), {ten:.0} with ten; one costs {:.1} us a \
             write, ten {:.1} us",
            100.0 * one / none,
            1e6 / one - 1e6 / none,
            1e6 / ten - 1e6 / none,
        );
    }
    latency();
}

/// An engine, a router with so many routes, and what they deliver to.
fn start(
    directory: Option<&Path>,
    routes: usize,
) -> (Engine, Router, Vec<Arc<Counter>>, tokio::runtime::Runtime) {
    let store: Arc<dyn Store> = match directory {
        Some(directory) => Arc::new(FjallStore::open(directory, StoreSettings::default()).unwrap()),
        None => Arc::new(MemoryStore::new()),
    };
    let engine = Engine::on(store, Arc::new(SystemClock::new()), Options::default()).unwrap();
    let create = CreateTable {
        table_name: "T".into(),
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".into(),
            key_type: KeyType::Hash,
        }],
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "pk".into(),
            attribute_type: ScalarType::S,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        stream_specification: Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        }),
        ..CreateTable::default()
    };
    engine.run(create).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let counters: Vec<Arc<Counter>> = (0..routes).map(|_| Arc::default()).collect();
    let targets = counters.clone();
    let open = move |route: &Route| {
        let at: usize = route.target.kind().unwrap().1.as_str().unwrap().parse().unwrap();
        Ok(Door::Target(targets[at].clone()))
    };
    let router = Router::start(Setup {
        database: Arc::new(engine.clone()),
        state: Arc::new(engine.clone()),
        clock: Arc::new(SystemClock::new()),
        bell: Some(engine.changes()),
        typer: Arc::new(Nothing),
        doors: Arc::new(open),
        poll: Duration::from_secs(1),
        runtime: runtime.handle().clone(),
    });
    let named = |at: usize| Route::new(format!("r{at}"), "T", Destination::new("handler", at.to_string()));
    runtime
        .block_on(router.apply((0..routes).map(named).collect()))
        .unwrap();
    (engine, router, counters, runtime)
}

fn put(key: usize, n: usize) -> PutItem {
    let text = "0123456789".repeat(10);
    PutItem {
        table_name: "T".into(),
        item: Item::from([
            ("pk", AttributeValue::from(format!("item-{key}"))),
            ("n", AttributeValue::from(n as u64)),
            ("text", text.as_str().into()),
            ("more", text.as_str().into()),
        ]),
        ..PutItem::default()
    }
}

/// Writes in a second, until everything is delivered.
fn throughput(directory: Option<&Path>, routes: usize) -> f64 {
    let (engine, router, counters, runtime) = start(directory, routes);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let engine = &engine;
            scope.spawn(move || {
                for n in 0..WRITES / WRITERS {
                    engine.run(put(writer * 1000 + n % 100, n)).unwrap();
                }
            });
        }
    });
    let written = begun.elapsed();
    let all = (WRITES / WRITERS * WRITERS) as u64;
    while counters
        .iter()
        .any(|counter| counter.count.load(Ordering::SeqCst) < all)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    let lag = begun.elapsed() - written;
    if lag > Duration::from_millis(200) {
        println!("  {routes} routes: the last change was delivered {lag:?} after the last write");
    }
    runtime.block_on(router.stop());
    all as f64 / written.as_secs_f64()
}

/// From the answer to a write until its delivery, one at a time.
fn latency() {
    let (engine, _router, counters, _runtime) = start(None, 1);
    let counter = &counters[0];
    let mut times: Vec<Duration> = (0..500)
        .map(|n| {
            std::thread::sleep(Duration::from_millis(2));
            let mut arrived = counter.arrived.lock();
            *arrived = None;
            let begun = Instant::now();
            engine.run(put(n, n)).unwrap();
            while arrived.is_none() {
                counter.bell.wait(&mut arrived);
            }
            arrived.map_or(Duration::MAX, |at| at - begun)
        })
        .collect();
    times.sort_unstable();
    println!("write to delivery: median {:?}, p99 {:?}", times[250], times[494]);
}
