//! The reindexer: scans in segments, and an index on plain attributes.

use crate::models::reindexer::*;
use crate::support::{Counted, embedded, plain};
use trestle::{Database, Wait};

fn record(number: usize) -> Record {
    let new = NewRecord {
        id: format!("b{number}"),
        source_name: RecordSourceName::Sierra,
        version: 1,
    };
    Record {
        reindex_shard: Some(format!("sierra/{}", number % 2)),
        reindex_version: Some(1),
        ..new.into()
    }
}

pub(crate) fn story<D: Database>(db: &Reindexer<D>) {
    let records: Vec<Record> = (0..60).map(record).collect();
    db.put_many(&records).wait().unwrap();
    let shards = ["sierra/0", "sierra/1"].map(|id| NewShard { shard_id: id.into() });
    db.put_many(&shards).wait().unwrap();

    assert_eq!(db.record("b7").wait().unwrap(), Some(record(7)));
    let behind = db.records_to_reindex("sierra/0", 2).collect().wait().unwrap();
    assert_eq!(behind.len(), 30);
    db.update_record(RecordKey::new("b0"))
        .add_to_reindex_version(1)
        .only_if(Record::REINDEX_VERSION.is_less_than(2))
        .wait()
        .unwrap();
    let behind = db.records_to_reindex("sierra/0", 2);
    assert_eq!(behind.collect().wait().unwrap().len(), 29);
    assert_eq!(
        db.records_of_shard("sierra/0").collect().wait().unwrap().len(),
        30
    );

    let mut ids: Vec<String> = Vec::new();
    for segment in 0..4 {
        for record in db.all_records().segment(segment, 4).page_size(5).stream().wait() {
            ids.push(record.unwrap().id);
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 60, "segments are disjoint and leave nothing out");

    let shard = db
        .update_shard(ShardKey::new("sierra/1"))
        .set_desired_version(2)
        .wait()
        .unwrap();
    assert_eq!((shard.current_version, shard.desired_version), (0, 2));
    assert_eq!(db.shard("sierra/1").wait().unwrap(), Some(shard));
    assert_eq!(db.shards().collect().wait().unwrap().len(), 2);
    db.delete_many(&records).wait().unwrap();
    assert!(db.delete(ShardKey::new("sierra/0")).wait().unwrap());
    assert_eq!(db.all_records().first().wait().unwrap(), None);
}

#[test]
fn every_record_is_reached_by_shard_and_by_segment_on_the_engine() {
    story(&Reindexer::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_whether_or_not_it_has_the_model() {
    let embedded = embedded();
    Reindexer::apply_to(&embedded).unwrap();
    story(&Reindexer::on(Counted::new(embedded)).model_applied());
    story(&Reindexer::on(Counted::new(plain::<ReindexerModel>())));
}
