//! Rows that are read, changed and written with a lock on their version; and counting rows.

use std::sync::Arc;
use std::thread;

use crate::models::reindexer::*;
use crate::support::{Counted, embedded, plain};
use trestle::typed::Error;
use trestle::{Database, Wait};

fn titled(row: Option<Record>, shard: String) -> Result<Record, Error> {
    let new = || {
        Record::from(NewRecord {
            id: "of no account".to_owned(),
            source_name: RecordSourceName::Miro,
            version: 77,
        })
    };
    let mut row = row.unwrap_or_else(new);
    row.reindex_shard = Some(row.reindex_shard.unwrap_or_default() + &shard);
    Ok(row)
}

fn change<D: Database>(db: &Reindexer<D>, shard: &str) -> i64 {
    let changed = db.change(RecordKey::new("b1"), Record::VERSION, |row| {
        titled(row, shard.to_owned())
    });
    changed.wait().unwrap()
}

fn story<D: Database>(db: &Reindexer<D>) {
    assert_eq!(change(db, "a"), 1);
    assert_eq!(change(db, "b"), 2);
    let row = db.record("b1").wait().unwrap().unwrap();
    assert_eq!((row.version, row.reindex_shard.as_deref()), (2, Some("ab")));
    // If the change fails, nothing is written.
    let refused = db.change(RecordKey::new("b1"), Record::VERSION, |_| {
        Err(Error::Unprocessed { rows: 1 })
    });
    assert!(matches!(refused.wait(), Err(Error::Unprocessed { .. })));
    assert_eq!(db.record("b1").wait().unwrap(), Some(row));
}

#[test]
fn a_change_writes_the_next_version_of_what_it_read() {
    story(&Reindexer::apply_to(&embedded()).unwrap());
    story(&Reindexer::on(plain::<ReindexerModel>()));
}

#[test]
fn a_write_in_between_is_seen_and_not_lost() {
    let db = Reindexer::apply_to(&embedded()).unwrap();
    for is_there in [false, true] {
        let mut looks = 0;
        let changed = db.change(RecordKey::new("b1"), Record::VERSION, |row| {
            assert_eq!(row.is_some(), is_there || looks > 0);
            looks += 1;
            if looks == 1 {
                change(&db, "x");
            }
            titled(row, "y".to_owned())
        });
        changed.wait().unwrap();
        assert_eq!(looks, 2);
    }
    let row = db.record("b1").wait().unwrap().unwrap();
    assert_eq!((row.version, row.reindex_shard.as_deref()), (4, Some("xyxy")));
}

#[test]
fn of_many_changes_at_once_none_is_lost() {
    let db = Arc::new(Reindexer::apply_to(&embedded()).unwrap());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let db = Arc::clone(&db);
            thread::spawn(move || (0..25).map(|_| change(&db, "z")).max())
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let row = db.record("b1").wait().unwrap().unwrap();
    assert_eq!((row.version, row.reindex_shard.unwrap().len()), (100, 100));
}

#[test]
fn a_row_that_others_keep_changing_is_given_up_in_the_end() {
    let db = Reindexer::apply_to(&embedded()).unwrap();
    let changed = db.change(RecordKey::new("b1"), Record::VERSION, |row| {
        change(&db, "x");
        titled(row, "y".to_owned())
    });
    let given_up = changed.wait().unwrap_err();
    assert!(
        matches!(given_up, Error::Contended(_)) && given_up.is_transient(),
        "{given_up}"
    );
    let row = db.record("b1").wait().unwrap().unwrap();
    assert!(!row.reindex_shard.unwrap().contains('y'));
}

#[test]
fn rows_are_counted_where_they_are() {
    let counted = Counted::new(plain::<ReindexerModel>());
    let db = Reindexer::on(counted.clone());
    assert_eq!(db.all_records().count().wait().unwrap(), 0);
    let row = |number: i64| Record {
        reindex_shard: Some("miro/1".to_owned()),
        reindex_version: Some(number % 2),
        ..Record::from(NewRecord {
            id: format!("V{number}"),
            source_name: RecordSourceName::Miro,
            version: 1,
        })
    };
    let rows: Vec<Record> = (0..60).map(row).collect();
    db.put_many(&rows).wait().unwrap();
    counted.take();
    assert_eq!(db.all_records().consistent().count().wait().unwrap(), 60);
    assert_eq!(counted.take(), 1);
    assert_eq!(db.all_records().page_size(7).count().wait().unwrap(), 60);
    assert_eq!(counted.take(), 9);
    assert_eq!(db.records_to_reindex("miro/1", 1).count().wait().unwrap(), 30);
    assert_eq!(db.records_of_shard("miro/2").count().wait().unwrap(), 0);
}
