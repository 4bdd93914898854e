//! Many rows at once. Requests that the database leaves unprocessed are sent again.

use std::collections::BTreeMap;

use trestle_api::{
    BatchGetItem, BatchWriteItem, DatabaseExt, DeleteRequest, KeysAndAttributes, PutRequest, WriteRequest,
    pause_after,
};
use trestle_item::{Item, codec};

use crate::draft::{Draft, PreparedWrite, key};
use crate::handle::Handle;
use crate::row::{key_of, read_in};
use crate::{Entity, Error};

/// DynamoDB's limit for reads.
const READS_MAX: usize = 100;
/// DynamoDB's limit for writes.
const WRITES_MAX: usize = 25;
/// How often in a row the database may process nothing of a batch.
const IDLE_ROUNDS_MAX: usize = 16;

/// The rows with these identifying attributes, in their order; `None` where there is none.
pub(crate) async fn get_many<E: Entity>(
    handle: Handle<'_>,
    identities: Vec<Item>,
) -> Result<Vec<Option<E>>, Error> {
    let (_, table, entity) = handle.definition.entity(E::NAME)?;
    let mut keys = Vec::with_capacity(identities.len());
    for identity in &identities {
        keys.push(key(table, entity, identity)?);
    }
    let mut found: BTreeMap<Vec<u8>, Item> = BTreeMap::new();
    let wanted: BTreeMap<Vec<u8>, &Item> = keys.iter().map(|key| (codec::encode(key), key)).collect();
    let mut left: Vec<Item> = wanted.into_values().cloned().collect();
    let mut idle = 0;
    while !left.is_empty() {
        let rest = left.split_off(left.len().min(READS_MAX));
        let asked = left.len();
        let (rows, undone) = read_batch(handle, table.table_name(), left).await?;
        for row in rows {
            found.insert(codec::encode(&key_of(table, &row)), row);
        }
        idle = rounds(idle, asked, undone.len(), undone.len() + rest.len())?;
        if idle > 0 {
            pause_after(idle - 1).await;
        }
        left = undone;
        left.extend(rest);
    }
    let rows = keys.iter().map(|key| match found.get(&codec::encode(key)) {
        Some(row) => read_in(handle.definition, table.table_name(), row.clone()),
        None => Ok(None),
    });
    rows.collect()
}

async fn read_batch(
    handle: Handle<'_>,
    table_name: &str,
    keys: Vec<Item>,
) -> Result<(Vec<Item>, Vec<Item>), Error> {
    let keys = KeysAndAttributes {
        keys,
        ..KeysAndAttributes::default()
    };
    let request = BatchGetItem {
        request_items: [(table_name.to_owned(), keys)].into(),
        ..BatchGetItem::default()
    };
    let mut answer = handle.database.batch_get_item(request).await?;
    let rows = answer.responses.remove(table_name).unwrap_or_default();
    let undone = answer.unprocessed_keys.remove(table_name).unwrap_or_default();
    Ok((rows, undone.keys))
}

/// Puts and deletes, in any order; for several with the same key, the last counts.
pub(crate) async fn write_many(handle: Handle<'_>, drafts: Vec<Draft>) -> Result<(), Error> {
    let mut writes: BTreeMap<(String, Vec<u8>), WriteRequest> = BTreeMap::new();
    for draft in drafts {
        let prepared = draft.prepare(handle)?;
        let place = (prepared.table_name, codec::encode(&prepared.key));
        let mut write = WriteRequest::default();
        match prepared.write {
            PreparedWrite::Put(item) => write.put_request = Some(PutRequest { item }),
            _ => write.delete_request = Some(DeleteRequest { key: prepared.key }),
        }
        writes.insert(place, write);
    }
    let mut left: Vec<(String, WriteRequest)> = writes
        .into_iter()
        .map(|((table, _), write)| (table, write))
        .collect();
    let mut idle = 0;
    while !left.is_empty() {
        let rest = left.split_off(left.len().min(WRITES_MAX));
        let asked = left.len();
        let undone = write_batch(handle, left).await?;
        idle = rounds(idle, asked, undone.len(), undone.len() + rest.len())?;
        if idle > 0 {
            pause_after(idle - 1).await;
        }
        left = undone;
        left.extend(rest);
    }
    Ok(())
}

async fn write_batch(
    handle: Handle<'_>,
    writes: Vec<(String, WriteRequest)>,
) -> Result<Vec<(String, WriteRequest)>, Error> {
    let mut request = BatchWriteItem::default();
    for (table, write) in writes {
        request.request_items.entry(table).or_default().push(write);
    }
    let answer = handle.database.batch_write_item(request).await?;
    let undone = answer
        .unprocessed_items
        .into_iter()
        .flat_map(|(table, writes)| writes.into_iter().map(move |write| (table.clone(), write)));
    Ok(undone.collect())
}

/// Counts rounds without progress, and gives up after too many.
fn rounds(idle: usize, asked: usize, undone: usize, rows: usize) -> Result<usize, Error> {
    if undone < asked {
        Ok(0)
    } else if idle + 1 < IDLE_ROUNDS_MAX {
        Ok(idle + 1)
    } else {
        Err(Error::Unprocessed { rows })
    }
}
