//! Writes rows at the target, in batches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use trestle_api::{BatchWriteItem, Database, DatabaseExt, DeleteRequest, PutRequest, WriteRequest};
use trestle_item::{Item, size};
use trestle_reindex::Units;

use crate::CopyError;
use crate::patience::Patience;

/// DynamoDB's limit.
const BATCH_ROWS: usize = 25;
/// Well below DynamoDB's limit of 16 MB, including the overhead of JSON.
const BATCH_BYTES: usize = 4 << 20;
/// Batches of one page that are written in parallel.
const BATCHES_AT_ONCE: usize = 4;
/// The pause before the rest of a batch is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// The bytes of a write unit.
const UNIT_BYTES: usize = 1024;

/// Writes rows of one table.
#[derive(Clone)]
pub(crate) struct RowWriter {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) table: String,
    pub(crate) units: Arc<Units>,
    pub(crate) patience: Patience,
}

/// The write for a key.
pub(crate) enum RowWrite {
    Put(Item),
    /// Deletes the row with this key.
    Delete(Item),
}

impl RowWrite {
    fn bytes(&self) -> usize {
        let (Self::Put(item) | Self::Delete(item)) = self;
        size::of_item(item)
    }

    fn request(self) -> WriteRequest {
        match self {
            Self::Put(item) => WriteRequest {
                put_request: Some(PutRequest { item }),
                delete_request: None,
            },
            Self::Delete(key) => WriteRequest {
                put_request: None,
                delete_request: Some(DeleteRequest { key }),
            },
        }
    }
}

impl RowWriter {
    /// Writes rows, each key once. They are durable when this returns; writing them again has no effect.
    pub(crate) async fn write(&self, rows: Vec<RowWrite>) -> Result<(), CopyError> {
        stream::iter(batches(rows).into_iter().map(|batch| self.batch(batch)))
            .buffer_unordered(BATCHES_AT_ONCE)
            .try_collect()
            .await
    }

    async fn batch(&self, batch: Batch) -> Result<(), CopyError> {
        self.units.take(batch.units).await;
        let what = format!("writing rows of table {} at the target", self.table);
        let mut rows = batch.rows;
        loop {
            let request = BatchWriteItem {
                request_items: BTreeMap::from([(self.table.clone(), rows)]),
                ..BatchWriteItem::default()
            };
            let write = || self.database.batch_write_item(request.clone());
            let mut left = self.patience.ask(&what, write).await?.unprocessed_items;
            rows = match left.remove(&self.table) {
                Some(left) if !left.is_empty() => left,
                _ => return Ok(()),
            };
            tokio::time::sleep(PAUSE).await;
        }
    }
}

struct Batch {
    rows: Vec<WriteRequest>,
    bytes: usize,
    units: f64,
}

fn batches(rows: Vec<RowWrite>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::with_capacity(rows.len() / BATCH_ROWS + 1);
    for row in rows {
        let bytes = row.bytes();
        let has_room =
            |batch: &&mut Batch| batch.rows.len() < BATCH_ROWS && batch.bytes + bytes <= BATCH_BYTES;
        let units = bytes.div_ceil(UNIT_BYTES).max(1) as f64;
        match batches.last_mut().filter(has_room) {
            Some(batch) => {
                batch.rows.push(row.request());
                batch.bytes += bytes;
                batch.units += units;
            }
            None => batches.push(Batch {
                rows: vec![row.request()],
                bytes,
                units,
            }),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_at_most_25_rows_and_4_mb() {
        let row = |bytes: usize| RowWrite::Put(Item::from([("pk", "x".repeat(bytes).as_str())]));
        let sizes = |rows: Vec<RowWrite>| -> Vec<usize> {
            batches(rows).iter().map(|batch| batch.rows.len()).collect()
        };
        assert_eq!(sizes((0..60).map(|_| row(10)).collect()), [25, 25, 10]);
        assert_eq!(sizes((0..25).map(|_| row(390_000)).collect()), [10, 10, 5]);
        assert!(sizes(Vec::new()).is_empty());
    }
}
