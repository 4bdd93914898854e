//! Undelivered changes of an enabled route are kept for any time; clients see 24 hours of them.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, DeleteTable, DescribeStream, DescribeTable, ErrorKind,
    GetRecords, GetShardIterator, KeySchemaElement, KeyType, ListStreams, Record, ShardIteratorType,
    StreamSpecification, StreamViewType, UpdateTable,
};
use trestle_embedded::{Embedded, EngineOptions, Options, RouteSetup, StoreSettings};
use trestle_env::{Clock, VirtualClock};
use trestle_events::{
    Batch, Deliver, Door, ModelTyper, Outcome, Route, RouteState, Router, Target, read_routes,
};
use trestle_item::{AttributeValue, Number, ScalarType};
use trestle_store::{Direction, FjallStore, MemoryStore, Space, Store};

use crate::support::{put, until};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A target that takes everything, or nothing.
#[derive(Default)]
struct Taker {
    is_away: Mutex<bool>,
    asked: Mutex<usize>,
    taken: Mutex<HashMap<String, Vec<i64>>>,
}

impl Target for Taker {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        *self.asked.lock() += 1;
        if *self.is_away.lock() {
            return Box::pin(std::future::ready(Outcome::Unavailable("away".into())));
        }
        for delivery in &batch.deliveries {
            let image = delivery
                .change
                .new
                .as_ref()
                .or(delivery.change.old.as_ref())
                .unwrap();
            let n = image
                .get("n")
                .and_then(AttributeValue::as_n)
                .and_then(Number::to_i64);
            let pk = image.get("pk").unwrap().as_s().unwrap().to_owned();
            self.taken.lock().entry(pk).or_default().push(n.unwrap());
        }
        Box::pin(std::future::ready(Outcome::Done))
    }
}

impl Taker {
    fn away(is_away: bool) -> Arc<Self> {
        let taker = Self::default();
        *taker.is_away.lock() = is_away;
        Arc::new(taker)
    }

    fn count(&self) -> usize {
        self.taken.lock().values().map(Vec::len).sum()
    }
}

/// A store and a clock that outlive the database and its process.
struct Absence {
    store: Arc<dyn Store>,
    clock: Arc<VirtualClock>,
    options: Options,
}

/// A process: a database and its router.
struct Process {
    db: Embedded,
    router: Option<Router>,
    runtime: Runtime,
}

impl Absence {
    fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new()), EngineOptions::default())
    }

    fn with(store: Arc<dyn Store>, engine: EngineOptions) -> Self {
        Self {
            store,
            clock: Arc::new(VirtualClock::new()),
            options: Options {
                engine,
                ..Options::default()
            },
        }
    }

    fn open(&self) -> Process {
        let db = Embedded::on(self.store.clone(), self.clock.clone(), self.options.clone()).unwrap();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        Process {
            db,
            router: None,
            runtime,
        }
    }

    fn records(&self) -> usize {
        let snapshot = self.store.snapshot();
        let rows = snapshot.range(
            Space::Changes,
            Bound::Unbounded,
            Bound::Unbounded,
            Direction::Forward,
        );
        rows.map(Result::unwrap).count()
    }

    fn until(&self, what: &str, holds: impl FnMut() -> bool) {
        until(&self.clock, what, holds);
    }

    /// Waits until the janitor has trimmed all but this many records, and has had time to trim more.
    fn until_trimmed_to(&self, records: usize) {
        self.until("the janitor to trim", || self.records() == records);
        for _ in 0..50 {
            self.clock.signal().ring();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.records(), records, "what is needed stays");
    }
}

fn routes(text: &str) -> Vec<Route> {
    let file = read_routes(text, &[], &|_| Vec::new());
    assert!(file.problems.is_empty(), "{:?}", file.problems);
    file.routes
}

impl Process {
    fn apply(&mut self, text: &str, target: &Arc<Taker>) {
        let router = match self.router.take() {
            Some(router) => router,
            None => {
                let target = Arc::clone(target);
                let setup = RouteSetup {
                    typer: Arc::new(ModelTyper::default()),
                    doors: Arc::new(move |_: &Route| Ok(Door::Target(target.clone() as Arc<dyn Target>))),
                    poll: Duration::from_secs(1),
                    runtime: self.runtime.handle().clone(),
                    streams: None,
                };
                self.db.start_router(setup).unwrap()
            }
        };
        self.runtime.block_on(router.apply(routes(text))).unwrap();
        self.router = Some(router);
    }

    /// The route's target can no longer be opened.
    fn hold_back(&self, text: &str) {
        let held_back = |route| Route {
            held_back: Some("no such file".into()),
            ..route
        };
        let routes = routes(text).into_iter().map(held_back).collect();
        let router = self.router.as_ref().unwrap();
        self.runtime.block_on(router.apply(routes)).unwrap();
    }

    fn table(&self, name: &str) {
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
        self.db.run(create).unwrap();
    }

    fn put(&self, table: &str, pk: &str, n: i64) {
        put(&self.db, table, json!({"pk": pk, "n": n}));
    }

    fn stream_arn(&self) -> Option<String> {
        let describe = DescribeTable {
            table_name: "T".into(),
        };
        self.db.run(describe).unwrap().table.latest_stream_arn
    }

    /// What a client reads from the trim horizon of every shard.
    fn seen_by_clients(&self, stream_arn: &str) -> Vec<Record> {
        let describe = DescribeStream {
            stream_arn: stream_arn.to_owned(),
            ..DescribeStream::default()
        };
        let shards = self.db.run(describe).unwrap().stream_description.shards;
        let mut records = Vec::new();
        for shard in shards {
            let request = GetShardIterator {
                stream_arn: stream_arn.to_owned(),
                shard_id: shard.shard_id,
                shard_iterator_type: ShardIteratorType::TrimHorizon,
                sequence_number: None,
                timestamp: None,
            };
            let shard_iterator = self.db.run(request).unwrap().shard_iterator.unwrap();
            let request = GetRecords {
                shard_iterator,
                limit: None,
            };
            records.extend(self.db.run(request).unwrap().records);
        }
        records
    }

    /// Ends like a killed process, without an orderly stop.
    fn kill(self) {
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }

    fn stop(self) {
        self.runtime.block_on(self.db.close()).unwrap();
    }
}

fn streaming(is_on: bool) -> StreamSpecification {
    StreamSpecification {
        stream_enabled: is_on,
        stream_view_type: is_on.then_some(StreamViewType::NewAndOldImages),
    }
}

/// A route for everything in `T` that never gives up a change because of age or failed attempts.
const ROUTE: &str = r#"
[route.all]
table = "T"
target = { handler = "all" }
starting_position = "trim-horizon"
maximum_record_age = "10000h"
maximum_retry_attempts = 10000
"#;

/// An absence of ten days, five times, each begun by a kill or a stop while changes wait. Everything arrives,
/// in order.
fn ten_days_five_times(absence: &Absence) {
    let target = Taker::away(true);
    let (items, rounds) = (20, 5);
    for round in 1..=rounds {
        let mut process = absence.open();
        if round == 1 {
            process.table("T");
            process.table("unrouted");
        }
        process.apply(ROUTE, &target);
        for item in 0..items {
            process.put("T", &format!("item-{item}"), round);
            process.put("unrouted", &format!("item-{item}"), round);
        }
        if round % 2 == 1 {
            process.kill()
        } else {
            process.stop()
        }
        absence.clock.advance(10 * DAY);
        // Before there is a router, the janitor processes expired rows.
        let process = absence.open();
        let waiting = usize::try_from(items * round).unwrap();
        absence.until_trimmed_to(waiting);
        process.stop();
    }
    *target.is_away.lock() = false;
    let mut process = absence.open();
    process.apply(ROUTE, &target);
    let all = usize::try_from(items * rounds).unwrap();
    absence.until("everything to arrive", || target.count() >= all);
    for (item, versions) in &*target.taken.lock() {
        assert_eq!(*versions, (1..=rounds).collect::<Vec<i64>>(), "{item}");
    }
    absence.until("what was delivered to be trimmed", || absence.records() == 0);
    process.stop();
}

#[test]
fn ten_days_of_absence_five_times_lose_nothing_and_keep_the_order() {
    ten_days_five_times(&Absence::new());
}

#[test]
fn ten_days_of_absence_five_times_in_a_directory_and_in_many_shards() {
    let directory = tempfile::tempdir().unwrap();
    let store = FjallStore::open(directory.path(), StoreSettings::default()).unwrap();
    // Shards split continuously: a parent that was closed long ago is kept, too.
    let engine = EngineOptions {
        stream_shards: 2,
        stream_shard_bytes_max: 500,
        ..EngineOptions::default()
    };
    ten_days_five_times(&Absence::with(Arc::new(store), engine));
}

#[test]
fn clients_see_24_hours_while_routes_hold_more() {
    let absence = Absence::new();
    let mut process = absence.open();
    process.table("T");
    let target = Taker::away(true);
    process.apply(ROUTE, &target);
    process.put("T", "old", 1);
    let arn = process.stream_arn().unwrap();
    let old = process.seen_by_clients(&arn).remove(0);
    absence.clock.advance(2 * DAY);
    for n in 0..5 {
        process.put("T", "young", n);
    }
    absence.until_trimmed_to(6);
    let seen = process.seen_by_clients(&arn);
    assert_eq!(seen.len(), 5);
    assert!(
        seen.iter()
            .all(|record| record.dynamodb.keys != old.dynamodb.keys)
    );
    let shard = process.db.run(DescribeStream {
        stream_arn: arn.clone(),
        ..DescribeStream::default()
    });
    let request = GetShardIterator {
        stream_arn: arn.clone(),
        shard_id: shard.unwrap().stream_description.shards.remove(0).shard_id,
        shard_iterator_type: ShardIteratorType::AtSequenceNumber,
        sequence_number: Some(old.dynamodb.sequence_number),
        timestamp: None,
    };
    let refused = process.db.run(request).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TrimmedDataAccess);
    *target.is_away.lock() = false;
    absence.clock.advance(Duration::from_secs(3600));
    absence.until("all of it to arrive", || target.count() == 6);
    process.stop();
}

#[test]
fn a_route_that_is_held_back_loses_nothing() {
    let absence = Absence::new();
    let mut process = absence.open();
    process.table("T");
    let target = Taker::away(true);
    process.apply(ROUTE, &target);
    process.put("T", "a", 1);
    process.hold_back(ROUTE);
    process.put("T", "b", 1);
    absence.clock.advance(3 * DAY);
    process.put("T", "c", 1);
    let status = process.router.as_ref().unwrap().status().remove(0);
    assert_eq!(status.state, RouteState::HeldBack);
    assert_eq!(status.last_error.unwrap().message, "no such file");
    process.stop();
    *target.is_away.lock() = false;
    let mut process = absence.open();
    absence.clock.advance(2 * DAY);
    process.apply(ROUTE, &target);
    absence.until("everything", || target.count() == 3);
    assert!(process.router.as_ref().unwrap().status()[0].gaps.is_empty());
    process.stop();
}

#[test]
fn a_route_that_is_switched_off_or_removed_holds_nothing() {
    let absence = Absence::new();
    let ends = [format!("{ROUTE}enabled = false\n"), String::new()];
    for (round, end) in (1..).zip(ends) {
        let mut process = absence.open();
        if process.stream_arn_if_there().is_none() {
            process.table("T");
        }
        let target = Taker::away(true);
        process.apply(ROUTE, &target);
        process.put("T", "a", round);
        absence.clock.advance(2 * DAY);
        absence.until_trimmed_to(1);
        process.apply(&end, &target);
        absence.until_trimmed_to(0);
        process.stop();
    }
}

impl Process {
    fn stream_arn_if_there(&self) -> Option<String> {
        let described = self.db.run(DescribeTable {
            table_name: "T".into(),
        });
        described.ok()?.table.latest_stream_arn
    }
}

#[test]
fn a_route_that_is_switched_on_again_says_what_it_missed_and_only_then() {
    let absence = Absence::new();
    let mut process = absence.open();
    process.table("T");
    let target = Taker::away(false);
    let off = format!("{ROUTE}enabled = false\n");
    let gaps = |process: &Process| process.router.as_ref().unwrap().status()[0].gaps.clone();
    process.apply(ROUTE, &target);
    process.put("T", "a", 1);
    absence.until("the first", || target.count() == 1);
    // Disabled while nothing happens: nothing is missed, although its last record is trimmed.
    process.apply(&off, &target);
    absence.clock.advance(2 * DAY);
    absence.until_trimmed_to(0);
    process.apply(ROUTE, &target);
    process.put("T", "a", 2);
    absence.until("the second", || target.count() == 2);
    assert_eq!(gaps(&process), []);

    process.apply(&off, &target);
    process.put("T", "a", 3);
    absence.clock.advance(2 * DAY);
    absence.until_trimmed_to(0);
    process.apply(ROUTE, &target);
    process.put("T", "a", 4);
    absence.until("the fourth", || target.count() == 3);
    assert_eq!(target.taken.lock()["a"], [1, 2, 4]);
    assert_eq!(gaps(&process).len(), 1);
    process.stop();
}

/// `end` ends the stream while a change waits; two days later it is delivered, and clients do not see the stream any more.
fn a_stream_that_has_ended_waits_for_its_routes(end: impl Fn(&Process)) {
    let absence = Absence::new();
    let mut process = absence.open();
    process.table("T");
    let target = Taker::away(true);
    process.apply(ROUTE, &target);
    process.put("T", "a", 1);
    absence.until("the target to be asked", || *target.asked.lock() > 0);
    end(&process);
    process.kill();
    absence.clock.advance(2 * DAY);
    let mut process = absence.open();
    absence.until_trimmed_to(1);
    assert_eq!(process.stream_arn_if_there(), None, "no client sees it");
    let listed = process.db.run(ListStreams::default()).unwrap();
    assert_eq!(listed.streams, []);
    *target.is_away.lock() = false;
    process.apply(ROUTE, &target);
    absence.until("the change", || target.count() == 1);
    absence.until("the record to be trimmed", || absence.records() == 0);
    process.stop();
}

#[test]
fn a_stream_that_was_switched_off_is_kept_until_its_routes_have_read_it() {
    a_stream_that_has_ended_waits_for_its_routes(|process| {
        let off = UpdateTable {
            table_name: "T".into(),
            stream_specification: Some(streaming(false)),
            ..UpdateTable::default()
        };
        process.db.run(off).unwrap();
    });
}

#[test]
fn the_changes_of_a_deleted_table_are_kept_until_its_routes_have_read_them() {
    a_stream_that_has_ended_waits_for_its_routes(|process| {
        let delete = DeleteTable {
            table_name: "T".into(),
        };
        process.db.run(delete).unwrap();
    });
}

#[test]
fn what_is_held_is_counted_and_beyond_the_bound_the_oldest_become_dead_letters() {
    let engine = EngineOptions {
        held_changes_bytes_max: 4_000,
        ..EngineOptions::default()
    };
    let absence = Absence::with(Arc::new(MemoryStore::new()), engine);
    let mut process = absence.open();
    process.table("T");
    let target = Taker::away(true);
    process.apply(ROUTE, &target);
    let letters = |process: &Process| {
        let router = process.router.as_ref().unwrap();
        let page = process
            .runtime
            .block_on(router.dead_letters(Some("all"), None, 1_000));
        page.unwrap().letters
    };
    for n in 1..=20 {
        process.put("T", "a", n);
        absence.clock.advance(Duration::from_secs(1));
    }
    let held_bytes = || process.db.held_changes().bytes();
    assert_eq!(held_bytes(), 0, "nothing is older than the retention");
    absence.clock.advance(2 * DAY);
    absence.until("what is held to be counted", || held_bytes() > 1_000);
    let counted = held_bytes();
    assert!(counted < 4_000, "{counted}");
    assert_eq!(process.router.as_ref().unwrap().status()[0].held_bytes, counted);
    assert_eq!(letters(&process).len(), 0);
    process.stop();

    // After a start, the count is the same.
    let mut process = absence.open();
    absence.until("what is held to be counted", || {
        process.db.held_changes().bytes() == counted
    });
    process.apply(ROUTE, &target);
    for n in 21..=100 {
        process.put("T", "a", n);
        absence.clock.advance(Duration::from_secs(1));
    }
    absence.clock.advance(2 * DAY);
    let mut given_up = 0;
    absence.until("the space to be within its bound", || {
        absence.clock.advance(Duration::from_secs(60));
        given_up = letters(&process).len();
        given_up > 0 && process.db.held_changes().bytes() <= 4_000 && absence.records() + given_up == 100
    });
    assert!(given_up < 100, "only the oldest");
    let letters = letters(&process);
    for (n, letter) in (1..).zip(&letters) {
        let image = letter.change.new.as_ref().unwrap();
        let number = image
            .get("n")
            .and_then(AttributeValue::as_n)
            .and_then(Number::to_i64);
        assert_eq!(number, Some(n), "the oldest, whole");
        assert!(letter.error.contains("held_changes_gb"), "{}", letter.error);
    }
    *target.is_away.lock() = false;
    let first = i64::try_from(given_up).unwrap() + 1;
    absence.until("the others to arrive", || {
        absence.clock.advance(Duration::from_secs(60));
        target.count() == 100 - given_up
    });
    assert_eq!(target.taken.lock()["a"], (first..=100).collect::<Vec<i64>>());
    process.stop();
}

fn bounded(bytes: u64, shards: u16) -> Absence {
    let engine = EngineOptions {
        held_changes_bytes_max: bytes,
        stream_shards: shards,
        ..EngineOptions::default()
    };
    Absence::with(Arc::new(MemoryStore::new()), engine)
}

#[test]
fn a_route_whose_target_takes_changes_gives_up_none_of_what_is_beyond_the_bound() {
    let absence = bounded(4_000, 1);
    let target = Taker::away(false);
    let mut process = absence.open();
    process.table("T");
    process.apply(ROUTE, &target);
    process.stop();
    // Without a router, more than the limit accumulates.
    let mut process = absence.open();
    for n in 1..=300 {
        process.put("T", "a", n);
        absence.clock.advance(Duration::from_secs(1));
    }
    absence.clock.advance(2 * DAY);
    absence.until("what is held to be counted", || {
        let held = process.db.held_changes();
        held.is_counted && held.bytes() > 8_000
    });
    process.apply(ROUTE, &target);
    absence.until("everything", || {
        absence.clock.advance(Duration::from_secs(1));
        target.count() == 300
    });
    assert_eq!(target.taken.lock()["a"], (1..=300).collect::<Vec<i64>>());
    assert_eq!(process.router.as_ref().unwrap().status()[0].dead, 0);
    process.stop();
}

#[test]
fn no_more_is_given_up_than_is_beyond_the_bound_however_many_shards_and_tables_there_are() {
    let absence = bounded(8_000, 4);
    let target = Taker::away(true);
    let mut process = absence.open();
    process.table("T");
    process.table("U");
    let routes = format!(
        "{ROUTE}\n{}",
        ROUTE
            .replace("\"T\"", "\"U\"")
            .replace("route.all", "route.other")
    );
    process.apply(&routes, &target);
    for n in 1..=20 {
        for item in 0..8 {
            process.put("T", &format!("item-{item}"), n);
            process.put("U", &format!("item-{item}"), n);
        }
        absence.clock.advance(Duration::from_secs(1));
    }
    absence.clock.advance(2 * DAY);
    let held = |process: &Process| process.db.held_changes().bytes();
    absence.until("the space to be within its bound", || {
        absence.clock.advance(Duration::from_secs(60));
        let status = process.router.as_ref().unwrap().status();
        let dead: u64 = status.iter().map(|route| route.dead).sum();
        dead > 0 && held(&process) <= 8_000 && absence.records() as u64 + dead == 320
    });
    // Records with the same time are given up together: 16 of them.
    let record = held(&process) / absence.records() as u64;
    assert!(
        held(&process) > 8_000 - 17 * record,
        "{} of 8,000 bytes are left in {} records",
        held(&process),
        absence.records()
    );
    process.stop();
}

#[test]
fn the_marks_of_a_backfill_hold_what_is_needed_and_make_no_gap() {
    let engine = EngineOptions {
        stream_shards: 4,
        ..EngineOptions::default()
    };
    let absence = Absence::with(Arc::new(MemoryStore::new()), engine);
    let target = Taker::away(false);
    let write = |process: &Process, items: std::ops::Range<usize>, n: i64| {
        for item in items {
            process.put("T", &format!("item-{item}"), n);
        }
        // The newest sequence number of the database does not belong to the routed table.
        process.put("unrouted", "a", n);
    };
    let backfill = |process: &Process| {
        let router = process.router.as_ref().unwrap();
        process.runtime.block_on(router.backfill("all", None)).unwrap();
    };
    let status = |process: &Process| process.router.as_ref().unwrap().status().remove(0);
    let is_done =
        |process: &Process| status(process).backfill.unwrap().state == trestle_events::BackfillState::Done;

    let mut process = absence.open();
    process.table("T");
    process.table("unrouted");
    process.apply(ROUTE, &target);
    write(&process, 0..20, 1);
    absence.until("the first round", || target.count() == 20);
    backfill(&process);
    absence.until("the backfill", || target.count() == 40 && is_done(&process));
    process.stop();
    absence.clock.advance(10 * DAY);
    let mut process = absence.open();
    absence.until_trimmed_to(0);

    // Some shards are at the mark, others have changes before it that wait.
    *target.is_away.lock() = true;
    process.apply(ROUTE, &target);
    write(&process, 0..2, 2);
    backfill(&process);
    absence.until("rows behind the changes", || status(&process).waiting == 22);
    write(&process, 2..4, 3);
    process.kill();
    absence.clock.advance(10 * DAY);
    let mut process = absence.open();
    absence.until_trimmed_to(4);

    *target.is_away.lock() = false;
    process.apply(ROUTE, &target);
    absence.until("rows and changes", || {
        absence.clock.advance(Duration::from_secs(60));
        target.count() >= 64 && is_done(&process)
    });
    let taken = target.taken.lock().clone();
    for (item, newest) in [
        ("item-0", 2),
        ("item-1", 2),
        ("item-2", 3),
        ("item-3", 3),
        ("item-4", 1),
    ] {
        let versions = &taken[item];
        assert!(versions.is_sorted(), "{item}: {versions:?}");
        assert_eq!(versions.last(), Some(&newest), "{item}: {versions:?}");
    }
    let status = status(&process);
    assert_eq!((status.gaps, status.dead, status.parked), (Vec::new(), 0, 0));
    process.stop();
    absence.clock.advance(10 * DAY);
    let process = absence.open();
    absence.until_trimmed_to(0);
    process.stop();
}
