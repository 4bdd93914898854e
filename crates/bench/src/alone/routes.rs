//! The cost of routes: the time from a write to its delivery on an idle system, and writes with one route and
//! with ten, compared with the same writes without; in the same process, on disk with fsync and in memory.

use super::{Run, backfill, model};
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::report::AloneFigure;
use crate::{Progress, thousands};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, Request,
    StreamSpecification, StreamViewType,
};
use trestle_embedded::{Embedded, Options, RouteSetup};
use trestle_events::{Batch, Deliver, Destination, Door, ModelTyper, Outcome, Route, Router, Target};
use trestle_item::{AttributeValue, Item, ScalarType};

pub(super) const TABLE: &str = "changes";
/// How many routes there are, in the order of the figures.
const ROUTES: [usize; 3] = [0, 1, 10];
/// Turns for each number of routes; the best one counts, for all.
const TURNS: usize = 3;
/// Writes, one at a time, whose deliveries are timed.
const TIMED: u64 = 500;
/// The pause between two of them, so that nothing is running.
const IDLE: Duration = Duration::from_millis(2);
/// The maximum time of a delivery.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let mut figures = Vec::new();
    for on_disk in [true, false] {
        let place = if on_disk { "on disk" } else { "in memory" };
        progress.doing(&format!("routes {place}: delivery"));
        let latencies = deliveries(&DataDirectory::new(run, on_disk)?)?;
        let (p50, p99) = (latencies.micros_at(0.5), latencies.micros_at(0.99));
        progress.done(&format!(
            "from a write to its delivery, {place}: p50 {p50:.0} µs, p99 {p99:.0} µs"
        ));
        figures.push(AloneFigure::new(
            format!("write to delivery {place}, p50"),
            p50,
            "µs",
        ));
        figures.push(AloneFigure::new(
            format!("write to delivery {place}, p99"),
            p99,
            "µs",
        ));
        figures.extend(throughput(run, on_disk, place, progress)?);
        figures.extend(backfill::measure(run, on_disk, place, progress)?);
    }
    Ok(figures)
}

/// Writes per second by the number of routes, and how long the routes lagged at the end.
fn throughput(
    run: &Run<'_>,
    on_disk: bool,
    place: &str,
    progress: &mut dyn Progress,
) -> Result<Vec<AloneFigure>, BenchError> {
    let mut best = ROUTES.map(|routes| (routes, 0.0_f64));
    let mut longest = Duration::ZERO;
    for turn in 0..TURNS {
        for (routes, best) in &mut best {
            progress.doing(&format!("routes {place}: {routes}, turn {}", turn + 1));
            let (rate, lag) = writes(run, &DataDirectory::new(run, on_disk)?, *routes)?;
            *best = best.max(rate);
            longest = longest.max(lag);
        }
    }
    let [(_, none), (_, one), (_, ten)] = best;
    let of_none = |rate: f64| rate / none.max(1e-9) * 100.0;
    let lag = longest.as_secs_f64() * 1_000.0;
    progress.done(&format!(
        "writes per second {place}: {} without routes, {} with one ({:.0} %), {} with ten ({:.0} %); at most {lag:.0} ms \
         later everything was delivered",
        thousands(none),
        thousands(one),
        of_none(one),
        thousands(ten),
        of_none(ten),
    ));
    Ok(vec![
        AloneFigure::new(format!("writes per second {place}, without routes"), none, ""),
        AloneFigure::new(format!("the same with one route {place}"), of_none(one), "%"),
        AloneFigure::new(format!("the same with ten routes {place}"), of_none(ten), "%"),
        AloneFigure::new(
            format!("with ten routes {place}, of the time of a write with one"),
            one / ten.max(1e-9) * 100.0,
            "%",
        ),
        AloneFigure::new(format!("last delivery after the last write {place}"), lag, "ms"),
    ])
}

/// The location of a database during a measurement.
pub(super) struct DataDirectory(Option<tempfile::TempDir>);

impl DataDirectory {
    pub(super) fn new(run: &Run<'_>, on_disk: bool) -> Result<Self, BenchError> {
        let directory = on_disk.then(|| tempfile::tempdir_in(run.directory));
        let directory = directory.transpose().doing("cannot make a directory")?;
        Ok(Self(directory))
    }

    fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(tempfile::TempDir::path)
    }
}

/// A database with running routes.
pub(super) struct Routed {
    pub(super) db: Embedded,
    pub(super) router: Router,
    target: Arc<Taken>,
    arrivals: Receiver<Instant>,
    pub(super) runtime: Runtime,
}

/// A target that takes everything, and records when.
struct Taken {
    count: AtomicU64,
    arrivals: Sender<Instant>,
}

impl Target for Taken {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        self.count
            .fetch_add(batch.deliveries.len() as u64, Ordering::Relaxed);
        // In a measurement of throughput, nothing receives this.
        let _ = self.arrivals.send(Instant::now());
        Box::pin(std::future::ready(Outcome::Done))
    }
}

impl Routed {
    pub(super) fn start(place: &DataDirectory, routes: usize) -> Result<Self, BenchError> {
        let db = match place.path() {
            Some(path) => Embedded::open(path, Options::default()),
            None => Embedded::in_memory(Options::default()),
        };
        let db = db.doing("cannot open a database")?;
        db.run(table()).doing("cannot create a table")?;
        let runtime = Runtime::new().doing("cannot start threads")?;
        let (sender, arrivals) = channel();
        let target = Arc::new(Taken {
            count: AtomicU64::new(0),
            arrivals: sender,
        });
        let door = Door::Target(Arc::clone(&target) as Arc<dyn Target>);
        let router = db.start_router(RouteSetup {
            typer: Arc::new(ModelTyper::default()),
            doors: Arc::new(move |_: &Route| Ok(door.clone())),
            poll: Duration::from_secs(1),
            runtime: runtime.handle().clone(),
            streams: None,
        });
        let router = router.doing("cannot start routes")?;
        let named = |at: usize| Route::new(format!("r{at}"), TABLE, Destination::new("handler", "taken"));
        runtime
            .block_on(router.apply((0..routes).map(named).collect()))
            .doing("cannot start routes")?;
        Ok(Self {
            db,
            router,
            target,
            arrivals,
            runtime,
        })
    }

    /// Waits until this many changes have been delivered.
    pub(super) fn catch_up(&self, changes: u64) -> Result<Duration, BenchError> {
        let began = Instant::now();
        while self.target.count.load(Ordering::Relaxed) < changes {
            if began.elapsed() > PATIENCE {
                return Err(BenchError::new("the routes do not catch up"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(began.elapsed())
    }
}

/// From the beginning of a write until its delivery, one at a time.
fn deliveries(place: &DataDirectory) -> Result<Histogram, BenchError> {
    let routed = Routed::start(place, 1)?;
    let mut latencies = Histogram::default();
    for n in 0..TIMED {
        std::thread::sleep(IDLE);
        let began = Instant::now();
        routed.db.start(put(n, n)).wait().doing("a write failed")?;
        let arrived = routed.arrivals.recv_timeout(PATIENCE);
        latencies.record(arrived.doing("a change is not delivered")? - began);
    }
    Ok(latencies)
}

/// Writes per second, and the time from the last write until all were delivered.
fn writes(run: &Run<'_>, place: &DataDirectory, routes: usize) -> Result<(f64, Duration), BenchError> {
    let routed = Routed::start(place, routes)?;
    let (count, rate) = model::writes(&routed.db, put, 1, run.settings.measured)?;
    let lag = routed.catch_up(count * routes as u64)?;
    routed.runtime.block_on(routed.router.stop());
    Ok((rate, lag))
}

pub(super) fn table() -> CreateTable {
    CreateTable {
        table_name: TABLE.to_owned(),
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".to_owned(),
            key_type: KeyType::Hash,
        }],
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "pk".to_owned(),
            attribute_type: ScalarType::S,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        stream_specification: Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        }),
        ..CreateTable::default()
    }
}

/// A version of a row, of some 240 bytes.
pub(super) fn item(row: u64, version: u64) -> Item {
    let text = "0123456789".repeat(20);
    Item::from([
        ("pk", AttributeValue::from(format!("row-{row:08}"))),
        ("version", AttributeValue::from(version)),
        ("text", AttributeValue::from(text)),
    ])
}

pub(super) fn put(row: u64, version: u64) -> Request {
    Request::from(PutItem {
        table_name: TABLE.to_owned(),
        item: item(row, version),
        ..PutItem::default()
    })
}
