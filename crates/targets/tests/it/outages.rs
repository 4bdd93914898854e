//! A router and a webhook over HTTP: nothing listens, the server hangs, or it answers 500 to one change.

use crate::server::{Received, Reply, Server, reply};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, StreamSpecification,
    StreamViewType,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_events::{
    Destination, Door, Route, RouteState, RouteStatus, Router, RowReading, ScanSettings, Setup,
    StartingPosition, Typer,
};
use trestle_item::{Item, ScalarType};
use trestle_store::MemoryStore;
use trestle_targets::Surroundings;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest pause between two probes.
const PAUSE: Duration = Duration::from_secs(15);

/// A table, and a router that sends its changes to a webhook.
struct World {
    clock: Arc<VirtualClock>,
    engine: Engine,
    router: Router,
}

struct Untyped;

impl Typer for Untyped {
    fn entity(&self, _: &str, _: &Item) -> Option<Arc<str>> {
        None
    }
}

impl World {
    /// With few attempts, as in the guide.
    async fn new(address: SocketAddr) -> World {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
        let engine = Engine::on(Arc::new(MemoryStore::new()), clock.clone(), Options::default()).unwrap();
        engine.run(table()).unwrap();
        let surroundings = Surroundings::with_variables(clock.clone(), |_| None);
        let open = move |route: &Route| {
            let opened = trestle_targets::open(&route.target, &surroundings);
            opened.map(Door::Target).map_err(|faults| format!("{faults:?}"))
        };
        let router = Router::start(Setup {
            state: Arc::new(engine.clone()),
            database: Arc::new(engine.clone()),
            clock: clock.clone(),
            bell: Some(engine.changes()),
            typer: Arc::new(Untyped),
            doors: Arc::new(open),
            rows: RowReading::Scanned(ScanSettings::default()),
            poll: Duration::from_secs(1),
            runtime: tokio::runtime::Handle::current(),
            held: None,
            parked_max: Setup::PARKED_MAX,
        });
        let world = World {
            clock,
            engine,
            router,
        };
        world.apply(address).await;
        world
    }

    async fn apply(&self, address: SocketAddr) {
        let target = json!({"webhook": format!("http://{address}/"), "timeout": "200ms"});
        let Value::Object(target) = target else {
            panic!("a destination is a table");
        };
        let route = Route {
            starting_position: StartingPosition::TrimHorizon,
            maximum_retry_attempts: 2,
            ..Route::new("r", "T", Destination(target))
        };
        self.router.apply(vec![route]).await.unwrap();
    }

    fn put(&self, items: impl IntoIterator<Item = String>) {
        for pk in items {
            let request = PutItem {
                table_name: "T".into(),
                item: Item::from([("pk", pk.as_str())]),
                ..PutItem::default()
            };
            self.engine.run(request).unwrap();
        }
    }

    /// The time, so much later.
    fn clock_plus(&self, later: Duration) -> Timestamp {
        Clock::now(&*self.clock).plus(later)
    }

    fn status(&self) -> RouteStatus {
        self.router.status().remove(0)
    }

    /// Waits, and advances the clock by `step` again and again.
    async fn until(&self, what: &str, step: Duration, mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !done() {
            let status = self.status();
            assert!(
                begun.elapsed() < PATIENCE,
                "still waiting for: {what}; {status:#?}"
            );
            self.clock.advance(step);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn on_hold(&self) {
        let is_on_hold = || self.status().state == RouteState::OnHold;
        self.until("the hold", Duration::ZERO, is_on_hold).await;
    }
}

fn table() -> CreateTable {
    CreateTable {
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
    }
}

/// An address at which nothing listens.
fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// The items of a request.
fn items(received: &Received) -> Vec<String> {
    let body = received.json();
    let records = body["records"].as_array().unwrap();
    let item = |record: &Value| record["input"]["keys"]["pk"].as_str().unwrap().to_owned();
    records.iter().map(item).collect()
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("item-{n}"))
}

/// The items that a server accepted.
type Taken = Arc<Mutex<BTreeSet<String>>>;

/// Answers 500 to each request with the item `bad`, and accepts the others.
fn taking(taken: &Taken) -> impl Fn(&Received) -> Reply + Send + Sync + 'static {
    let taken = Arc::clone(taken);
    move |received| {
        let items = items(received);
        if items.iter().any(|item| item == "bad") {
            return reply(500, "TypeError: total is undefined");
        }
        taken.lock().extend(items);
        reply(200, "")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_listens_everything_waits_an_hour_and_arrives() {
    let address = nowhere();
    let world = World::new(address).await;
    world.put(names(1000));
    world.on_hold().await;
    let end = world.clock_plus(Duration::from_secs(3600));
    world
        .until("an hour", PAUSE, || world.clock_plus(Duration::ZERO) >= end)
        .await;
    let status = world.status();
    let reason = status.on_hold.unwrap().reason;
    assert!(
        reason.starts_with(&format!("no connection to {address}")),
        "{reason}"
    );
    assert_eq!(status.dead, 0);
    let taken = Taken::default();
    let _server = Server::start_at(address, None, taking(&taken)).await;
    world.clock.advance(PAUSE);
    world
        .until("everything", Duration::ZERO, || taken.lock().len() == 1000)
        .await;
    assert_eq!(world.status().dead, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_asked_with_one_change_of_two_items_and_gets_everything_later() {
    let server = Server::start(|_| None).await;
    let address = server.address;
    let world = World::new(address).await;
    world.put(names(100));
    world.on_hold().await;
    let sizes: Vec<usize> = server
        .received()
        .iter()
        .map(|request| items(request).len())
        .collect();
    assert!(
        sizes.len() <= 4 && sizes.iter().skip(1).all(|size| *size < 100),
        "{sizes:?}"
    );
    server.stop().await;
    let taken = Taken::default();
    let _server = Server::start_at(address, None, taking(&taken)).await;
    world
        .until("everything", PAUSE, || taken.lock().len() == 100)
        .await;
    assert_eq!(world.status().dead, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_throttles_everything_for_an_hour_makes_no_dead_letter() {
    let server = Server::start(|_| reply(429, "slower")).await;
    let address = server.address;
    let world = World::new(address).await;
    world.put(names(100));
    world.on_hold().await;
    let end = world.clock_plus(Duration::from_secs(3600));
    world
        .until("an hour", PAUSE, || world.clock_plus(Duration::ZERO) >= end)
        .await;
    assert_eq!(world.status().dead, 0);
    server.stop().await;
    let taken = Taken::default();
    let _server = Server::start_at(address, None, taking(&taken)).await;
    world
        .until("everything", PAUSE, || taken.lock().len() == 100)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_item_that_a_server_answers_500_to_is_one_dead_letter_among_a_thousand() {
    let taken = Taken::default();
    let server = Server::start(taking(&taken)).await;
    let world = World::new(server.address).await;
    world.put(
        names(500)
            .chain(["bad".to_owned()])
            .chain((500..999).map(|n| format!("item-{n}"))),
    );
    world
        .until("the others", Duration::ZERO, || taken.lock().len() == 999)
        .await;
    world
        .until("the dead letter", Duration::from_secs(1), || {
            world.status().dead == 1
        })
        .await;
    let status = world.status();
    assert_eq!((status.parked, status.on_hold), (0, None));
    let page = world.router.dead_letters(None, None, 10).await.unwrap();
    let letter = &page.letters[0];
    assert_eq!((page.letters.len(), letter.attempts), (1, 3));
    assert_eq!(
        letter.error,
        "answered 500 Internal Server Error: TypeError: total is undefined"
    );
}
