//! Change records that are needed beyond the retention stay, and no others; clients do not see them.

use std::ops::Bound::Unbounded;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use trestle_api::{
    DescribeStream, EpochSeconds, Error, ErrorKind, GetRecords, GetRecordsOutput, GetShardIterator,
    GetShardIteratorOutput, Operation, ShardIteratorType, StreamViewType,
};
use trestle_engine::{Completion, Engine, HoldSource, Options, ReadRows, ShardHold, StreamHold, Upkeep};
use trestle_env::{Clock, VirtualClock};
use trestle_item::Item;
use trestle_store::{Direction, MemoryStore, Space, Store};

use crate::support::{START, describe, n, number, put, s, table, with_stream};

const HOUR: Duration = Duration::from_secs(3600);
const HOURS: i64 = 60;

/// The holds that the test sets.
#[derive(Default)]
struct Said(Mutex<Vec<StreamHold>>);

impl HoldSource for Said {
    fn holds(&self, _: &ReadRows<'_>) -> Result<Vec<StreamHold>, Error> {
        Ok(self.0.lock().clone())
    }
}

/// A table with a stream to which one record was written every hour; a hold keeps all of them.
struct Held {
    clock: Arc<VirtualClock>,
    store: Arc<MemoryStore>,
    engine: Engine,
    said: Arc<Said>,
    arn: String,
    shard: String,
}

impl Held {
    fn new() -> Self {
        let (clock, store) = (
            Arc::new(VirtualClock::starting_at(START)),
            Arc::new(MemoryStore::new()),
        );
        let engine = Engine::load(store.clone(), clock.clone(), Options::default()).unwrap();
        let said = Arc::new(Said::default());
        said.0.lock().push(StreamHold {
            table: "T".into(),
            ..StreamHold::default()
        });
        engine.hold_changes(said.clone());
        engine.start_janitor(Upkeep::Everything).unwrap();
        let create = with_stream(table("T", "pk:S", &[], &[]), StreamViewType::NewImage);
        engine.run(create).unwrap();
        let arn = describe(&engine, "T").latest_stream_arn.unwrap();
        let described = DescribeStream {
            stream_arn: arn.clone(),
            ..DescribeStream::default()
        };
        let mut shards = engine.run(described).unwrap().stream_description.shards;
        let held = Self {
            shard: shards.remove(0).shard_id,
            clock,
            store,
            engine,
            said,
            arn,
        };
        held.write();
        held
    }

    fn write(&self) {
        for hour in 0..HOURS {
            let item = Item::from([("pk", s("a")), ("hour", n(hour))]);
            self.engine.run(put("T", item)).unwrap();
            self.clock.advance(HOUR);
        }
    }

    fn records(&self) -> usize {
        let snapshot = self.store.snapshot();
        snapshot
            .range(Space::Changes, Unbounded, Unbounded, Direction::Forward)
            .count()
    }

    fn until_records(&self, count: usize) {
        let begun = Instant::now();
        while self.records() != count {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", self.records());
            self.clock.signal().ring();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The hours of the records after an iterator.
    fn hours(&self, kind: ShardIteratorType, hour: Option<i64>, start: Start) -> Result<Vec<i64>, Error> {
        let at = |hour: i64| START.plus(HOUR * u32::try_from(hour).unwrap());
        let request = GetShardIterator {
            stream_arn: self.arn.clone(),
            shard_id: self.shard.clone(),
            shard_iterator_type: kind,
            sequence_number: None,
            timestamp: hour.map(|hour| EpochSeconds::from_millis(at(hour).as_millis())),
        };
        self.read(request, start)
    }

    fn read(&self, request: GetShardIterator, start: Start) -> Result<Vec<i64>, Error> {
        let found: GetShardIteratorOutput = run(&self.engine, request, start)?;
        let request = GetRecords {
            shard_iterator: found.shard_iterator.unwrap(),
            limit: None,
        };
        let page: GetRecordsOutput = run(&self.engine, request, start)?;
        let hour = |image: &Item| number(image, "hour");
        let records = page.records.iter();
        Ok(records
            .map(|record| hour(record.dynamodb.new_image.as_ref().unwrap()))
            .collect())
    }

    /// The sequence number of the record of an hour.
    fn sequence(&self, hour: usize) -> String {
        let request = GetShardIterator {
            stream_arn: self.arn.clone(),
            shard_id: self.shard.clone(),
            shard_iterator_type: ShardIteratorType::TrimHorizon,
            sequence_number: None,
            timestamp: None,
        };
        let found: GetShardIteratorOutput = run(&self.engine, request, Engine::start_for_routes).unwrap();
        let request = GetRecords {
            shard_iterator: found.shard_iterator.unwrap(),
            limit: None,
        };
        let page: GetRecordsOutput = run(&self.engine, request, Engine::start_for_routes).unwrap();
        page.records[hour].dynamodb.sequence_number.clone()
    }

    fn after(&self, sequence: &str) -> GetShardIterator {
        GetShardIterator {
            stream_arn: self.arn.clone(),
            shard_id: self.shard.clone(),
            shard_iterator_type: ShardIteratorType::AfterSequenceNumber,
            sequence_number: Some(sequence.to_owned()),
            timestamp: None,
        }
    }
}

type Start = fn(&Engine, trestle_api::Request) -> Completion;

fn run<O: Operation>(engine: &Engine, operation: O, start: Start) -> Result<O::Output, Error> {
    let response = start(engine, operation.into_request()).wait()?;
    Ok(O::from_response(response).unwrap())
}

#[test]
fn clients_see_the_retention_and_routes_everything_from_wherever_they_begin() {
    let held = Held::new();
    held.until_records(60);
    let young: Vec<i64> = (HOURS - 24..HOURS).collect();
    let all: Vec<i64> = (0..HOURS).collect();
    let (client, routes): (Start, Start) = (Engine::start, Engine::start_for_routes);
    let horizon = ShardIteratorType::TrimHorizon;
    assert_eq!(held.hours(horizon, None, client).unwrap(), young);
    assert_eq!(held.hours(horizon, None, routes).unwrap(), all);
    for hour in 0..HOURS {
        let at = ShardIteratorType::AtTimestamp;
        let since: Vec<i64> = (hour..HOURS).collect();
        assert_eq!(held.hours(at, Some(hour), routes).unwrap(), since);
        let since: Vec<i64> = (hour.max(HOURS - 24)..HOURS).collect();
        assert_eq!(held.hours(at, Some(hour), client).unwrap(), since);
    }
    let old = held.sequence(10);
    let refused = held.read(held.after(&old), client).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TrimmedDataAccess);
    assert_eq!(
        held.read(held.after(&old), routes).unwrap(),
        (11..HOURS).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_passed_is_trimmed_and_a_route_that_needs_it_is_told() {
    let held = Held::new();
    let (before, passed) = (held.sequence(9), held.sequence(10));
    let stream = held.arn.rsplit_once('/').unwrap().1.to_owned();
    let position = ((stream, held.shard.clone()), ShardHold::After(passed.clone()));
    held.said.0.lock()[0].shards = [position].into();
    held.until_records(49);
    let routes: Start = Engine::start_for_routes;
    assert_eq!(
        held.read(held.after(&passed), routes).unwrap(),
        (11..HOURS).collect::<Vec<_>>()
    );
    let refused = held.read(held.after(&before), routes).unwrap_err();
    assert_eq!(
        refused.kind(),
        ErrorKind::TrimmedDataAccess,
        "the record after it is gone"
    );
    held.said.0.lock()[0].from = START.plus(HOUR * 20);
    held.until_records(40);
    held.said.0.lock().clear();
    held.until_records(24);
}
