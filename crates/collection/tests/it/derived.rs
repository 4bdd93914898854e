//! Rows of a model are deleted with their derived rows.

use trestle_api::{DescribeStream, DescribeTable, GetItem, GetRecords, GetShardIterator, ShardIteratorType};
use trestle_embedded::Embedded;
use trestle_item::{AttributeValue, Item, Number};

use crate::support::{RUNS, assert_sound, deleted, deleted_by, keys, partition, put, total, with_model};

fn run(db: &Embedded, run: &str, name: &str, steps: i64) {
    put(
        db,
        "runs",
        Item::from([("kind", "run"), ("run", run), ("name", name)]),
    );
    for number in 1..=steps {
        let mut step = Item::from([("kind", "step"), ("run", run), ("workflow", "w")]);
        step.insert("number", AttributeValue::N(Number::from(number)));
        put(db, "runs", step);
    }
}

fn filled() -> Embedded {
    let db = with_model(RUNS);
    put(&db, "runs", Item::from([("kind", "workflow"), ("workflow", "w")]));
    run(&db, "wf", "first", 30);
    run(&db, "wf-2", "second", 2);
    db
}

fn steps_counted(db: &Embedded) -> i64 {
    let found = db.run(GetItem {
        table_name: "runs".to_owned(),
        key: Item::from([("pk", "workflow#w"), ("sk", "workflow")]),
        ..GetItem::default()
    });
    let row = found.unwrap().item.unwrap();
    row.get("steps")
        .and_then(AttributeValue::as_n)
        .unwrap()
        .to_i64()
        .unwrap()
}

const OF_SECOND: [&str; 8] = [
    "names/second",
    "run#wf-2/head",
    "run#wf-2/run",
    "run#wf-2/step#0001",
    "run#wf-2/step#0002",
    "workflow#w/used#wf-2#0001",
    "workflow#w/used#wf-2#0002",
    "workflow#w/workflow",
];

#[test]
fn heads_unique_values_counts_and_relations_follow() {
    for rows_per_step in [1_000, 7, 1] {
        let db = filled();
        assert_eq!(steps_counted(&db), 32);
        let steps = deleted_by(&db, &partition(&db, "runs", "run#wf"), rows_per_step);
        assert!(steps.iter().all(|step| step.left.is_empty()), "{steps:?}");
        assert_eq!(keys(&db, "runs"), OF_SECOND, "{rows_per_step} rows in a step");
        assert_eq!(steps_counted(&db), 2);
        assert_sound(&db);
        run(&db, "wf-3", "first", 1);
    }
}

#[test]
fn deleting_one_side_of_a_relation_deletes_the_other() {
    let db = filled();
    let used = partition(&db, "runs", "workflow#w")
        .beginning_with("used#wf-2#".into())
        .unwrap();
    assert_eq!(total(&deleted(&db, &used)), 2);
    assert!(
        !keys(&db, "runs")
            .iter()
            .any(|key| key.starts_with("run#wf-2/step"))
    );
    assert_sound(&db);
}

#[test]
fn rows_that_are_kept_for_others_stay_and_are_named() {
    let db = filled();
    let before = keys(&db, "runs");
    let steps = deleted(&db, &partition(&db, "runs", "names"));
    assert_eq!((steps.len(), total(&steps)), (1, 0));
    let left: Vec<_> = steps[0]
        .left
        .iter()
        .map(|row| row.key.get("sk").cloned())
        .collect();
    assert_eq!(left, [Some("first".into()), Some("second".into())]);
    assert!(
        steps[0].left.iter().all(|row| !row.reason.is_empty()),
        "{steps:?}"
    );
    assert_eq!(keys(&db, "runs"), before);
}

#[test]
fn every_row_that_goes_is_in_the_stream() {
    let db = filled();
    deleted(&db, &partition(&db, "runs", "run#wf-2"));
    let table = db
        .run(DescribeTable {
            table_name: "runs".to_owned(),
        })
        .unwrap()
        .table;
    let stream_arn = table.latest_stream_arn.unwrap();
    let stream = db.run(DescribeStream {
        stream_arn: stream_arn.clone(),
        ..DescribeStream::default()
    });
    let shard_id = stream.unwrap().stream_description.shards[0].shard_id.clone();
    let iterator = db.run(GetShardIterator {
        stream_arn,
        shard_id,
        shard_iterator_type: ShardIteratorType::TrimHorizon,
        sequence_number: None,
        timestamp: None,
    });
    let shard_iterator = iterator.unwrap().shard_iterator.unwrap();
    let records = db
        .run(GetRecords {
            shard_iterator,
            limit: None,
        })
        .unwrap()
        .records;
    let removed = records
        .iter()
        .filter(|record| record.dynamodb.new_image.is_none());
    let text = |keys: &Item, name| keys.get(name).and_then(AttributeValue::as_s).unwrap().to_owned();
    let mut removed: Vec<String> = removed
        .map(|record| {
            format!(
                "{}/{}",
                text(&record.dynamodb.keys, "pk"),
                text(&record.dynamodb.keys, "sk")
            )
        })
        .collect();
    removed.sort();
    assert_eq!(removed, OF_SECOND[..7], "each once, with what followed");
}
