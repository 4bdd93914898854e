//! Deletes rows by their keys: in batches, and one by one where a batch is refused.

use trestle_api::{
    BatchWriteItem, BatchWriteItemOutput, Database, DatabaseExt, DeleteItem, DeleteRequest, Error, ErrorKind,
    WriteRequest, pause_after,
};
use trestle_item::Item;

use crate::LeftRow;

/// DynamoDB's limit for a batch.
const BATCH_ROWS: usize = 25;
/// How often the deletion of a row is tried that is in a transaction, or for which the database has no room.
const ATTEMPTS_MAX: usize = 32;

/// Deletes rows. Returns those that the database refuses to delete.
///
/// Batches are started together, so that an embedded database commits them together.
pub(crate) async fn delete(
    database: &dyn Database,
    table: &str,
    keys: &[Item],
) -> Result<Vec<LeftRow>, Error> {
    let start = |keys: &[Item]| database.batch_write_item(batch(table, keys));
    let started: Vec<_> = keys.chunks(BATCH_ROWS).map(|keys| (keys, start(keys))).collect();
    let mut singly = Vec::new();
    for (keys, answer) in started {
        match answer.await {
            Ok(output) => singly.extend(undone(output)),
            // One row that is refused refuses its batch.
            Err(error) if is_refusal(&error) => singly.extend_from_slice(keys),
            Err(error) => return Err(error),
        }
    }
    one_by_one(database, table, singly).await
}

fn batch(table: &str, keys: &[Item]) -> BatchWriteItem {
    let deletion = |key: &Item| WriteRequest {
        put_request: None,
        delete_request: Some(DeleteRequest { key: key.clone() }),
    };
    BatchWriteItem {
        request_items: [(table.to_owned(), keys.iter().map(deletion).collect())].into(),
        ..BatchWriteItem::default()
    }
}

/// The rows that the database did not process.
fn undone(output: BatchWriteItemOutput) -> impl Iterator<Item = Item> {
    let writes = output.unprocessed_items.into_values().flatten();
    writes.filter_map(|write| Some(write.delete_request?.key))
}

async fn one_by_one(database: &dyn Database, table: &str, keys: Vec<Item>) -> Result<Vec<LeftRow>, Error> {
    let start = |key: &Item| {
        database.delete_item(DeleteItem {
            table_name: table.to_owned(),
            key: key.clone(),
            ..DeleteItem::default()
        })
    };
    let started: Vec<_> = keys.iter().map(start).collect();
    let mut left = Vec::new();
    for (key, answer) in keys.iter().zip(started) {
        let mut outcome = answer.await;
        for attempt in 0..ATTEMPTS_MAX {
            if !outcome.as_ref().is_err_and(is_transient) {
                break;
            }
            pause_after(attempt).await;
            outcome = start(key).await;
        }
        match outcome {
            Ok(_) => {}
            Err(error) if is_refusal(&error) => left.push(LeftRow {
                key: key.clone(),
                reason: error.message().to_owned(),
            }),
            Err(error) => return Err(error),
        }
    }
    Ok(left)
}

/// Whether the row, and not the request, is the reason.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Validation | ErrorKind::ConditionalCheckFailed
    )
}

/// Whether trying again can help.
fn is_transient(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TransactionConflict
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
    )
}
