//! `BatchWriteItem`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::{
    BatchWriteItem, BatchWriteItemOutput, DeleteRequest, Error, ItemCollectionMetrics, PutRequest,
    ReturnConsumedCapacity, ReturnItemCollectionMetrics, WriteRequest,
};
use trestle_writes::{BATCH_WRITES_MAX, Write};

use crate::capacity::Consumed;
use crate::catalog::{Catalog, Table};
use crate::completion::Completion;
use crate::shared::Shared;
use crate::transaction::{Actor, Transaction};
use crate::write_item::{Action, ItemWrite, Placed};
use crate::{Engine, collection, ops};

pub(crate) fn run(engine: &Engine, request: BatchWriteItem) -> Completion {
    let shared = engine.shared();
    let (capacity, metrics) = (
        request.return_consumed_capacity,
        request.return_item_collection_metrics,
    );
    let writes = match place(shared, request) {
        Ok(writes) => writes,
        Err(error) => return Completion::Ready(Err(error)),
    };
    // A batch is many independent requests: an item in a running transaction delays only itself.
    let (held, free): (Vec<_>, Vec<_>) = writes
        .into_iter()
        .partition(|write| shared.conflicts.has(&write.place()));
    let mut unprocessed_items: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
    for (table, request) in held.into_iter().map(unprocessed) {
        unprocessed_items.entry(table).or_default().push(request);
    }
    ops::write(engine, move |transaction| {
        let output = apply(transaction, free, capacity, metrics)?;
        Ok(BatchWriteItemOutput {
            unprocessed_items,
            ..output
        })
    })
}

fn place(shared: &Shared, request: BatchWriteItem) -> Result<Vec<Placed>, Error> {
    let count: usize = request.request_items.values().map(Vec::len).sum();
    if count > BATCH_WRITES_MAX {
        return Err(Error::validation(
            "Too many items requested for the BatchWriteItem call",
        ));
    }
    let mut writes = Vec::with_capacity(count);
    for (table, requests) in request.request_items {
        for request in requests {
            writes.push(ItemWrite::from(Write::of_batch(&table, request)?));
        }
    }
    let catalog = shared.catalog.load();
    let mut seen = HashSet::new();
    let mut placed = Vec::with_capacity(writes.len());
    for write in writes {
        check_key(&catalog, shared, &write)?;
        let write = write.place(&catalog, shared)?;
        if !seen.insert(write.place()) {
            return Err(Error::validation(
                "Provided list of item keys contains duplicates",
            ));
        }
        placed.push(write);
    }
    Ok(placed)
}

/// In a batch, an item without its key is refused with the message for keys, not with that for items.
fn check_key(catalog: &Catalog, shared: &Shared, write: &ItemWrite) -> Result<(), Error> {
    if let Action::Put(item) = &write.action {
        let table = catalog.table(&write.table_name, shared.clock.now())?;
        if table.hook.is_none() {
            table.key.item_key(&table.key.key_of(item))?;
        }
    }
    Ok(())
}

/// A write as the client sent it.
fn unprocessed(write: Placed) -> (String, WriteRequest) {
    let write = write.into_write();
    let request = match write.action {
        Action::Put(item) | Action::Insert(item) => WriteRequest {
            put_request: Some(PutRequest {
                item: Arc::unwrap_or_clone(item).into_item(),
            }),
            delete_request: None,
        },
        Action::Delete(key) | Action::Update(key, _) | Action::Check(key) => WriteRequest {
            put_request: None,
            delete_request: Some(DeleteRequest { key }),
        },
    };
    (write.table_name, request)
}

fn apply(
    transaction: &mut Transaction<'_>,
    writes: Vec<Placed>,
    capacity: Option<ReturnConsumedCapacity>,
    metrics: Option<ReturnItemCollectionMetrics>,
) -> Result<BatchWriteItemOutput, Error> {
    let mut used: BTreeMap<String, (Arc<Table>, Consumed)> = BTreeMap::new();
    let mut collections: BTreeMap<String, Vec<ItemCollectionMetrics>> = BTreeMap::new();
    for write in writes {
        let key = write.key_attributes();
        let outcome = write.run(transaction, Actor::Client)?;
        let name = outcome.table.name.clone();
        if let Some(collection) = collection::metrics(&outcome.table, Some(&key), metrics) {
            collections.entry(name.clone()).or_default().push(collection);
        }
        used.entry(name)
            .or_insert_with(|| (outcome.table, Consumed::default()))
            .1
            .add(outcome.consumed);
    }
    let consumed: Vec<_> = used
        .values()
        .filter_map(|(table, used)| used.report(table, capacity))
        .collect();
    Ok(BatchWriteItemOutput {
        unprocessed_items: BTreeMap::new(),
        item_collection_metrics: (!collections.is_empty()).then_some(collections),
        consumed_capacity: (!consumed.is_empty()).then_some(consumed),
    })
}
