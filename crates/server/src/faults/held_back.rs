//! A database that accepts only a part of each batch, as DynamoDB does with a throttled table.

use std::collections::BTreeMap;
use std::sync::Arc;
use trestle_api::{
    BatchGetItem, BatchWriteItem, Database, DatabaseExt, Error, KeysAndAttributes, Request, Response,
    ResponseFuture, WriteRequest, table_name,
};

/// A database with throttled tables.
pub(super) struct HeldBack {
    pub(super) database: Arc<dyn Database>,
    /// The tables that are throttled; all, if there are none.
    pub(super) tables: Vec<String>,
}

impl Database for HeldBack {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request {
            Request::BatchWriteItem(batch) => Box::pin(self.write(batch)),
            Request::BatchGetItem(batch) => Box::pin(self.read(batch)),
            _ => Box::pin(async { Err(Error::throughput_exceeded()) }),
        }
    }
}

impl HeldBack {
    async fn write(&self, mut batch: BatchWriteItem) -> Result<Response, Error> {
        let held = self.hold_back(&mut batch.request_items, |writes: &mut Vec<WriteRequest>| {
            every_second(writes)
        })?;
        let mut output = self.database.batch_write_item(batch).await?;
        for (table, mut writes) in held {
            output
                .unprocessed_items
                .entry(table)
                .or_default()
                .append(&mut writes);
        }
        Ok(output.into())
    }

    async fn read(&self, mut batch: BatchGetItem) -> Result<Response, Error> {
        let held = self.hold_back(&mut batch.request_items, |asked: &mut KeysAndAttributes| {
            let keys = every_second(&mut asked.keys);
            KeysAndAttributes {
                keys,
                ..asked.clone()
            }
        })?;
        let mut output = self.database.batch_get_item(batch).await?;
        for (table, mut asked) in held {
            // Items that the database itself left unprocessed are returned with those held back.
            if let Some(left) = output.unprocessed_keys.remove(&table) {
                asked.keys.extend(left.keys);
            }
            output.unprocessed_keys.insert(table, asked);
        }
        Ok(output.into())
    }

    /// Removes a part of a batch's requests to each throttled table. If nothing is left of the batch, it is
    /// throttled as a whole.
    fn hold_back<T: HasItems>(
        &self,
        items: &mut BTreeMap<String, T>,
        mut take: impl FnMut(&mut T) -> T,
    ) -> Result<BTreeMap<String, T>, Error> {
        let throttled = items.iter_mut().filter(|(table, _)| self.throttles(table));
        let held = throttled
            .map(|(table, asked)| (table.clone(), take(asked)))
            .collect();
        items.retain(|_, asked| !asked.is_empty());
        match items.is_empty() {
            true => Err(Error::throughput_exceeded()),
            false => Ok(held),
        }
    }

    fn throttles(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|one| one == table_name(table))
    }
}

/// A batch's requests to one table.
trait HasItems {
    fn is_empty(&self) -> bool;
}

impl HasItems for Vec<WriteRequest> {
    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl HasItems for KeysAndAttributes {
    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Takes the first of every two: at least one, and about half of many.
fn every_second<T>(items: &mut Vec<T>) -> Vec<T> {
    let mut number = 0;
    items
        .extract_if(.., |_| {
            number += 1;
            number % 2 == 1
        })
        .collect()
}
