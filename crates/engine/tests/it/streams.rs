//! Streams: their records, start positions and retention.

use std::time::Duration;

use trestle_api::{
    DeleteItem, DeleteTable, DescribeStream, EpochSeconds, ErrorKind, GetRecords, GetShardIterator,
    ListStreams, OperationType, Record, ShardIteratorType, StreamDescription, StreamSpecification,
    StreamStatus, StreamViewType, TimeToLiveSpecification, UpdateTable, UpdateTimeToLive,
};
use trestle_engine::{Engine, Options};
use trestle_item::Item;
use trestle_store::Space;

use crate::support::{Fixture, describe, n, number, put, s, streaming, table, update, with_stream};

/// All records of all shards of a stream, shard by shard, from the oldest on.
pub(crate) fn read_all(engine: &Engine, arn: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for shard in describe_stream(engine, arn).shards {
        let start = iterator(engine, arn, &shard.shard_id, ShardIteratorType::TrimHorizon, None);
        let of_shard = read_from(engine, start).0;
        let numbers: Vec<&str> = of_shard
            .iter()
            .map(|record| record.dynamodb.sequence_number.as_str())
            .collect();
        assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
        records.extend(of_shard);
    }
    records
}

/// The records from an iterator on, and the next iterator, if the shard is still open.
fn read_from(engine: &Engine, mut iterator: String) -> (Vec<Record>, Option<String>) {
    let mut records = Vec::new();
    loop {
        let request = GetRecords {
            shard_iterator: iterator,
            limit: Some(7),
        };
        let answer = engine.run(request).unwrap();
        let none = answer.records.is_empty();
        records.extend(answer.records);
        match answer.next_shard_iterator {
            Some(next) if !none => iterator = next,
            next => return (records, next),
        }
    }
}

fn describe_stream(engine: &Engine, arn: &str) -> StreamDescription {
    let request = DescribeStream {
        stream_arn: arn.to_owned(),
        ..DescribeStream::default()
    };
    *engine.run(request).unwrap().stream_description
}

fn iterator(
    engine: &Engine,
    arn: &str,
    shard: &str,
    kind: ShardIteratorType,
    sequence_number: Option<&str>,
) -> String {
    let request = GetShardIterator {
        stream_arn: arn.to_owned(),
        shard_id: shard.to_owned(),
        shard_iterator_type: kind,
        sequence_number: sequence_number.map(str::to_owned),
        timestamp: None,
    };
    engine.run(request).unwrap().shard_iterator.unwrap()
}

fn one_shard() -> Options {
    Options {
        stream_shards: 1,
        ..Options::default()
    }
}

/// A table `T` with a stream of one shard: fixture, stream, shard.
fn streamed(view: StreamViewType) -> (Fixture, String, String) {
    let fixture = Fixture::with(one_shard());
    let create = with_stream(table("T", "pk:S", &[], &[]), view);
    fixture.engine.run(create).unwrap();
    let arn = describe(&fixture.engine, "T").latest_stream_arn.unwrap();
    let shard = describe_stream(&fixture.engine, &arn).shards[0].shard_id.clone();
    (fixture, arn, shard)
}

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn disable() -> UpdateTable {
    UpdateTable {
        table_name: "T".into(),
        stream_specification: Some(StreamSpecification {
            stream_enabled: false,
            stream_view_type: None,
        }),
        ..UpdateTable::default()
    }
}

fn enable(view: StreamViewType) -> UpdateTable {
    UpdateTable {
        table_name: "T".into(),
        stream_specification: Some(streaming(view)),
        ..UpdateTable::default()
    }
}

fn numbers(records: &[Record]) -> Vec<String> {
    records
        .iter()
        .map(|record| record.dynamodb.sequence_number.clone())
        .collect()
}

#[test]
fn an_answer_is_bounded_by_its_images_however_little_of_them_is_stored() {
    let (fixture, arn, _) = streamed(StreamViewType::NewAndOldImages);
    let engine = &fixture.engine;
    let (large, updates) = ("x".repeat(100_000), 12);
    let row = Item::from([("pk", s("a")), ("body", s(&large)), ("v", n(0))]);
    engine.run(put("T", row)).unwrap();
    for at in 1..=updates {
        let values = Item::from([(":v", n(at))]);
        engine.run(update("T", key("a"), "SET v = :v", values)).unwrap();
    }
    let shard = describe_stream(engine, &arn).shards.remove(0);
    let start = iterator(
        engine,
        &arn,
        &shard.shard_id,
        ShardIteratorType::TrimHorizon,
        None,
    );
    let request = GetRecords {
        shard_iterator: start.clone(),
        limit: None,
    };
    let bytes = |record: &Record| record.dynamodb.size_bytes;
    let first = engine.run(request).unwrap().records;
    let last = first.last().map_or(0, bytes);
    assert!(first.iter().map(bytes).sum::<u64>() - last <= 1 << 20);
    assert_eq!(first.len(), 6);
    let all = read_from(engine, start).0;
    assert_eq!(all.len(), 13);
    for (at, record) in all.iter().enumerate().skip(1) {
        let version = |image: &Option<Item>| image.as_ref().and_then(|image| image.get("v").cloned());
        assert_eq!(version(&record.dynamodb.old_image), Some(n(at as i64 - 1)));
        assert_eq!(version(&record.dynamodb.new_image), Some(n(at as i64)));
        let body = |image: &Option<Item>| image.as_ref().and_then(|image| image.get("body").cloned());
        assert_eq!(body(&record.dynamodb.old_image), Some(s(&large)));
    }
}

#[test]
fn a_record_holds_the_images_that_the_view_type_promises() {
    let views = [
        (StreamViewType::KeysOnly, false, false),
        (StreamViewType::NewImage, false, true),
        (StreamViewType::OldImage, true, false),
        (StreamViewType::NewAndOldImages, true, true),
    ];
    for (view, old, new) in views {
        let (fixture, arn, _) = streamed(view);
        let engine = &fixture.engine;
        let one = Item::from([("pk", s("a")), ("v", n(1))]);
        let two = Item::from([("pk", s("a")), ("v", n(2))]);
        engine.run(put("T", one.clone())).unwrap();
        engine.run(put("T", one.clone())).unwrap(); // Changes nothing, so there is no record.
        let values = Item::from([(":v", n(2))]);
        engine.run(update("T", key("a"), "SET v = :v", values)).unwrap();
        let delete = DeleteItem {
            table_name: "T".into(),
            key: key("a"),
            ..DeleteItem::default()
        };
        engine.run(delete.clone()).unwrap();
        engine.run(delete).unwrap();

        let records = read_all(engine, &arn);
        let told: Vec<_> = records
            .iter()
            .map(|record| {
                assert_eq!(record.dynamodb.keys, key("a"));
                assert_eq!(record.dynamodb.stream_view_type, view);
                assert!(record.dynamodb.size_bytes > 0);
                (
                    record.event_name,
                    record.dynamodb.old_image.clone(),
                    record.dynamodb.new_image.clone(),
                )
            })
            .collect();
        let (one, two) = (Some(one), Some(two));
        let expected = vec![
            (OperationType::Insert, None, one.clone().filter(|_| new)),
            (
                OperationType::Modify,
                one.filter(|_| old),
                two.clone().filter(|_| new),
            ),
            (OperationType::Remove, two.filter(|_| old), None),
        ];
        assert_eq!(told, expected, "{view}");
    }
}

#[test]
fn each_iterator_type_starts_where_it_says() {
    let (fixture, arn, shard) = streamed(StreamViewType::KeysOnly);
    let engine = &fixture.engine;
    for round in 0..10 {
        fixture.clock.advance(Duration::from_secs(10));
        engine
            .run(put("T", Item::from([("pk", s("a")), ("v", n(round))])))
            .unwrap();
    }
    let at = |kind, number: Option<&str>| {
        let start = iterator(engine, &arn, &shard, kind, number);
        numbers(&read_from(engine, start).0)
    };
    let all = at(ShardIteratorType::TrimHorizon, None);
    assert_eq!(all.len(), 10);
    assert!(at(ShardIteratorType::Latest, None).is_empty());
    for (place, number) in all.iter().enumerate() {
        assert_eq!(
            at(ShardIteratorType::AtSequenceNumber, Some(number)),
            all[place..]
        );
        assert_eq!(
            at(ShardIteratorType::AfterSequenceNumber, Some(number)),
            all[place + 1..]
        );
    }
    let since = |seconds: u64| {
        let request = GetShardIterator {
            stream_arn: arn.clone(),
            shard_id: shard.clone(),
            shard_iterator_type: ShardIteratorType::AtTimestamp,
            timestamp: Some(EpochSeconds::from_millis(
                crate::support::START.as_millis() + seconds * 1000,
            )),
            sequence_number: None,
        };
        let start = engine.run(request).unwrap().shard_iterator.unwrap();
        numbers(&read_from(engine, start).0)
    };
    assert_eq!(since(0), all);
    assert_eq!(since(50), all[4..]);
    assert_eq!(since(51), all[5..]);
    assert!(since(101).is_empty());
}

#[test]
fn a_reader_at_the_latest_place_sees_exactly_what_comes_after() {
    let (fixture, arn, shard) = streamed(StreamViewType::NewImage);
    let engine = &fixture.engine;
    engine.run(put("T", key("before"))).unwrap();
    let start = iterator(engine, &arn, &shard, ShardIteratorType::Latest, None);
    engine.run(put("T", key("after"))).unwrap();
    let (records, next) = read_from(engine, start);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].dynamodb.keys, key("after"));
    engine.run(put("T", key("later"))).unwrap();
    let (records, _) = read_from(engine, next.unwrap());
    assert_eq!(records.len(), 1, "an iterator at the end goes on from there");
}

#[test]
fn sequence_numbers_nobody_ever_gave_are_no_place_but_do_no_harm() {
    let (fixture, arn, shard) = streamed(StreamViewType::NewImage);
    fixture.engine.run(put("T", key("a"))).unwrap();
    for number in [
        "",
        "1",
        "x",
        "118446744073709551615",
        "199999999999999999999",
        "100000000000000000000",
    ] {
        for kind in [
            ShardIteratorType::AtSequenceNumber,
            ShardIteratorType::AfterSequenceNumber,
        ] {
            let request = GetShardIterator {
                stream_arn: arn.clone(),
                shard_id: shard.clone(),
                shard_iterator_type: kind,
                sequence_number: Some(number.to_owned()),
                timestamp: None,
            };
            if let Ok(answer) = fixture.engine.run(request) {
                let request = GetRecords {
                    shard_iterator: answer.shard_iterator.unwrap(),
                    limit: None,
                };
                fixture.engine.run(request).unwrap();
            }
        }
    }
    let forged = ["", "|1|", "x|1|y", "arn|1|00000000000000000000000000000000ffff"];
    for shard_iterator in forged.map(str::to_owned) {
        let request = GetRecords {
            shard_iterator,
            limit: None,
        };
        assert!(fixture.engine.run(request).is_err());
    }
}

#[test]
fn records_are_trimmed_after_their_retention_and_their_numbers_refused() {
    let (fixture, arn, shard) = streamed(StreamViewType::NewImage);
    let engine = &fixture.engine;
    engine.run(put("T", key("old"))).unwrap();
    let old = read_all(engine, &arn)[0].dynamodb.sequence_number.clone();
    fixture.clock.advance(Duration::from_secs(23 * 3600));
    engine.run(put("T", key("young"))).unwrap();
    assert_eq!(read_all(engine, &arn).len(), 2);

    fixture.clock.advance(Duration::from_secs(2 * 3600));
    let left = read_all(engine, &arn);
    assert_eq!(left.len(), 1, "trimmed from the answer at once");
    assert_eq!(left[0].dynamodb.keys, key("young"));
    fixture.until("the record to leave the store", || {
        fixture.rows(Space::Changes).len() == 1
    });
    let request = GetShardIterator {
        stream_arn: arn.clone(),
        shard_id: shard.clone(),
        shard_iterator_type: ShardIteratorType::AtSequenceNumber,
        sequence_number: Some(old),
        timestamp: None,
    };
    let error = engine.run(request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TrimmedDataAccess);
}

#[test]
fn an_iterator_expires_after_a_quarter_of_an_hour() {
    let (fixture, arn, shard) = streamed(StreamViewType::NewImage);
    let start = iterator(
        &fixture.engine,
        &arn,
        &shard,
        ShardIteratorType::TrimHorizon,
        None,
    );
    let request = GetRecords {
        shard_iterator: start,
        limit: None,
    };
    fixture.clock.advance(Duration::from_secs(15 * 60));
    let answer = fixture.engine.run(request.clone()).unwrap();
    fixture.clock.advance(Duration::from_secs(1));
    let error = fixture.engine.run(request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ExpiredIterator);
    let fresh = GetRecords {
        shard_iterator: answer.next_shard_iterator.unwrap(),
        limit: None,
    };
    fixture.engine.run(fresh).unwrap();
}

#[test]
fn the_shards_of_a_disabled_stream_end_and_a_new_stream_begins_empty() {
    let (fixture, first, shard) = streamed(StreamViewType::NewImage);
    let engine = &fixture.engine;
    engine.run(put("T", key("a"))).unwrap();
    engine.run(disable()).unwrap();
    engine.run(put("T", key("unrecorded"))).unwrap();
    let start = iterator(engine, &first, &shard, ShardIteratorType::TrimHorizon, None);
    let (records, next) = read_from(engine, start);
    assert_eq!(records.len(), 1);
    assert_eq!(next, None, "a closed shard ends");
    let described = describe_stream(engine, &first);
    assert_eq!(described.stream_status, StreamStatus::Disabled);
    let range = &described.shards[0].sequence_number_range;
    assert_eq!(
        range.ending_sequence_number,
        Some(records[0].dynamodb.sequence_number.clone())
    );

    // Virtual time does not advance: the two streams must have different names nevertheless.
    engine.run(enable(StreamViewType::KeysOnly)).unwrap();
    engine.run(put("T", key("b"))).unwrap();
    let second = describe(engine, "T").latest_stream_arn.unwrap();
    assert_ne!(first, second);
    let records = read_all(engine, &second);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].dynamodb.keys, key("b"));
    let listed = engine.run(ListStreams::default()).unwrap().streams;
    assert_eq!(
        listed.len(),
        2,
        "the old stream can be read until its records are gone"
    );

    fixture.clock.advance(Duration::from_secs(25 * 3600));
    fixture.until("the old stream to be forgotten", || {
        engine.run(ListStreams::default()).unwrap().streams.len() == 1
    });
}

#[test]
fn a_dropped_table_s_stream_can_be_read_to_its_end() {
    let (fixture, arn, shard) = streamed(StreamViewType::NewImage);
    let engine = &fixture.engine;
    engine.run(put("T", key("a"))).unwrap();
    let delete = DeleteTable {
        table_name: "T".into(),
    };
    engine.run(delete).unwrap();
    let create = with_stream(table("T", "pk:S", &[], &[]), StreamViewType::NewImage);
    engine.run(create).unwrap();
    let start = iterator(engine, &arn, &shard, ShardIteratorType::TrimHorizon, None);
    let (records, next) = read_from(engine, start);
    assert_eq!((records.len(), next), (1, None));
    let second = describe(engine, "T").latest_stream_arn.unwrap();
    assert_ne!(arn, second);
    assert!(read_all(engine, &second).is_empty());
}

#[test]
fn an_expired_item_s_record_names_the_service() {
    let (fixture, arn, _) = streamed(StreamViewType::NewAndOldImages);
    let engine = &fixture.engine;
    let enable = UpdateTimeToLive {
        table_name: "T".into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "ttl".into(),
        },
    };
    engine.run(enable).unwrap();
    let soon = fixture.now().as_secs() as i64 + 5;
    engine
        .run(put("T", Item::from([("pk", s("a")), ("ttl", n(soon))])))
        .unwrap();
    fixture.clock.advance(Duration::from_secs(6));
    fixture.until("the item to expire", || read_all(engine, &arn).len() == 2);
    let records = read_all(engine, &arn);
    assert_eq!(records[0].user_identity, None);
    assert_eq!(records[1].event_name, OperationType::Remove);
    let identity = records[1].user_identity.clone().unwrap();
    assert_eq!(identity.principal_id.as_deref(), Some("dynamodb.amazonaws.com"));
    assert_eq!(identity.identity_type.as_deref(), Some("Service"));
    assert!(records[1].dynamodb.old_image.is_some());
}

#[test]
fn shards_share_the_work_and_each_item_stays_in_one() {
    let fixture = Fixture::with(Options {
        stream_shards: 4,
        ..Options::default()
    });
    let engine = &fixture.engine;
    let create = with_stream(table("T", "pk:N", &[], &[]), StreamViewType::KeysOnly);
    engine.run(create).unwrap();
    for round in 0..3 {
        for pk in 0..200 {
            let item = Item::from([("pk", n(pk)), ("round", n(round))]);
            engine.run(put("T", item)).unwrap();
        }
    }
    let arn = describe(engine, "T").latest_stream_arn.unwrap();
    let mut owner = std::collections::HashMap::new();
    let mut total = 0;
    for shard in describe_stream(engine, &arn).shards {
        let start = iterator(
            engine,
            &arn,
            &shard.shard_id,
            ShardIteratorType::TrimHorizon,
            None,
        );
        let (records, _) = read_from(engine, start);
        assert!(
            records.len() > 60,
            "{} of 600 in one of four shards",
            records.len()
        );
        total += records.len();
        for record in records {
            let key = format!("{:?}", record.dynamodb.keys);
            let before = owner.insert(key, shard.shard_id.clone());
            assert!(before.is_none_or(|before| before == shard.shard_id));
        }
    }
    assert_eq!(total, 600);
}

#[test]
fn a_stream_survives_closing_and_goes_on_after_it() {
    let fixture = Fixture::on_disk(one_shard());
    let create = with_stream(table("T", "pk:S", &[], &[]), StreamViewType::NewImage);
    fixture.engine.run(create).unwrap();
    fixture.engine.run(put("T", key("a"))).unwrap();
    let arn = describe(&fixture.engine, "T").latest_stream_arn.unwrap();
    let before = numbers(&read_all(&fixture.engine, &arn));
    let fixture = fixture.reopen();
    fixture.engine.run(put("T", key("b"))).unwrap();
    let after = numbers(&read_all(&fixture.engine, &arn));
    assert_eq!(after.len(), 2);
    assert_eq!(after[..1], before);
}

#[test]
fn the_newest_changes_are_read_from_the_end_over_all_shards_oldest_first() {
    let fixture = Fixture::with(Options {
        stream_shards: 3,
        ..Options::default()
    });
    let engine = &fixture.engine;
    let view = StreamViewType::NewAndOldImages;
    engine
        .run(with_stream(table("T", "pk:S", &[], &[]), view))
        .unwrap();
    engine.run(table("plain", "pk:S", &[], &[])).unwrap();
    for number in 0..30 {
        let row = Item::from([("pk", s(format!("{number}"))), ("n", n(number))]);
        engine.run(put("T", row)).unwrap();
    }
    let numbers = |at_most| {
        let recent = engine.recent_changes("T", at_most).unwrap();
        let shards: std::collections::BTreeSet<_> =
            recent.iter().map(|change| change.shard.clone()).collect();
        let images = recent
            .into_iter()
            .map(|change| change.record.dynamodb.new_image.unwrap());
        (
            images.map(|image| number(&image, "n")).collect::<Vec<_>>(),
            shards.len(),
        )
    };
    assert_eq!(numbers(10), ((20..30).collect(), 3));
    assert_eq!(numbers(1000).0, (0..30).collect::<Vec<_>>());
    assert_eq!(engine.recent_changes("plain", 10).unwrap(), []);
    assert!(engine.recent_changes("none", 10).is_err());
    fixture.clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(
        numbers(1000).0,
        Vec::<i64>::new(),
        "what is past the retention is not shown"
    );
}
