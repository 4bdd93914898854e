//! Backfills from an endpoint, where rows and the position of the stream are not read at the same moment, and
//! records become readable only some time after the write.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::{
    Database, DatabaseExt, EpochSeconds, Error, GetRecords, GetRecordsOutput, GetShardIterator, Identity,
    MIGRATION_PRINCIPAL, Record, Request, Response, ResponseFuture, Scan, ShardIteratorType,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_events::{ChangeEvent, EndpointClock, Outcome, Route, ScanSettings};
use trestle_item::key;

use crate::backfill::{all_rows, backfill, begin, is_done, keys, latest, many};
use crate::storm;
use crate::support::{Life, Recorder, World, route, version};

/// A record becomes readable within this time.
const DELAY_MAX: Duration = Duration::from_millis(900);
/// Rows in an answer to `Scan`, at most.
const PAGE_ROWS: u32 = 40;

/// The database as an endpoint shows it: small pages of rows, records that become readable after varying
/// times, with times of another clock in whole seconds or minutes.
struct Distant {
    engine: Engine,
    clock: Arc<VirtualClock>,
    /// The shard that each iterator reads.
    iterators: Mutex<HashMap<String, (String, String)>>,
    skew_seconds: i64,
    /// The times of its records are multiples of this many seconds.
    unit_seconds: u64,
    scans: AtomicU64,
    /// Records cannot be read at all.
    is_away: AtomicBool,
    /// It refuses the key with which a walk continues, as after a change of the table's order.
    refuses_keys: AtomicBool,
    /// How often records were asked for.
    reads: AtomicU64,
}

/// The clock of the endpoint, as shown by a response.
struct Skewed(i64);

fn shifted(at: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().saturating_add_signed(seconds * 1000))
}

impl EndpointClock for Skewed {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        let at = shifted(at, self.0);
        (at.minus(Duration::from_secs(1)), at.plus(Duration::from_secs(1)))
    }
}

impl Distant {
    fn new(world: &World, skew_seconds: i64) -> Arc<Self> {
        Self::dated(world, skew_seconds, 1)
    }

    fn dated(world: &World, skew_seconds: i64, unit_seconds: u64) -> Arc<Self> {
        Arc::new(Self {
            unit_seconds,
            engine: world.engine.clone(),
            clock: Arc::clone(&world.clock),
            iterators: Mutex::default(),
            skew_seconds,
            scans: AtomicU64::new(0),
            is_away: AtomicBool::new(false),
            refuses_keys: AtomicBool::new(false),
            reads: AtomicU64::new(0),
        })
    }

    async fn iterator(&self, request: GetShardIterator) -> Result<Response, Error> {
        let shard = (request.stream_arn.clone(), request.shard_id.clone());
        let answer = self.engine.get_shard_iterator(request).await?;
        let iterators = answer.shard_iterator.iter().cloned();
        self.iterators
            .lock()
            .extend(iterators.map(|iterator| (iterator, shard.clone())));
        Ok(Response::GetShardIterator(answer))
    }

    /// Whether a record is readable by now.
    fn is_there(&self, record: &Record) -> bool {
        let written = record
            .dynamodb
            .approximate_creation_date_time
            .unwrap()
            .to_millis();
        let delay = key::hash(record.dynamodb.sequence_number.as_bytes()) % DELAY_MAX.as_millis() as u64;
        written + delay <= self.clock.now().as_millis()
    }

    /// The records up to the first that is not readable yet.
    async fn records(&self, request: GetRecords) -> Result<Response, Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            return Err(Error::internal("the line is cut"));
        }
        let from = request.shard_iterator.clone();
        let shard = self.iterators.lock().get(&from).cloned().unwrap();
        let mut answer = self.engine.get_records(request).await?;
        let count = answer
            .records
            .iter()
            .take_while(|record| self.is_there(record))
            .count();
        if count < answer.records.len() {
            answer.records.truncate(count);
            answer.next_shard_iterator = Some(match answer.records.last() {
                None => from,
                Some(last) => self.after(&shard, last).await?,
            });
        }
        for record in &mut answer.records {
            if record
                .dynamodb
                .keys
                .get("pk")
                .unwrap()
                .as_s()
                .unwrap()
                .starts_with("moved")
            {
                record.user_identity = Some(Identity {
                    principal_id: Some(MIGRATION_PRINCIPAL.to_owned()),
                    ..Identity::default()
                });
            }
            let at = &mut record.dynamodb.approximate_creation_date_time;
            let told = shifted(Timestamp::from_millis(at.unwrap().to_millis()), self.skew_seconds);
            let told = told.as_secs() / self.unit_seconds * self.unit_seconds;
            *at = Some(EpochSeconds(told as f64));
        }
        let iterators = answer.next_shard_iterator.iter().cloned();
        self.iterators
            .lock()
            .extend(iterators.map(|iterator| (iterator, shard.clone())));
        Ok(Response::GetRecords(GetRecordsOutput { ..answer }))
    }

    async fn after(&self, (arn, shard): &(String, String), record: &Record) -> Result<String, Error> {
        let request = GetShardIterator {
            stream_arn: arn.clone(),
            shard_id: shard.clone(),
            shard_iterator_type: ShardIteratorType::AfterSequenceNumber,
            sequence_number: Some(record.dynamodb.sequence_number.clone()),
            timestamp: None,
        };
        let answer = self.engine.get_shard_iterator(request).await?;
        Ok(answer.shard_iterator.unwrap())
    }

    /// Rows that may be written again before they arrive.
    async fn scan(&self, mut request: Scan) -> Result<Response, Error> {
        assert_eq!(request.consistent_read, Some(true));
        self.scans.fetch_add(1, Ordering::Relaxed);
        if request.exclusive_start_key.is_some() && self.refuses_keys.swap(false, Ordering::Relaxed) {
            return Err(Error::validation("The rows move"));
        }
        request.limit = Some(request.limit.unwrap_or(PAGE_ROWS).min(PAGE_ROWS));
        let answer = self.engine.scan(request).await?;
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(Response::Scan(answer))
    }
}

impl Database for Distant {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            match request {
                Request::GetShardIterator(request) => self.iterator(request).await,
                Request::GetRecords(request) => self.records(request).await,
                Request::Scan(request) => self.scan(request).await,
                request => self.engine.execute(request).await,
            }
        })
    }
}

/// A world whose routers read it as an endpoint.
fn remote(options: Options, skew_seconds: i64) -> World {
    World {
        scan: Some(ScanSettings {
            clock: Arc::new(Skewed(skew_seconds)),
            stream_delay: Duration::from_secs(1),
        }),
        ..World::with(options)
    }
}

const STEP: Duration = Duration::from_millis(50);

#[test]
fn under_writers_and_crashes_nothing_older_comes_after_something_newer() {
    for seed in 1..=6 {
        let skew = [0, 7, -7][seed as usize % 3];
        let options = Options {
            stream_shards: 1 + u16::try_from(seed % 3).unwrap(),
            ..Options::default()
        };
        let world = remote(options, skew);
        let database = Distant::new(&world, skew);
        storm::storm(seed, &Arc::new(world), database);
    }
}

/// An endpoint with routers that read it as such, and a router.
fn small(targets: &[(&str, Arc<Recorder>)]) -> (World, Arc<Distant>, Life) {
    let world = remote(Options::default(), 0);
    let database = Distant::new(&world, 0);
    let life = world.life_on(database.clone(), targets);
    (world, database, life)
}

#[test]
fn every_row_arrives_once_then_the_changes() {
    let target = Recorder::new();
    let (world, _, life) = small(&[("r", Arc::clone(&target))]);
    let rows = many(500);
    for row in &rows {
        world.put(row, 1);
    }
    // Their records could be read by now.
    world.clock.advance(DELAY_MAX);
    life.apply([latest("r")]);
    let begun = begin(&life, None);
    assert_eq!(begun.total, 500);
    life.until_after("the backfill", STEP, || is_done(&life));
    assert_eq!(keys(&target), rows);
    let is_row = |change: &Arc<trestle_events::Change>| change.event == ChangeEvent::Backfill;
    assert!(target.taken().iter().all(is_row));
    assert_eq!((backfill(&life).rows, backfill(&life).id), (500, begun.id));
    world.put("row-00007", 2);
    world.delete("row-00008");
    life.until_after("the changes", STEP, || target.count() == 502);
}

#[test]
fn a_new_route_can_begin_with_all_rows_and_goes_on_after_crashes() {
    let world = remote(Options::default(), 0);
    let database = Distant::new(&world, 0);
    let rows = many(400);
    for row in &rows {
        world.put(row, 1);
    }
    let target = Recorder::new();
    let start = || world.life_on(database.clone(), &[("r", Arc::clone(&target))]);
    let mut life = start();
    life.apply([all_rows("r")]);
    for enough in [80, 160, 240] {
        life.until_after("some pages", STEP, || backfill(&life).rows >= enough);
        life.kill();
        life = start();
        life.apply([all_rows("r")]);
    }
    life.until_after("the backfill", STEP, || is_done(&life));
    let mut seen = keys(&target);
    seen.dedup();
    assert_eq!(seen, rows);
    assert_eq!(backfill(&life).rows, 400);
    // It begins so only once.
    let (count, scans) = (target.count(), database.scans.load(Ordering::Relaxed));
    life.stop();
    let life = start();
    life.apply([all_rows("r")]);
    world.put("row-00001", 2);
    life.until_after("a change", STEP, || target.count() == count + 1);
    assert_eq!(database.scans.load(Ordering::Relaxed), scans);
}

#[test]
fn an_empty_table_and_a_table_without_a_stream_are_backfilled() {
    let target = Recorder::new();
    let (world, _, life) = small(&[("r", Arc::clone(&target))]);
    life.apply([all_rows("r")]);
    life.until_after("nothing", STEP, || is_done(&life));
    world.stream(false);
    world.put("b", 1);
    begin(&life, None);
    life.until_after("rows without a stream", STEP, || is_done(&life));
    assert_eq!(keys(&target), ["b"]);
    world.stream(true);
    world.put("b", 2);
    life.until_after("the new stream", STEP, || target.count() == 2);
    assert_eq!(target.versions()["b"], [1, 2]);
}

/// Writes while the rows are held; returns what the target of a route has got of each item at the end.
fn told_meanwhile(route: Route, write: impl Fn(&World)) -> HashMap<String, Vec<i64>> {
    let target = Recorder::new();
    let (world, database, life) = small(&[("r", Arc::clone(&target))]);
    for row in ["a", "b", "c"] {
        world.put(row, 1);
    }
    world.clock.advance(DELAY_MAX);
    life.apply([route]);
    begin(&life, None);
    life.until("the rows to be read", || {
        database.scans.load(Ordering::Relaxed) > 0
    });
    // Time for the response to arrive; the clock does not advance, and the rows are held.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(target.count(), 0);
    write(&world);
    life.until_after("the backfill", STEP, || is_done(&life));
    life.until_after("what was written", STEP, || {
        let status = life.status("r");
        status.waiting == 0 && status.lag_records == 0
    });
    target.versions()
}

#[test]
fn a_row_that_is_written_meanwhile_comes_as_that_change() {
    let told = told_meanwhile(latest("r"), |world| {
        world.put("a", 2);
        world.delete("b");
    });
    assert_eq!(told["a"], [2]);
    assert_eq!(told["b"], [1], "its removal, with the last version");
    assert_eq!(told["c"], [1]);
}

#[test]
fn a_row_whose_changes_the_route_does_not_take_comes_as_they_left_it() {
    let inserted = Route {
        events: vec![ChangeEvent::Insert],
        ..latest("r")
    };
    let told = told_meanwhile(inserted.clone(), |world| {
        world.put("a", 2);
        world.put("a", 3);
        world.delete("b");
    });
    assert_eq!(told["a"], [3]);
    assert!(!told.contains_key("b"), "it is not there any more");
    assert_eq!(told["c"], [1]);
    // It is inserted again, and changed.
    let told = told_meanwhile(inserted, |world| {
        world.delete("a");
        world.put("a", 2);
        world.put("a", 3);
    });
    assert_eq!(told["a"], [2, 3]);
}

#[test]
fn a_refused_row_holds_up_only_its_item_and_stays_before_later_changes() {
    let target = Recorder::with(crate::support::refuse_bad);
    let (world, database, life) = small(&[("r", Arc::clone(&target))]);
    world.put("bad", 1);
    world.put("good", 1);
    world.clock.advance(DELAY_MAX);
    let patient = Route {
        maximum_retry_attempts: 10_000,
        ..latest("r")
    };
    life.apply([patient.clone()]);
    begin(&life, None);
    life.until_after("the backfill", STEP, || is_done(&life));
    assert_eq!(life.status("r").parked, 1);
    world.put("bad", 2);
    life.until_after("both to be parked", STEP, || life.status("r").parked == 2);
    // A second backfill delivers the row once more, after them.
    begin(&life, None);
    life.until_after("the second backfill", STEP, || is_done(&life));
    assert_eq!(life.status("r").parked, 3);
    world.put("bad", 3);
    life.until_after("all to be parked", STEP, || life.status("r").parked == 4);
    life.kill();
    target.behave(|_| Outcome::Done);
    let life = world.life_on(database, &[("r", Arc::clone(&target))]);
    life.apply([patient]);
    life.until_after("all", Duration::from_secs(1), || life.status("r").parked == 0);
    assert_eq!(target.versions()["bad"], [1, 2, 2, 3]);
    assert_eq!(target.versions()["good"], [1, 1]);
}

#[test]
fn a_row_that_is_given_up_is_a_dead_letter_that_can_be_found() {
    let target = Recorder::with(crate::support::refuse_bad);
    let (world, _, life) = small(&[("r", Arc::clone(&target))]);
    world.put("bad", 1);
    life.apply([Route {
        maximum_retry_attempts: 0,
        ..all_rows("r")
    }]);
    life.until_after("the backfill", STEP, || is_done(&life));
    let letters = life.block_on(life.router.dead_letters(None, None, 10)).unwrap();
    let id = letters.letters[0].to_json()["id"].as_str().unwrap().to_owned();
    let letter = life.block_on(life.router.dead_letter(&id)).unwrap().unwrap();
    assert_eq!(letter.to_json()["change"]["new"]["pk"], "bad");
}

#[test]
fn a_gap_names_the_command_and_is_closed_by_the_backfill() {
    let target = Recorder::new();
    let (world, database, life) = small(&[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    world.put("a", 1);
    life.until_after("the first", STEP, || target.count() == 1);
    life.stop();
    world.put("b", 1);
    world.clock.advance(Duration::from_secs(25 * 3600));
    let life = world.life_on(database.clone(), &[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    world.put("c", 1);
    life.until_after("the gap", STEP, || life.status("r").gaps.len() == 1);
    let said = life.status("r").last_error.unwrap().message;
    assert!(
        said.contains("`trestle routes run FILE --backfill r` sends"),
        "{said}"
    );
    begin(&life, None);
    life.until_after("the gap to be closed", STEP, || life.status("r").gaps.is_empty());
    assert!(target.versions().contains_key("b"));
    life.stop();
    let life = world.life_on(database, &[("r", target)]);
    life.apply([route("r")]);
    assert_eq!(life.status("r").gaps, [], "it is closed durably");
}

#[test]
fn a_change_that_is_dated_before_the_route_began_is_one_after_it() {
    let skew = -3;
    let world = remote(Options::default(), skew);
    world.clock.advance(Duration::from_secs(59));
    let target = Recorder::new();
    let database = Distant::dated(&world, skew, 60);
    let life = world.life_on(database, &[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    world.put("a", 1);
    life.until_after("the change", STEP, || target.count() == 1);
    assert_eq!(version(&target.taken()[0]), 1);
}

#[test]
fn what_is_written_while_a_new_route_cannot_read_is_not_skipped() {
    let target = Recorder::new();
    let (world, database, life) = small(&[("r", Arc::clone(&target))]);
    database.is_away.store(true, Ordering::Relaxed);
    life.apply([latest("r")]);
    world.put("a", 1);
    life.until_after("some failures", STEP, || {
        database.reads.load(Ordering::Relaxed) > 3
    });
    database.is_away.store(false, Ordering::Relaxed);
    world.put("a", 2);
    life.until_after("the second", STEP, || {
        target.versions().get("a").is_some_and(|all| all.contains(&2))
    });
    assert_eq!(target.versions()["a"], [1, 2]);
}

/// A third of a backfill of 300 rows, with the endpoint on which the order of rows then changes.
fn a_third(target: &Arc<Recorder>) -> (World, Arc<Distant>, Life) {
    let (world, database, life) = small(&[("r", Arc::clone(target))]);
    for row in many(300) {
        world.put(&row, 1);
    }
    world.clock.advance(DELAY_MAX);
    life.apply([latest("r")]);
    begin(&life, Some(200));
    life.until_after("a third of the rows", STEP, || backfill(&life).rows >= 100);
    assert!(!is_done(&life));
    (world, database, life)
}

/// The rows were read again from the beginning: none is missed, and none was delivered more often than
/// `most`.
fn assert_walked_again(target: &Recorder, life: &Life, most: usize) {
    let walked = backfill(life).rows;
    assert!((401..=300 * most as u64).contains(&walked), "{walked}");
    let mut rows = target.versions();
    rows.retain(|row, _| row.starts_with("row-"));
    assert_eq!(rows.len(), 300);
    let often = rows.values().map(Vec::len).max().unwrap();
    assert!((2..=most).contains(&often), "{often}");
}

#[test]
fn when_rows_begin_to_move_the_walk_begins_again_also_after_a_crash() {
    let target = Recorder::new();
    let (world, database, life) = a_third(&target);
    world.put("moved-1", 1);
    let walked = backfill(&life).rows;
    // The held rows are delivered, and their position is stored, before the walk comes so far again.
    life.until_after("the next rows", STEP, || backfill(&life).rows > walked + 20);
    life.kill();
    let life = world.life_on(database, &[("r", Arc::clone(&target))]);
    life.apply([latest("r")]);
    world.put("moved-2", 1);
    life.until_after("the backfill", STEP, || is_done(&life));
    // Once more after the crash.
    assert_walked_again(&target, &life, 3);
}

#[test]
fn where_a_key_is_no_place_any_more_the_walk_begins_again() {
    let target = Recorder::new();
    let (_world, database, life) = a_third(&target);
    database.refuses_keys.store(true, Ordering::Relaxed);
    life.until_after("the backfill", STEP, || is_done(&life));
    assert_walked_again(&target, &life, 2);
}
