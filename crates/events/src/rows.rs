//! What the router stores, as rows of an ordinary table: checkpoints, parked changes, dead letters.
//!
//! | pk | sk | what |
//! |---|---|---|
//! | `files` | `routes` | the route file that was applied last |
//! | `routes` | `NAME` | that there is such a route, its table, and whether it is on: then what it has not passed is kept |
//! | `route#NAME` | `state#TABLE` | where the route began, and which streams it has finished |
//! | `route#NAME` | `at#TABLE#STREAM#SHARD` | how far it has come in a shard |
//! | `route#NAME` | `backfill#TABLE` | its last backfill, and how far that has come |
//! | `route#NAME` | `gap#TABLE#STREAM#SHARD` | records that it may have missed |
//! | `parked#NAME` | `STREAM#SEQUENCE` | a change that was refused and will be tried again; of a row, `STREAM#MARK#NUMBER` |
//! | `dead` | `NAME#STREAM#SEQUENCE` | a dead letter |
//! | `part#NAME#STREAM#SEQUENCE` | number | a part of a record that is too large for one row |

mod attributes;
mod backfill;
mod checkpoint;
mod kept;
mod positions;
mod route_row;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trestle_api::{
    AttributeDefinition, BatchWriteItem, BillingMode, CreateTable, Database, DatabaseExt, DeleteRequest,
    DescribeTable, Error, ErrorKind, KeySchemaElement, KeyType, PutRequest, Query, TableStatus,
    TransactWriteItem, TransactWriteItems, WriteRequest,
};
use trestle_item::{AttributeValue, Item, ScalarType};

use attributes::text;
pub(crate) use backfill::{BackfillRow, RowPlace};
pub(crate) use checkpoint::{Checkpoint, CheckpointRows};
pub(crate) use kept::{Kept, KeptId};
pub use positions::{RoutePosition, ShardPassed, route_positions};
pub(crate) use route_row::RouteRow;

/// The table.
pub(crate) const TABLE: &str = "_trestle.routes";

/// The partition of the routes' names.
const ROUTES: &str = "routes";

/// The partition of the route file.
const FILES: &str = "files";
const FILE: &str = "routes";

/// The wait before a busy remote database is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// How often a table in creation is checked; in total a minute.
const MAKING_LOOKS_MAX: usize = 300;

/// The most writes in one `BatchWriteItem`.
const BATCH_MAX: usize = 25;

/// One row to be written or removed.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Put(Item),
    Delete(Item),
}

/// The router's own table, in any database.
pub(crate) struct RouterTable {
    database: Arc<dyn Database>,
    is_made: AtomicBool,
}

impl RouterTable {
    pub(crate) fn new(database: Arc<dyn Database>) -> Self {
        Self {
            database,
            is_made: AtomicBool::new(false),
        }
    }

    fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// Creates the table if it does not exist. A remote database may need a moment until it can be used.
    async fn make(&self) -> Result<(), Error> {
        if self.is_made.load(Ordering::Acquire) {
            return Ok(());
        }
        let key = |attribute_name: &str, key_type| KeySchemaElement {
            attribute_name: attribute_name.to_owned(),
            key_type,
        };
        let text = |attribute_name: &str| AttributeDefinition {
            attribute_name: attribute_name.to_owned(),
            attribute_type: ScalarType::S,
        };
        let create = CreateTable {
            table_name: TABLE.to_owned(),
            key_schema: vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)],
            attribute_definitions: vec![text("pk"), text("sk")],
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        };
        match self.database.create_table(create).await {
            Err(error) if error.kind() != ErrorKind::ResourceInUse => return Err(error),
            _ => self.wait_until_made().await?,
        }
        self.is_made.store(true, Ordering::Release);
        Ok(())
    }

    /// A remote database needs a moment until a table can be used. Real time, because the remote database
    /// does not follow our clock.
    async fn wait_until_made(&self) -> Result<(), Error> {
        for _ in 0..MAKING_LOOKS_MAX {
            let described = self.database.describe_table(DescribeTable {
                table_name: TABLE.to_owned(),
            });
            match described.await?.table.table_status {
                TableStatus::Creating => tokio::time::sleep(PAUSE).await,
                _ => return Ok(()),
            }
        }
        Err(Error::internal(format!(
            "The table {TABLE} is still being created"
        )))
    }

    /// Writes rows, in no particular order and not atomically. Repeating it changes nothing more.
    pub(crate) async fn write(&self, writes: &[Write]) -> Result<(), Error> {
        self.make().await?;
        for some in writes.chunks(BATCH_MAX) {
            let mut left: Vec<WriteRequest> = some.iter().cloned().map(Write::request).collect();
            while !left.is_empty() {
                let request = BatchWriteItem {
                    request_items: [(TABLE.to_owned(), left)].into(),
                    ..BatchWriteItem::default()
                };
                let mut answer = self.database.batch_write_item(request).await?;
                left = answer.unprocessed_items.remove(TABLE).unwrap_or_default();
                if !left.is_empty() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Writes everything or nothing.
    pub(crate) async fn transact(&self, transact_items: Vec<TransactWriteItem>) -> Result<(), Error> {
        self.make().await?;
        let request = TransactWriteItems {
            transact_items,
            ..TransactWriteItems::default()
        };
        self.database.transact_write_items(request).await.map(|_| ())
    }

    /// One row. Reading does not create the table.
    pub(crate) async fn get(&self, key: Item) -> Result<Option<Item>, Error> {
        let request = trestle_api::GetItem {
            table_name: TABLE.to_owned(),
            key,
            consistent_read: Some(true),
            ..trestle_api::GetItem::default()
        };
        match self.database.get_item(request).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            answer => Ok(answer?.item),
        }
    }

    /// A page of the rows of a partition whose sort key begins with `prefix`, after the row `after`.
    pub(crate) async fn page(
        &self,
        partition: &str,
        prefix: &str,
        after: Option<Item>,
        limit: Option<u32>,
    ) -> Result<(Vec<Item>, Option<Item>), Error> {
        let request = page_query(partition, prefix, after, limit);
        let answer = match self.database.query(request).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok((Vec::new(), None)),
            answer => answer?,
        };
        Ok((
            answer.items.unwrap_or_default().to_vec(),
            answer.last_evaluated_key,
        ))
    }

    /// All rows of a partition whose sort key begins with `prefix`.
    pub(crate) async fn all(&self, partition: &str, prefix: &str) -> Result<Vec<Item>, Error> {
        let (mut rows, mut after) = self.page(partition, prefix, None, None).await?;
        while let Some(from) = after {
            let (more, next) = self.page(partition, prefix, Some(from), None).await?;
            rows.extend(more);
            after = next;
        }
        Ok(rows)
    }
}

impl Write {
    fn request(self) -> WriteRequest {
        match self {
            Self::Put(item) => WriteRequest {
                put_request: Some(PutRequest { item }),
                ..WriteRequest::default()
            },
            Self::Delete(key) => WriteRequest {
                delete_request: Some(DeleteRequest { key }),
                ..WriteRequest::default()
            },
        }
    }

    /// The same write in a transaction, which fails if the row does not exist.
    pub(crate) fn in_transaction_if_there(self) -> TransactWriteItem {
        let mut item = self.in_transaction();
        let condition = Some("attribute_exists(pk)".to_owned());
        if let Some(put) = &mut item.put {
            put.condition_expression.clone_from(&condition);
        }
        if let Some(delete) = &mut item.delete {
            delete.condition_expression = condition;
        }
        item
    }

    /// The same write in a transaction.
    pub(crate) fn in_transaction(self) -> TransactWriteItem {
        match self {
            Self::Put(item) => TransactWriteItem {
                put: Some(Box::new(trestle_api::Put {
                    item,
                    table_name: TABLE.to_owned(),
                    ..trestle_api::Put::default()
                })),
                ..TransactWriteItem::default()
            },
            Self::Delete(key) => TransactWriteItem {
                delete: Some(Box::new(trestle_api::Delete {
                    key,
                    table_name: TABLE.to_owned(),
                    ..trestle_api::Delete::default()
                })),
                ..TransactWriteItem::default()
            },
        }
    }
}

impl RouterTable {
    /// The route file that was applied last, if any was.
    pub(crate) async fn file(&self) -> Result<Option<String>, Error> {
        let row = self.get(key(FILES, FILE)).await?;
        row.map(|row| Ok(text(&row, "text")?.to_owned())).transpose()
    }

    /// Stores a route file.
    pub(crate) async fn set_file(&self, text: &str) -> Result<(), Error> {
        let mut row = key(FILES, FILE);
        row.insert("text", text);
        self.write(&[Write::Put(row)]).await
    }
}

/// A query for a page of the rows of a partition whose sort key begins with `prefix`, after the row `after`.
fn page_query(partition: &str, prefix: &str, after: Option<Item>, limit: Option<u32>) -> Query {
    let mut values = Item::from([(":pk", AttributeValue::from(partition))]);
    let mut condition = "pk = :pk".to_owned();
    if !prefix.is_empty() {
        values.insert(":sk", prefix);
        condition.push_str(" AND begins_with(sk, :sk)");
    }
    Query {
        table_name: TABLE.to_owned(),
        key_condition_expression: Some(condition),
        expression_attribute_values: Some(values),
        exclusive_start_key: after,
        consistent_read: Some(true),
        limit,
        ..Query::default()
    }
}

/// The key of a row.
pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([
        ("pk", AttributeValue::S(partition.into())),
        ("sk", AttributeValue::S(sort.into())),
    ])
}
