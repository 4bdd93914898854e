//! A database with a stream, a router over it, and a target that records what it got.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, DeleteItem, DescribeStream, DescribeTable,
    Error, KeySchemaElement, KeyType, PutItem, RowPage, Shard, StreamSpecification, StreamViewType,
    UpdateTable,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_events::{
    Batch, Change, Deliver, Destination, Door, HeldSpace, Outcome, Route, RouteStatus, Router, RowReading,
    RowSource, ScanSettings, Setup, StartingPosition, Target, Typer,
};
use trestle_item::{AttributeValue, Item, Number, ScalarType};
use trestle_store::MemoryStore;

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// A database in memory that survives its router, on a clock of its own.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) engine: Engine,
    /// Determines entities for routers: the part before the `#` of the key, unless a test sets another typer.
    pub(crate) typer: Arc<dyn Typer>,
    /// How routers read rows, unless they read them with the position of the stream.
    pub(crate) scan: Option<ScanSettings>,
    /// The information for routers about the space that changes take.
    pub(crate) held: Option<Arc<dyn HeldSpace>>,
    /// The most parked changes of a route.
    pub(crate) parked_max: usize,
}

impl World {
    /// With a table `T` that has a stream.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let engine = Engine::on(Arc::new(MemoryStore::new()), clock.clone(), options).unwrap();
        let typer = Arc::new(ByPrefix);
        let world = Self {
            clock,
            engine,
            typer,
            scan: None,
            held: None,
            parked_max: Setup::PARKED_MAX,
        };
        world.table("T");
        world.table("fence");
        world
    }

    pub(crate) fn table(&self, name: &str) {
        let create = CreateTable {
            table_name: name.into(),
            key_schema: vec![KeySchemaElement {
                attribute_name: "pk".into(),
                key_type: KeyType::Hash,
            }],
            attribute_definitions: vec![AttributeDefinition {
                attribute_name: "pk".into(),
                attribute_type: ScalarType::S,
            }],
            billing_mode: Some(BillingMode::PayPerRequest),
            stream_specification: Some(streaming(true)),
            ..CreateTable::default()
        };
        self.engine.run(create).unwrap();
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        Clock::now(&*self.clock)
    }

    /// Writes version `n` of an item of `T`.
    pub(crate) fn put(&self, pk: &str, n: i64) {
        self.put_in("T", pk, n);
    }

    pub(crate) fn put_in(&self, table: &str, pk: &str, n: i64) {
        let item = Item::from([("pk", AttributeValue::from(pk)), ("n", n.into())]);
        self.put_item(table, item);
    }

    pub(crate) fn put_item(&self, table: &str, item: Item) {
        let request = PutItem {
            table_name: table.into(),
            item,
            ..PutItem::default()
        };
        self.engine.run(request).unwrap();
    }

    pub(crate) fn delete(&self, pk: &str) {
        let request = DeleteItem {
            table_name: "T".into(),
            key: Item::from([("pk", pk)]),
            ..DeleteItem::default()
        };
        self.engine.run(request).unwrap();
    }

    pub(crate) fn stream(&self, is_on: bool) {
        let request = UpdateTable {
            table_name: "T".into(),
            stream_specification: Some(streaming(is_on)),
            ..UpdateTable::default()
        };
        self.engine.run(request).unwrap();
    }

    pub(crate) fn stream_arn(&self) -> String {
        let described = DescribeTable {
            table_name: "T".into(),
        };
        self.engine
            .run(described)
            .unwrap()
            .table
            .latest_stream_arn
            .unwrap()
    }

    /// The open shards of `T`.
    pub(crate) fn shards(&self) -> Vec<String> {
        let request = DescribeStream {
            stream_arn: self.stream_arn(),
            ..DescribeStream::default()
        };
        let shards = self.engine.run(request).unwrap().stream_description.shards;
        let is_open = |shard: &Shard| shard.sequence_number_range.ending_sequence_number.is_none();
        let open = shards.into_iter().filter(is_open);
        open.map(|shard| shard.shard_id).collect()
    }

    /// A router over the database.
    pub(crate) fn life(&self, targets: &[(&str, Arc<Recorder>)]) -> Life {
        self.life_on(Arc::new(self.engine.clone()), targets)
    }

    /// A router over another view of the database.
    pub(crate) fn life_on(&self, database: Arc<dyn Database>, targets: &[(&str, Arc<Recorder>)]) -> Life {
        let doors: HashMap<String, Door> = targets
            .iter()
            .map(|(name, target)| {
                (
                    (*name).to_owned(),
                    Door::Target(Arc::clone(target) as Arc<dyn Target>),
                )
            })
            .collect();
        self.life_with(database, doors)
    }

    pub(crate) fn life_with(&self, database: Arc<dyn Database>, doors: HashMap<String, Door>) -> Life {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        let open = move |route: &Route| {
            let (_, name) = route.target.kind().unwrap();
            let name = name.as_str().unwrap();
            doors
                .get(name)
                .cloned()
                .ok_or_else(|| format!("there is no target `{name}`"))
        };
        let router = Router::start(Setup {
            state: Arc::clone(&database),
            database,
            clock: self.clock.clone(),
            bell: self.scan.is_none().then(|| self.engine.changes()),
            typer: Arc::clone(&self.typer),
            doors: Arc::new(open),
            rows: match &self.scan {
                None => RowReading::AtOneMoment(Arc::new(EngineRows(self.engine.clone()))),
                Some(settings) => RowReading::Scanned(settings.clone()),
            },
            poll: match &self.scan {
                None => Duration::from_secs(1),
                // Without a bell, changes are found only by polling.
                Some(_) => Duration::from_millis(100),
            },
            runtime: runtime.handle().clone(),
            held: self.held.clone(),
            parked_max: self.parked_max,
        });
        Life {
            clock: self.clock.clone(),
            engine: self.engine.clone(),
            runtime: Some(runtime),
            router,
        }
    }
}

fn streaming(is_on: bool) -> StreamSpecification {
    StreamSpecification {
        stream_enabled: is_on,
        stream_view_type: is_on.then_some(StreamViewType::NewAndOldImages),
    }
}

/// The rows of a database in this process.
struct EngineRows(Engine);

impl RowSource for EngineRows {
    fn page(&self, table: &str, after: Option<&Item>, limit: u32) -> Result<RowPage, Error> {
        self.0.row_page(table, after, limit, "layout/")
    }
}

/// The entity is the part of the key before the `#`.
struct ByPrefix;

impl Typer for ByPrefix {
    fn entity(&self, _: &str, item: &Item) -> Option<Arc<str>> {
        Some(item.get("pk")?.as_s()?.split_once('#')?.0.into())
    }
}

/// A router, for the lifetime of its process.
pub(crate) struct Life {
    clock: Arc<VirtualClock>,
    engine: Engine,
    runtime: Option<tokio::runtime::Runtime>,
    pub(crate) router: Router,
}

impl Life {
    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    pub(crate) fn apply(&self, routes: impl Into<Vec<Route>>) {
        self.block_on(self.router.apply(routes.into())).unwrap();
    }

    pub(crate) fn status(&self, route: &str) -> RouteStatus {
        let status = self
            .router
            .status()
            .into_iter()
            .find(|status| status.route == route);
        status.unwrap()
    }

    /// Waits without moving the clock.
    pub(crate) fn until(&self, what: &str, done: impl FnMut() -> bool) {
        self.until_after(what, Duration::ZERO, done);
    }

    /// Waits, advancing the clock by `step` repeatedly.
    pub(crate) fn until_after(&self, what: &str, step: Duration, mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !done() {
            let status = self.router.status();
            assert!(
                begun.elapsed() < PATIENCE,
                "still waiting for: {what}; {status:#?}"
            );
            if !step.is_zero() {
                self.clock.advance(step);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends like a killed process: work under way is not finished.
    pub(crate) fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
        // Unlike that of a killed process, this database continues: its last requests must not be executed
        // after the next router has started. Writes are executed in order.
        let fence = PutItem {
            table_name: "fence".into(),
            item: Item::from([("pk", "fence")]),
            ..PutItem::default()
        };
        self.engine.run(fence).unwrap();
    }

    pub(crate) fn stop(self) {
        self.block_on(self.router.stop());
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A route of all changes of `T` from the first, to the target of its own name.
pub(crate) fn route(name: &str) -> Route {
    Route {
        starting_position: StartingPosition::TrimHorizon,
        ..Route::new(name, "T", Destination::new("handler", name))
    }
}

type Behaviour = Box<dyn Fn(&Batch) -> Outcome + Send + Sync>;

/// A target that records what it took.
pub(crate) struct Recorder {
    behaviour: Mutex<Behaviour>,
    taken: Mutex<Vec<Arc<Change>>>,
    batches: Mutex<Vec<usize>>,
    attempts: Mutex<Vec<u32>>,
}

impl Recorder {
    /// Takes everything.
    pub(crate) fn new() -> Arc<Self> {
        Self::with(|_| Outcome::Done)
    }

    /// Behaves as given for each batch; with `Done` and `Partly` it records the changes.
    pub(crate) fn with(behaviour: impl Fn(&Batch) -> Outcome + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            behaviour: Mutex::new(Box::new(behaviour)),
            taken: Mutex::default(),
            batches: Mutex::default(),
            attempts: Mutex::default(),
        })
    }

    pub(crate) fn behave(&self, behaviour: impl Fn(&Batch) -> Outcome + Send + Sync + 'static) {
        *self.behaviour.lock() = Box::new(behaviour);
    }

    pub(crate) fn count(&self) -> usize {
        self.taken.lock().len()
    }

    pub(crate) fn taken(&self) -> Vec<Arc<Change>> {
        self.taken.lock().clone()
    }

    /// The sizes of all batches, taken or not.
    pub(crate) fn batches(&self) -> Vec<usize> {
        self.batches.lock().clone()
    }

    /// The highest attempt number of each batch.
    pub(crate) fn attempts(&self) -> Vec<u32> {
        self.attempts.lock().clone()
    }

    /// The versions that were taken of each item, in order.
    pub(crate) fn versions(&self) -> HashMap<String, Vec<i64>> {
        let mut versions: HashMap<String, Vec<i64>> = HashMap::new();
        for change in &*self.taken.lock() {
            versions.entry(pk(change)).or_default().push(version(change));
        }
        versions
    }
}

impl Target for Recorder {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        self.batches.lock().push(batch.deliveries.len());
        let attempt = batch.deliveries.iter().map(|delivery| delivery.attempt).max();
        self.attempts.lock().push(attempt.unwrap());
        let outcome = (self.behaviour.lock())(batch);
        let took = |id: &String| match &outcome {
            Outcome::Done => true,
            Outcome::Partly(failed) => failed.iter().all(|(other, _)| other != id),
            Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Unavailable(_) => false,
            Outcome::Interrupted { refused, later, .. } => {
                !later.contains(id) && refused.iter().all(|(other, _)| other != id)
            }
        };
        let taken = batch.deliveries.iter().filter(|delivery| took(&delivery.id));
        self.taken
            .lock()
            .extend(taken.map(|delivery| Arc::clone(&delivery.change)));
        Box::pin(std::future::ready(outcome))
    }
}

pub(crate) fn pk(change: &Change) -> String {
    change.keys.get("pk").unwrap().as_s().unwrap().to_owned()
}

/// The item's version, new or last.
pub(crate) fn version(change: &Change) -> i64 {
    let item = change.new.as_ref().or(change.old.as_ref()).unwrap();
    item.get("n")
        .and_then(AttributeValue::as_n)
        .and_then(Number::to_i64)
        .unwrap()
}

/// Refuses batches in which an item's key begins with `bad`.
pub(crate) fn refuse_bad(batch: &Batch) -> Outcome {
    if batch
        .deliveries
        .iter()
        .any(|delivery| pk(&delivery.change).starts_with("bad"))
    {
        Outcome::Refused("bad".into())
    } else {
        Outcome::Done
    }
}

/// Without repetitions, the versions of an item are these, in order; a repetition starts at an earlier
/// version and continues in order, like a redelivery.
pub(crate) fn assert_in_order(item: &str, versions: &[i64], last: i64) {
    let mut highest = 0;
    let mut previous = 0;
    for version in versions {
        assert!(
            *version <= previous + 1,
            "{item}: {version} after {previous} in {versions:?}"
        );
        previous = *version;
        highest = highest.max(previous);
    }
    assert_eq!((highest, previous), (last, last), "{item}: {versions:?}");
}
