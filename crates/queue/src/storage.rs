//! The table of the queues, in any [`Database`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::{
    AttributeDefinition, BatchGetItem, BatchWriteItem, BillingMode, CreateTable, Database, DatabaseExt,
    Delete, DeleteRequest, DescribeTable, ErrorKind, GetItem, KeySchemaElement, KeyType, KeysAndAttributes,
    Put, PutItem, PutRequest, Query, Request, ResponseFuture, TableStatus, TransactWriteItem,
    TransactWriteItems, WriteRequest,
};
use trestle_item::{Item, Map, ScalarType};

use crate::error::QueueError;
use crate::index::{MessageNumber, Parts, Taken};
use crate::rows::{self, Content, PARTITION, SORT, Stored, TABLE};

/// Writes in one batch.
const BATCH_MAX: usize = 25;
/// How often writes that the database left unprocessed are retried.
const ATTEMPTS_MAX: u32 = 50;
/// How long to wait before checking again for a table that is being created, or before repeating a request.
/// It is real time, because the database needs it.
const PAUSE: Duration = Duration::from_millis(20);

/// The table.
#[derive(Clone)]
pub(crate) struct Storage {
    database: Arc<dyn Database>,
}

impl Storage {
    pub(crate) fn new(database: Arc<dyn Database>) -> Self {
        Self { database }
    }

    /// Executes a request on the database with the table.
    pub(crate) fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.database.execute(request)
    }

    /// Creates the table unless it exists.
    pub(crate) async fn prepare(&self) -> Result<(), QueueError> {
        match self.database.create_table(table()).await {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ResourceInUse => {}
            Err(error) => return Err(error.into()),
        }
        loop {
            let described = self
                .database
                .describe_table(DescribeTable {
                    table_name: TABLE.to_owned(),
                })
                .await?;
            if described.table.table_status == TableStatus::Active {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// All rows of a partition, page by page; none if the table does not exist yet.
    pub(crate) async fn each(
        &self,
        partition: &str,
        mut see: impl FnMut(Item) -> Result<(), QueueError> + Send,
    ) -> Result<(), QueueError> {
        let mut query = self.query(partition, None);
        loop {
            let page = match self.database.query(query.clone()).await {
                Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(()),
                page => page?,
            };
            for item in page.items.ok_or_else(no_rows)? {
                see(item)?;
            }
            if page.last_evaluated_key.is_none() {
                return Ok(());
            }
            query.exclusive_start_key = page.last_evaluated_key;
        }
    }

    /// The first rows of a partition.
    pub(crate) async fn some(&self, partition: &str, limit: u32) -> Result<Vec<Item>, QueueError> {
        let page = self.database.query(self.query(partition, Some(limit))).await?;
        Ok(page.items.ok_or_else(no_rows)?.to_vec())
    }

    fn query(&self, partition: &str, limit: Option<u32>) -> Query {
        let mut values = Map::new();
        values.insert(":p", partition);
        Query {
            table_name: TABLE.to_owned(),
            key_condition_expression: Some(format!("{PARTITION} = :p")),
            expression_attribute_values: Some(values),
            consistent_read: Some(true),
            limit,
            ..Query::default()
        }
    }

    pub(crate) async fn put(&self, item: Item) -> Result<(), QueueError> {
        let request = PutItem {
            table_name: TABLE.to_owned(),
            item,
            ..PutItem::default()
        };
        self.database.put_item(request).await?;
        Ok(())
    }

    /// Writes each row individually; on the embedded engine all at once.
    pub(crate) async fn write(&self, mut writes: Vec<WriteRequest>) -> Result<(), QueueError> {
        while !writes.is_empty() {
            let rest = writes.split_off(writes.len().min(BATCH_MAX));
            self.write_batch(writes).await?;
            writes = rest;
        }
        Ok(())
    }

    async fn write_batch(&self, writes: Vec<WriteRequest>) -> Result<(), QueueError> {
        let mut requests = BTreeMap::from([(TABLE.to_owned(), writes)]);
        for _ in 0..ATTEMPTS_MAX {
            let request = BatchWriteItem {
                request_items: requests,
                ..BatchWriteItem::default()
            };
            requests = self.database.batch_write_item(request).await?.unprocessed_items;
            if requests.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(too_busy())
    }

    /// Writes all rows or none.
    pub(crate) async fn transact(&self, transact_items: Vec<TransactWriteItem>) -> Result<(), QueueError> {
        let request = TransactWriteItems {
            transact_items,
            ..TransactWriteItems::default()
        };
        self.database.transact_write_items(request).await?;
        Ok(())
    }

    /// Adds a message with its pieces.
    pub(crate) async fn put_message(&self, row: Item, parts: Vec<Item>) -> Result<(), QueueError> {
        if parts.is_empty() {
            return self.put(row).await;
        }
        self.transact(parts.into_iter().chain([row]).map(put_in_transaction).collect())
            .await
    }

    /// The messages' rows, in the requested order; `None` for a missing row.
    pub(crate) async fn read(
        &self,
        partition: &str,
        sequences: &[MessageNumber],
    ) -> Result<Vec<Option<Stored>>, QueueError> {
        if let [sequence] = sequences {
            let item = self
                .get(rows::key(partition, rows::message_sort(*sequence)))
                .await?;
            return Ok(vec![item.map(Stored::read).transpose()?]);
        }
        let mut found = self.get_many(partition, sequences).await?;
        let stored = |sequence: &MessageNumber| {
            let row = found.remove(&rows::message_sort(*sequence));
            row.map(Stored::read).transpose()
        };
        sequences.iter().map(stored).collect()
    }

    /// Body and attributes of a message.
    pub(crate) async fn content(&self, stored: &mut Stored) -> Result<(String, Option<String>), QueueError> {
        let empty = Content::Here {
            body: String::new(),
            attributes: None,
        };
        match std::mem::replace(&mut stored.content, empty) {
            Content::Here { body, attributes } => Ok((body, attributes)),
            Content::InParts { parts, body_len } => {
                let mut pieces = Vec::new();
                for number in 0..parts.count {
                    let key = rows::key(&parts.partition, rows::part_sort(number));
                    let piece = self.get(key.clone()).await?;
                    pieces.push(piece.ok_or_else(|| rows::damaged(&key, rows::BODY))?);
                }
                let first = rows::key(&parts.partition, rows::part_sort(0));
                rows::join(&pieces, body_len).ok_or_else(|| rows::damaged(&first, rows::BODY))
            }
        }
    }

    async fn get(&self, key: Item) -> Result<Option<Item>, QueueError> {
        let request = GetItem {
            table_name: TABLE.to_owned(),
            key,
            consistent_read: Some(true),
            ..GetItem::default()
        };
        Ok(self.database.get_item(request).await?.item)
    }

    async fn get_many(
        &self,
        partition: &str,
        sequences: &[MessageNumber],
    ) -> Result<BTreeMap<String, Item>, QueueError> {
        let keys = sequences
            .iter()
            .map(|sequence| rows::key(partition, rows::message_sort(*sequence)))
            .collect();
        let wanted = KeysAndAttributes {
            keys,
            consistent_read: Some(true),
            ..KeysAndAttributes::default()
        };
        let mut requests = BTreeMap::from([(TABLE.to_owned(), wanted)]);
        let mut found = BTreeMap::new();
        for attempt in 0..ATTEMPTS_MAX {
            if requests.is_empty() {
                break;
            }
            if attempt > 1 {
                tokio::time::sleep(PAUSE).await;
            }
            let answer = self
                .database
                .batch_get_item(BatchGetItem {
                    request_items: requests,
                    ..BatchGetItem::default()
                })
                .await?;
            for item in answer.responses.into_values().flatten() {
                found.insert(rows::text(&item, SORT)?.to_owned(), item);
            }
            requests = answer.unprocessed_keys;
        }
        match requests.is_empty() {
            true => Ok(found),
            // A row that could not be read is not a missing row.
            false => Err(too_busy()),
        }
    }
}

/// Rows are requested, not their number, so an answer always has them, possibly none.
fn no_rows() -> QueueError {
    QueueError::internal("the database answered a query without rows")
}

fn too_busy() -> QueueError {
    QueueError::internal("the database is too busy; try again")
}

/// Deletes all rows of a message.
pub(crate) fn deletes(partition: &str, taken: &[Taken]) -> Vec<WriteRequest> {
    let keys = taken
        .iter()
        .flat_map(|taken| keys(partition, taken.sequence, taken.entry.parts.as_deref()));
    keys.map(delete).collect()
}

/// The keys of all rows of a message.
fn keys(partition: &str, sequence: MessageNumber, parts: Option<&Parts>) -> Vec<Item> {
    let mut keys = vec![
        rows::key(partition, rows::message_sort(sequence)),
        rows::key(partition, rows::state_sort(sequence)),
    ];
    keys.extend(parts.into_iter().flat_map(part_keys));
    keys
}

pub(crate) fn part_keys(parts: &Parts) -> impl Iterator<Item = Item> {
    (0..parts.count).map(|number| rows::key(&parts.partition, rows::part_sort(number)))
}

/// The state rows of messages.
pub(crate) fn states(partition: &str, taken: &[Taken]) -> Vec<WriteRequest> {
    let row = |taken: &Taken| put(rows::state_row(partition, taken.sequence, &taken.entry));
    taken.iter().map(row).collect()
}

/// Removes a message from its queue without its pieces, which are moved with it.
pub(crate) fn withdrawal(partition: &str, taken: &Taken) -> [TransactWriteItem; 2] {
    let sequence = taken.sequence;
    [rows::message_sort(sequence), rows::state_sort(sequence)]
        .map(|sort| delete_in_transaction(rows::key(partition, sort)))
}

pub(crate) fn put(item: Item) -> WriteRequest {
    WriteRequest {
        put_request: Some(PutRequest { item }),
        delete_request: None,
    }
}

pub(crate) fn delete(key: Item) -> WriteRequest {
    WriteRequest {
        put_request: None,
        delete_request: Some(DeleteRequest { key }),
    }
}

pub(crate) fn put_in_transaction(item: Item) -> TransactWriteItem {
    TransactWriteItem {
        put: Some(Box::new(Put {
            item,
            table_name: TABLE.to_owned(),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

pub(crate) fn delete_in_transaction(key: Item) -> TransactWriteItem {
    TransactWriteItem {
        delete: Some(Box::new(Delete {
            key,
            table_name: TABLE.to_owned(),
            ..Delete::default()
        })),
        ..TransactWriteItem::default()
    }
}

fn table() -> CreateTable {
    let attribute = |name: &str| AttributeDefinition {
        attribute_name: name.to_owned(),
        attribute_type: ScalarType::S,
    };
    let key = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.to_owned(),
        key_type,
    };
    CreateTable {
        table_name: TABLE.to_owned(),
        attribute_definitions: vec![attribute(PARTITION), attribute(SORT)],
        key_schema: vec![key(PARTITION, KeyType::Hash), key(SORT, KeyType::Range)],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}
