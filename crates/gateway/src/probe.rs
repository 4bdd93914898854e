//! Determines the capabilities of an endpoint with a scratch table.

use std::fmt;

use serde::{Deserialize, Serialize};
use trestle_api::{
    AttributeDefinition, BatchWriteItem, BillingMode, CreateTable, Database, DatabaseExt, DeleteItem,
    DeleteTable, DescribeStream, DescribeTable, Error, ErrorKind, GetRecords, GetShardIterator,
    GlobalSecondaryIndex, KeySchemaElement, KeyType, OperationType, Projection, ProjectionType, Put, PutItem,
    PutRequest, Query, ShardIteratorType, StreamSpecification, StreamViewType, TableStatus,
    TimeToLiveSpecification, TransactWriteItem, TransactWriteItems, Update, UpdateTimeToLive, WriteRequest,
    pause_after,
};
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Map, Number, ScalarType};
use trestle_models::{is_exact, write_isolation};

/// How often a table or a stream is checked until it is ready: about twenty seconds.
const LOOKS_MAX: usize = 320;
const PK: &str = "pk";
const SK: &str = "sk";
const INDEX: &str = "by_a";

/// The capabilities of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Several rows can be written atomically.
    pub transactions: bool,
    /// A transaction with a token is executed once.
    pub transaction_tokens: bool,
    /// A write whose condition does not hold is refused.
    pub conditional_writes: bool,
    /// Tables have streams of changes.
    pub streams: bool,
    /// Streams distinguish inserts, changes and removals.
    pub exact_event_names: bool,
    /// An index has only the attributes of its projection.
    pub projections: bool,
    /// An index may have several hash attributes.
    pub multi_attribute_keys: bool,
    /// Rows expire.
    pub time_to_live: bool,
    /// Rows in one `BatchWriteItem`: 25, or 100.
    #[serde(default)]
    pub batch_writes: u32,
    /// Rows in one transaction: 0 without transactions, 25 or 100.
    #[serde(default)]
    pub transaction_items: u32,
    /// How ScyllaDB Alternator isolates conditional writes of new tables: their tag `system:write_isolation`; `None` elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_isolation: Option<String>,
}

impl Capabilities {
    /// Each capability with its name and what a gateway needs it for.
    #[must_use]
    pub fn named(&self) -> [(&'static str, bool, &'static str); 8] {
        [
            (
                "transactions",
                self.transactions,
                "routes, transactions of clients, writes that readers see at once",
            ),
            (
                "transaction tokens",
                self.transaction_tokens,
                "a transaction whose answer was lost is repeated safely",
            ),
            (
                "conditional writes",
                self.conditional_writes,
                "every write of a modelled row",
            ),
            (
                "streams",
                self.streams,
                "routes, tail and copies that follow changes",
            ),
            (
                "exact event names",
                self.exact_event_names,
                "routes that tell inserts from changes",
            ),
            (
                "projections",
                self.projections,
                "indexes cost no more than what they show",
            ),
            (
                "multi-attribute keys",
                self.multi_attribute_keys,
                "models with several attributes in an index key",
            ),
            ("time to live", self.time_to_live, "rows that expire"),
        ]
    }

    /// Probes an endpoint. Creates two tables whose names begin with `trestle-probe-`, and deletes them.
    pub async fn probe(database: &dyn Database) -> Result<Self, Error> {
        let name = format!("trestle-probe-{}", ids::uuid());
        let probe = Probe {
            database,
            name: &name,
        };
        let found = probe.run().await;
        let _ = database
            .delete_table(DeleteTable {
                table_name: name.clone(),
            })
            .await;
        let mut found = found?;
        let multi = Probe {
            database,
            name: &format!("{name}-keys"),
        };
        found.multi_attribute_keys = multi.multi_attribute_keys().await?;
        Ok(found)
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, has, needed_for) in self.named() {
            let has = if has { "yes" } else { "no" };
            writeln!(f, "{name:<24}{has:<5}{needed_for}")?;
        }
        let (batch, transaction) = (self.batch_writes, self.transaction_items);
        writeln!(f, "{:<24}{batch:<5}copies and imports", "items in a batch")?;
        writeln!(
            f,
            "{:<24}{transaction:<5}the rows of a write with all that follow from it",
            "items in a transaction"
        )?;
        if let Some(isolation) = &self.write_isolation {
            writeln!(
                f,
                "write isolation         {isolation}: conditional writes are exact with `always` only"
            )?;
        }
        Ok(())
    }
}

struct Probe<'p> {
    database: &'p dyn Database,
    name: &'p str,
}

impl Probe<'_> {
    async fn run(&self) -> Result<Capabilities, Error> {
        let with_stream = self.create(true).await?;
        if with_stream.is_none() {
            self.create(false).await?;
        }
        let mut found = Capabilities {
            streams: with_stream == Some(true),
            ..Capabilities::default()
        };
        self.wait().await?;
        found.write_isolation = self.write_isolation().await?;
        self.put("a", "1").await?;
        found.conditional_writes = is_exact(found.write_isolation.as_deref())
            && refused(self.put_new("a", "1").await, ErrorKind::ConditionalCheckFailed)?;
        self.put("a", "1").await?;
        self.delete("a", "1").await?;
        found.exact_event_names = found.streams && self.has_exact_event_names().await?;
        (found.transactions, found.transaction_tokens) = self.transactions().await?;
        found.projections = self.has_projections().await?;
        found.batch_writes = match self.takes_batch(100).await? {
            true => 100,
            false => 25,
        };
        if found.transactions {
            found.transaction_items = match self.takes_transaction(100).await? {
                true => 100,
                false => 25,
            };
        }
        found.time_to_live = self.has_time_to_live().await?;
        Ok(found)
    }

    /// Creates the table, and returns whether it has a stream; `None` if it was refused because of the
    /// stream.
    async fn create(&self, with_stream: bool) -> Result<Option<bool>, Error> {
        let create = CreateTable {
            stream_specification: with_stream.then_some(StreamSpecification {
                stream_enabled: true,
                stream_view_type: Some(StreamViewType::NewAndOldImages),
            }),
            global_secondary_indexes: Some(vec![index(&["a"], ProjectionType::KeysOnly)]),
            ..self.table(&["a"])
        };
        match self.database.create_table(create).await {
            Ok(created) => Ok(Some(created.table_description.stream_specification.is_some())),
            Err(error) if with_stream && is_refusal(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn table(&self, more: &[&str]) -> CreateTable {
        let names = [PK, SK].into_iter().chain(more.iter().copied());
        CreateTable {
            table_name: self.name.to_owned(),
            attribute_definitions: names
                .map(|name| AttributeDefinition {
                    attribute_name: name.to_owned(),
                    attribute_type: ScalarType::S,
                })
                .collect(),
            key_schema: key(&[PK], &[SK]),
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        }
    }

    async fn wait(&self) -> Result<(), Error> {
        for attempt in 0..LOOKS_MAX {
            let asked = DescribeTable {
                table_name: self.name.to_owned(),
            };
            if self.database.describe_table(asked).await?.table.table_status == TableStatus::Active {
                return Ok(());
            }
            pause_after(attempt).await;
        }
        Err(Error::resource_in_use(format!(
            "Table is being created: {}",
            self.name
        )))
    }

    async fn put(&self, pk: &str, sk: &str) -> Result<(), Error> {
        let put = PutItem {
            table_name: self.name.to_owned(),
            item: row(pk, sk),
            ..PutItem::default()
        };
        self.database.put_item(put).await.map(drop)
    }

    async fn put_new(&self, pk: &str, sk: &str) -> Result<(), Error> {
        let put = PutItem {
            table_name: self.name.to_owned(),
            item: row(pk, sk),
            condition_expression: Some("attribute_not_exists(pk)".to_owned()),
            ..PutItem::default()
        };
        self.database.put_item(put).await.map(drop)
    }

    async fn delete(&self, pk: &str, sk: &str) -> Result<(), Error> {
        let delete = DeleteItem {
            table_name: self.name.to_owned(),
            key: Item::from([(PK, pk), (SK, sk)]),
            ..DeleteItem::default()
        };
        self.database.delete_item(delete).await.map(drop)
    }

    /// Inserts a row, puts it again unchanged, and removes it. The unchanged put must leave no record.
    async fn has_exact_event_names(&self) -> Result<bool, Error> {
        let asked = DescribeTable {
            table_name: self.name.to_owned(),
        };
        let table = self.database.describe_table(asked).await?.table;
        let Some(stream_arn) = table.latest_stream_arn else {
            return Ok(false);
        };
        for attempt in 0..LOOKS_MAX {
            let names = self.event_names(&stream_arn).await?;
            match &names[..] {
                [.., OperationType::Remove] => {
                    return Ok(names == [OperationType::Insert, OperationType::Remove]);
                }
                _ => pause_after(attempt).await,
            }
        }
        Ok(false)
    }

    async fn event_names(&self, stream_arn: &str) -> Result<Vec<OperationType>, Error> {
        let asked = DescribeStream {
            stream_arn: stream_arn.to_owned(),
            ..DescribeStream::default()
        };
        let stream = self.database.describe_stream(asked).await?.stream_description;
        let mut names = Vec::new();
        for shard in stream.shards {
            let asked = GetShardIterator {
                stream_arn: stream_arn.to_owned(),
                shard_id: shard.shard_id,
                shard_iterator_type: ShardIteratorType::TrimHorizon,
                sequence_number: None,
                timestamp: None,
            };
            let Some(shard_iterator) = self.database.get_shard_iterator(asked).await?.shard_iterator else {
                continue;
            };
            let page = self.database.get_records(GetRecords {
                shard_iterator,
                limit: None,
            });
            names.extend(page.await?.records.into_iter().map(|record| record.event_name));
        }
        Ok(names)
    }

    /// Whether there are transactions, and whether one with a token is executed once.
    async fn transactions(&self) -> Result<(bool, bool), Error> {
        let add = TransactWriteItem {
            update: Some(Box::new(Update {
                table_name: self.name.to_owned(),
                key: Item::from([(PK, "t"), (SK, "1")]),
                update_expression: "ADD n :one".to_owned(),
                expression_attribute_values: Some(Map::from_iter([(
                    ":one".to_owned(),
                    AttributeValue::N(Number::from(1_u64)),
                )])),
                ..Update::default()
            })),
            ..TransactWriteItem::default()
        };
        let request = TransactWriteItems {
            transact_items: vec![add],
            client_request_token: Some(ids::uuid()),
            ..TransactWriteItems::default()
        };
        for _ in 0..2 {
            match self.database.transact_write_items(request.clone()).await {
                Err(error) if is_refusal(&error) => return Ok((false, false)),
                answer => answer?,
            };
        }
        let get = trestle_api::GetItem {
            table_name: self.name.to_owned(),
            key: Item::from([(PK, "t"), (SK, "1")]),
            consistent_read: Some(true),
            ..trestle_api::GetItem::default()
        };
        let item = self.database.get_item(get).await?.item.unwrap_or_default();
        Ok((
            true,
            item.get("n") == Some(&AttributeValue::N(Number::from(1_u64))),
        ))
    }

    async fn has_projections(&self) -> Result<bool, Error> {
        self.put("p", "1").await?;
        for attempt in 0..LOOKS_MAX {
            let query = Query {
                table_name: self.name.to_owned(),
                index_name: Some(INDEX.to_owned()),
                key_condition_expression: Some("a = :a".to_owned()),
                expression_attribute_values: Some(Map::from_iter([(":a".to_owned(), "index")])),
                ..Query::default()
            };
            let page = self.database.query(query).await?;
            if let Some(row) = page.items.and_then(|rows| rows.iter().next()) {
                return Ok(!row.contains_key("more"));
            }
            pause_after(attempt).await;
        }
        Ok(false)
    }

    async fn takes_batch(&self, of: usize) -> Result<bool, Error> {
        let put = |number: usize| WriteRequest {
            put_request: Some(PutRequest {
                item: row("batch", &number.to_string()),
            }),
            delete_request: None,
        };
        let batch = BatchWriteItem {
            request_items: [(self.name.to_owned(), (0..of).map(put).collect())].into(),
            ..BatchWriteItem::default()
        };
        match self.database.batch_write_item(batch).await {
            Err(error) if is_refusal(&error) => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    async fn takes_transaction(&self, of: usize) -> Result<bool, Error> {
        let put = |number: usize| TransactWriteItem {
            put: Some(Box::new(Put {
                table_name: self.name.to_owned(),
                item: row("transaction", &number.to_string()),
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        };
        let transaction = TransactWriteItems {
            transact_items: (0..of).map(put).collect(),
            ..TransactWriteItems::default()
        };
        match self.database.transact_write_items(transaction).await {
            Err(error) if is_refusal(&error) => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    async fn write_isolation(&self) -> Result<Option<String>, Error> {
        let asked = DescribeTable {
            table_name: self.name.to_owned(),
        };
        let arn = self.database.describe_table(asked).await?.table.table_arn;
        write_isolation(self.database, &arn).await
    }

    async fn has_time_to_live(&self) -> Result<bool, Error> {
        let expire = UpdateTimeToLive {
            table_name: self.name.to_owned(),
            time_to_live_specification: TimeToLiveSpecification {
                enabled: true,
                attribute_name: "expires".to_owned(),
            },
        };
        match self.database.update_time_to_live(expire).await {
            Err(error) if is_refusal(&error) => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    async fn multi_attribute_keys(&self) -> Result<bool, Error> {
        let create = CreateTable {
            global_secondary_indexes: Some(vec![index(&["a", "b"], ProjectionType::All)]),
            ..self.table(&["a", "b"])
        };
        match self.database.create_table(create).await {
            Err(error) if is_refusal(&error) => return Ok(false),
            answer => answer?,
        };
        self.wait().await?;
        let gone = DeleteTable {
            table_name: self.name.to_owned(),
        };
        self.database.delete_table(gone).await.map(|_| true)
    }
}

fn row(pk: &str, sk: &str) -> Item {
    Item::from([(PK, pk), (SK, sk), ("a", "index"), ("more", "than a key")])
}

fn key(hash: &[&str], range: &[&str]) -> Vec<KeySchemaElement> {
    let element = |name: &&str, key_type| KeySchemaElement {
        attribute_name: (*name).to_owned(),
        key_type,
    };
    let hash = hash.iter().map(|name| element(name, KeyType::Hash));
    hash.chain(range.iter().map(|name| element(name, KeyType::Range)))
        .collect()
}

fn index(hash: &[&str], projection: ProjectionType) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex {
        index_name: INDEX.to_owned(),
        key_schema: key(hash, &[]),
        projection: Projection {
            projection_type: Some(projection),
            non_key_attributes: None,
        },
        ..GlobalSecondaryIndex::default()
    }
}

/// Whether the endpoint answers that it does not support an operation.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Validation | ErrorKind::UnknownOperation)
}

/// Whether a request was refused as it must be.
fn refused(answer: Result<(), Error>, kind: ErrorKind) -> Result<bool, Error> {
    match answer {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == kind => Ok(true),
        Err(error) => Err(error),
    }
}
