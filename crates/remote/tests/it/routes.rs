//! The router over a remote database: it reads streams over HTTP, and stores its checkpoints elsewhere.

use crate::own_server::{Own, in_memory, table};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use trestle_api::{DatabaseExt, PutItem};
use trestle_engine::Engine;
use trestle_env::SystemClock;
use trestle_events::{
    Batch, Deliver, Destination, Door, ModelTyper, Outcome, Route, Router, RowReading, ScanSettings, Setup,
    StartingPosition, Target,
};
use trestle_item::{AttributeValue, Item};

const KEYS: i64 = 7;

/// The received numbers of each key, in order.
#[derive(Default)]
struct Seen {
    numbers: Mutex<BTreeMap<String, Vec<i64>>>,
    more: Notify,
}

impl Target for Seen {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        let mut numbers = self.numbers.lock().unwrap();
        for delivery in &batch.deliveries {
            let new = delivery.change.new.as_ref().unwrap();
            let number = new.get("n").and_then(|n| n.as_n()?.to_i64()).unwrap();
            let key = new.get("pk").and_then(|pk| pk.as_s()).unwrap();
            numbers.entry(key.to_owned()).or_default().push(number);
        }
        drop(numbers);
        self.more.notify_one();
        Box::pin(async { Outcome::Done })
    }
}

impl Seen {
    /// Waits until so many different changes have arrived.
    async fn until(&self, count: usize) {
        loop {
            let seen = |numbers: &Vec<i64>| numbers.iter().collect::<std::collections::BTreeSet<_>>().len();
            if self.numbers.lock().unwrap().values().map(seen).sum::<usize>() >= count {
                return;
            }
            self.more.notified().await;
        }
    }
}

/// A router that is killed together with its threads.
fn life(own: &Own, state: &Engine, seen: &Arc<Seen>) -> (Runtime, Router) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let door = Door::Target(Arc::clone(seen) as _);
    let router = Router::start(Setup {
        database: Arc::new(own.remote()),
        state: Arc::new(state.clone()),
        clock: Arc::new(SystemClock::new()),
        bell: None,
        typer: Arc::new(ModelTyper::default()),
        doors: Arc::new(move |_: &Route| Ok(door.clone())),
        rows: RowReading::Scanned(ScanSettings::default()),
        poll: Duration::from_millis(10),
        runtime: runtime.handle().clone(),
        held: None,
        parked_max: Setup::PARKED_MAX,
    });
    (runtime, router)
}

fn route() -> Route {
    let target = json!({"handler": "seen"});
    Route {
        starting_position: StartingPosition::TrimHorizon,
        parallelization_factor: 2,
        ..Route::new("r", "things", Destination(target.as_object().unwrap().clone()))
    }
}

async fn write(own: &Own, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let put = PutItem {
            table_name: "things".into(),
            item: Item::from([
                ("pk", AttributeValue::from(format!("key {}", number % KEYS))),
                ("sk", AttributeValue::from("1")),
                ("n", AttributeValue::from(number)),
            ]),
            ..PutItem::default()
        };
        own.engine.put_item(put).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_over_http_deliver_in_order_and_go_on_from_their_place() {
    let own = Own::start().await;
    own.engine.create_table(table("things")).await.unwrap();
    let state = in_memory();
    let seen = Arc::new(Seen::default());

    let (runtime, router) = life(&own, &state, &seen);
    router.apply(vec![route()]).await.unwrap();
    write(&own, 0..100).await;
    seen.until(100).await;
    write(&own, 100..200).await;
    // It is killed in the middle of its work.
    runtime.shutdown_background();
    drop(router);
    write(&own, 200..300).await;

    let (runtime, router) = life(&own, &state, &seen);
    router.apply(vec![route()]).await.unwrap();
    seen.until(300).await;
    router.stop().await;
    let status = router.dead_letters(None, None, 10).await.unwrap();
    assert!(status.letters.is_empty());
    runtime.shutdown_background();

    for (key, numbers) in &*seen.numbers.lock().unwrap() {
        // Changes under way when it was killed may be delivered twice; none is lost, and none overtakes
        // another.
        let mut first = Vec::new();
        for number in numbers {
            if !first.contains(number) {
                first.push(*number);
            }
        }
        assert!(first.is_sorted(), "{key}: {numbers:?}");
    }
    // After a clean end, the next start has nothing to do.
    let before = seen.numbers.lock().unwrap().clone();
    let (runtime, router) = life(&own, &state, &seen);
    router.apply(vec![route()]).await.unwrap();
    write(&own, 300..301).await;
    seen.until(301).await;
    router.stop().await;
    runtime.shutdown_background();
    let after = seen.numbers.lock().unwrap();
    let count = |numbers: &BTreeMap<String, Vec<i64>>| numbers.values().map(Vec::len).sum::<usize>();
    assert_eq!(count(&after), count(&before) + 1);
}
