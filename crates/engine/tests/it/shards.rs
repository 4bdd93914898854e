//! Shards that are split: parents, children, and the order of each item's changes across them.

use std::collections::HashMap;

use trestle_api::{
    DescribeStream, ErrorKind, GetRecords, GetShardIterator, Record, Shard, ShardFilter, ShardFilterType,
    ShardIteratorType, StreamViewType,
};
use trestle_engine::{Engine, Options};
use trestle_item::Item;

use crate::support::{Fixture, describe, n, number, put, table, with_stream};

fn options(shards: u16) -> Options {
    Options {
        stream_shards: shards,
        ..Options::default()
    }
}

/// A table `T` with a stream; returns the stream.
fn streamed(engine: &Engine) -> String {
    let create = with_stream(table("T", "pk:N", &[], &[]), StreamViewType::NewAndOldImages);
    engine.run(create).unwrap();
    describe(engine, "T").latest_stream_arn.unwrap()
}

/// Puts a hundred items, each with the round it was written in.
fn write_round(engine: &Engine, round: i64) {
    for pk in 0..100 {
        let item = Item::from([("pk", n(pk)), ("round", n(round))]);
        engine.run(put("T", item)).unwrap();
    }
}

fn shards(engine: &Engine, arn: &str, children_of: Option<&str>) -> Vec<Shard> {
    let request = DescribeStream {
        stream_arn: arn.to_owned(),
        shard_filter: children_of.map(|parent| ShardFilter {
            filter_type: Some(ShardFilterType::ChildShards),
            shard_id: Some(parent.to_owned()),
        }),
        ..DescribeStream::default()
    };
    engine.run(request).unwrap().stream_description.shards
}

/// Everything in a shard, and whether the shard has ended.
fn read(engine: &Engine, arn: &str, shard: &str) -> (Vec<Record>, bool) {
    let request = GetShardIterator {
        stream_arn: arn.to_owned(),
        shard_id: shard.to_owned(),
        shard_iterator_type: ShardIteratorType::TrimHorizon,
        ..GetShardIterator::default()
    };
    let mut iterator = engine.run(request).unwrap().shard_iterator;
    let mut records = Vec::new();
    while let Some(shard_iterator) = iterator {
        let page = GetRecords {
            shard_iterator,
            limit: Some(13),
        };
        let page = engine.run(page).unwrap();
        if page.records.is_empty() && page.next_shard_iterator.is_some() {
            return (records, false);
        }
        records.extend(page.records);
        iterator = page.next_shard_iterator;
    }
    (records, true)
}

/// The rounds of each item, in the order of the records.
fn rounds_of_items(records: &[Record]) -> HashMap<i64, Vec<i64>> {
    let mut rounds: HashMap<i64, Vec<i64>> = HashMap::new();
    for record in records {
        let new = record.dynamodb.new_image.as_ref().unwrap();
        rounds
            .entry(number(&record.dynamodb.keys, "pk"))
            .or_default()
            .push(number(new, "round"));
    }
    rounds
}

#[test]
fn a_split_shard_ends_and_its_children_go_on() {
    let fixture = Fixture::with(options(1));
    let engine = &fixture.engine;
    let arn = streamed(engine);
    write_round(engine, 0);
    let parent = shards(engine, &arn, None)[0].shard_id.clone();
    engine.split_shard(&arn, &parent).unwrap();
    write_round(engine, 1);

    let all = shards(engine, &arn, None);
    let children = shards(engine, &arn, Some(&parent));
    assert_eq!(all.len(), 3);
    assert_eq!(children, all[1..]);
    for child in &children {
        assert_eq!(child.parent_shard_id.as_deref(), Some(&*parent));
        assert_eq!(child.sequence_number_range.ending_sequence_number, None);
        assert!(
            all[0].sequence_number_range.ending_sequence_number
                < child.sequence_number_range.starting_sequence_number
        );
        assert_eq!(shards(engine, &arn, Some(&child.shard_id)), []);
    }

    let (before, ended) = read(engine, &arn, &parent);
    assert!(ended, "the parent ends behind its last record");
    assert_eq!(before.len(), 100);
    let (one, one_ended) = read(engine, &arn, &children[0].shard_id);
    let (other, other_ended) = read(engine, &arn, &children[1].shard_id);
    assert!(!one_ended && !other_ended);
    assert_eq!(one.len() + other.len(), 100);
    assert!(
        one.len() > 20 && other.len() > 20,
        "{} and {}",
        one.len(),
        other.len()
    );
    fixture.assert_sound();
}

#[test]
fn each_items_changes_stay_in_order_from_parent_to_child() {
    let fixture = Fixture::on_disk(options(3));
    let arn = streamed(&fixture.engine);
    for round in 0..6 {
        write_round(&fixture.engine, round);
        let all = shards(&fixture.engine, &arn, None);
        let open: Vec<_> = all
            .iter()
            .filter(|shard| shard.sequence_number_range.ending_sequence_number.is_none())
            .collect();
        let chosen = open[round as usize % open.len()];
        fixture.engine.split_shard(&arn, &chosen.shard_id).unwrap();
    }
    fixture.assert_sound();
    let fixture = fixture.reopen();
    write_round(&fixture.engine, 6);
    // Parents have lower numbers than their children, so the listed order can be used for reading.
    let all = shards(&fixture.engine, &arn, None);
    assert_eq!(all.len(), 3 + 2 * 6);
    let records: Vec<Record> = all
        .iter()
        .flat_map(|shard| read(&fixture.engine, &arn, &shard.shard_id).0)
        .collect();
    let rounds = rounds_of_items(&records);
    assert_eq!(rounds.len(), 100);
    for (item, rounds) in rounds {
        assert_eq!(rounds, [0, 1, 2, 3, 4, 5, 6], "item {item}");
    }
    fixture.assert_sound();
}

#[test]
fn a_shard_splits_by_itself_when_much_was_written_to_it() {
    let fixture = Fixture::with(Options {
        stream_shard_bytes_max: 3000,
        ..options(1)
    });
    let arn = streamed(&fixture.engine);
    write_round(&fixture.engine, 0);
    fixture.until("the shard to be split", || {
        shards(&fixture.engine, &arn, None).len() >= 3
    });
    write_round(&fixture.engine, 1);
    fixture.until("the children to be split", || {
        shards(&fixture.engine, &arn, None).len() >= 5
    });
    fixture.assert_sound();
}

#[test]
fn only_an_open_shard_can_be_split_and_only_so_often() {
    let fixture = Fixture::with(options(1));
    let engine = &fixture.engine;
    let arn = streamed(engine);
    let first = shards(engine, &arn, None)[0].shard_id.clone();
    engine.split_shard(&arn, &first).unwrap();
    let refused = engine.split_shard(&arn, &first).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation, "{refused}");
    let unknown = engine.split_shard(&arn, "shardId-1").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::ResourceNotFound, "{unknown}");
    let newest = || {
        let request = DescribeStream {
            stream_arn: arn.clone(),
            limit: Some(1000),
            ..DescribeStream::default()
        };
        let shards = engine.run(request).unwrap().stream_description.shards;
        (shards.len(), shards.last().unwrap().shard_id.clone())
    };
    // Each split halves the range of the last shard: the ranges become too small before the limit of shards
    // is reached.
    let splits = (0..300)
        .take_while(|_| engine.split_shard(&arn, &newest().1).is_ok())
        .count();
    assert_eq!((splits, newest().0), (63, 129));
    write_round(engine, 0);
    fixture.assert_sound();
}

#[test]
fn a_commit_that_records_changes_rings_the_bell_and_others_do_not() {
    let fixture = Fixture::with(options(1));
    let engine = &fixture.engine;
    let bell = engine.changes();
    let before = bell.rings();
    engine.run(table("quiet", "pk:N", &[], &[])).unwrap();
    engine.run(put("quiet", Item::from([("pk", n(1))]))).unwrap();
    streamed(engine);
    assert_eq!(bell.rings(), before);
    engine.run(put("T", Item::from([("pk", n(1))]))).unwrap();
    // The bell rings before the write is answered.
    assert_eq!(bell.rings(), before + 1);
}
