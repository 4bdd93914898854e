//! Many rows at once.

use std::sync::Mutex;

use crate::models::reindexer::*;
use crate::support::{Counted, embedded};
use trestle::api::{BatchGetItem, BatchWriteItem, Request, Response, ResponseFuture};
use trestle::typed::Error;
use trestle::{Database, Embedded, Wait};

fn shard(number: i64) -> Shard {
    Shard {
        current_version: number,
        ..NewShard {
            shard_id: number.to_string(),
        }
        .into()
    }
}

#[test]
fn rows_come_in_the_order_of_their_keys_in_as_few_requests_as_may_be() {
    let embedded = embedded();
    Reindexer::apply_to(&embedded).unwrap();
    let database = Counted::new(embedded);
    let db = Reindexer::on(database.clone()).model_applied();
    let shards: Vec<Shard> = (0..130).map(shard).collect();
    db.put_many(&shards).wait().unwrap();
    assert_eq!(database.take(), 6, "25 rows at a time");
    let keys = [129, 5, 999, 5, 0].map(|number| shard(number).key());
    let found = db.get_many(&keys).wait().unwrap();
    assert_eq!(
        found,
        [
            Some(shard(129)),
            Some(shard(5)),
            None,
            Some(shard(5)),
            Some(shard(0))
        ]
    );
    assert_eq!(database.take(), 1);
    let all = db.get_many(&shards).wait().unwrap();
    assert!(all.iter().all(Option::is_some));
    assert_eq!(database.take(), 2, "100 rows at a time");
    db.delete_many(&shards).wait().unwrap();
    assert_eq!(db.shards().first().wait().unwrap(), None);
}

#[test]
fn of_several_rows_with_one_key_the_last_counts() {
    let db = Reindexer::apply_to(&embedded()).unwrap();
    let twice = [
        shard(1),
        Shard {
            desired_version: 9,
            ..shard(1)
        },
    ];
    db.put_many(&twice).wait().unwrap();
    assert_eq!(db.shard("1").wait().unwrap().unwrap().desired_version, 9);
}

#[test]
fn nothing_is_asked_for_nothing() {
    let embedded = embedded();
    Reindexer::apply_to(&embedded).unwrap();
    let database = Counted::new(embedded);
    let db = Reindexer::on(database.clone()).model_applied();
    assert_eq!(db.get_many::<ShardKey>([]).wait().unwrap(), []);
    db.put_many::<Shard>([]).wait().unwrap();
    assert_eq!(database.take(), 0);
}

/// A database that processes one row of each batch, and leaves the others.
struct Slow {
    embedded: Embedded,
    /// The number of batches of which it still processes something.
    willing: Mutex<usize>,
}

impl Slow {
    fn is_willing(&self) -> bool {
        let mut left = self.willing.lock().unwrap();
        *left = left.saturating_sub(1);
        *left > 0
    }
}

impl Database for Slow {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let willing = self.is_willing();
        match request {
            Request::BatchWriteItem(mut batch) => {
                let mut undone = batch.request_items.clone();
                for (table, writes) in &mut batch.request_items {
                    writes.truncate(usize::from(willing));
                    undone.get_mut(table).unwrap().drain(..writes.len());
                }
                batch.request_items.retain(|_, writes| !writes.is_empty());
                Box::pin(async move {
                    let mut answer = write(&self.embedded, batch).await?;
                    undone.retain(|_, writes| !writes.is_empty());
                    answer.unprocessed_items = undone;
                    Ok(Response::BatchWriteItem(answer))
                })
            }
            Request::BatchGetItem(mut batch) => {
                let mut undone = batch.request_items.clone();
                for (table, keys) in &mut batch.request_items {
                    keys.keys.truncate(1);
                    undone.get_mut(table).unwrap().keys.drain(..1);
                }
                Box::pin(async move {
                    let mut answer = read(&self.embedded, batch).await?;
                    undone.retain(|_, keys| !keys.keys.is_empty());
                    answer.unprocessed_keys = undone;
                    Ok(Response::BatchGetItem(answer))
                })
            }
            other => self.embedded.execute(other),
        }
    }
}

async fn write(
    embedded: &Embedded,
    batch: BatchWriteItem,
) -> Result<trestle::api::BatchWriteItemOutput, trestle::Error> {
    if batch.request_items.is_empty() {
        return Ok(trestle::api::BatchWriteItemOutput::default());
    }
    trestle::DatabaseExt::batch_write_item(embedded, batch).await
}

async fn read(
    embedded: &Embedded,
    batch: BatchGetItem,
) -> Result<trestle::api::BatchGetItemOutput, trestle::Error> {
    trestle::DatabaseExt::batch_get_item(embedded, batch).await
}

fn slow(willing: usize) -> Reindexer<Slow> {
    let embedded = embedded();
    Reindexer::apply_to(&embedded).unwrap();
    let willing = Mutex::new(willing);
    Reindexer::on(Slow { embedded, willing }).model_applied()
}

#[test]
fn what_the_database_leaves_undone_is_asked_for_again() {
    let db = slow(1000);
    let shards: Vec<Shard> = (0..40).map(shard).collect();
    db.put_many(&shards).wait().unwrap();
    let found = db.get_many(&shards).wait().unwrap();
    assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), shards);
}

#[test]
fn a_database_that_does_nothing_is_given_up_in_the_end() {
    let db = slow(3);
    let shards: Vec<Shard> = (0..5).map(shard).collect();
    let error = db.put_many(&shards).wait().unwrap_err();
    assert!(matches!(error, Error::Unprocessed { rows: 3 }), "{error}");
    assert!(error.is_transient());
}
