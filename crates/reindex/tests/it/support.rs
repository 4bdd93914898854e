//! A database with a table that has a stream, and reindexes over it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, DeleteItem, DescribeStream, DescribeTable,
    GetItem, GetRecords, GetShardIterator, KeySchemaElement, KeyType, PutItem, Record, Scan,
    ShardIteratorType, StreamSpecification, StreamViewType, TouchRows,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, SystemClock};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_reindex::{
    EndpointHost, ReindexDestination, ReindexHost, ReindexSetup, Reindexer, StartReindex, Touch,
    TouchByUpdate, TouchFuture, TouchResult,
};
use trestle_store::MemoryStore;

pub(crate) const TABLE: &str = "works";
pub(crate) const VERSION: &str = "reindexVersion";

/// A database, and how a process reaches it.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<dyn Clock>,
}

impl World {
    /// Rows have a partition and a sort key.
    pub(crate) fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    pub(crate) fn with_clock(clock: Arc<dyn Clock>) -> Self {
        let engine = Engine::on(
            Arc::new(MemoryStore::new()),
            Arc::clone(&clock),
            Options::default(),
        )
        .unwrap();
        let world = Self { engine, clock };
        world.table(TABLE, true);
        world
    }

    pub(crate) fn table(&self, name: &str, has_stream: bool) {
        let key = |attribute_name: &str, key_type| KeySchemaElement {
            attribute_name: attribute_name.to_owned(),
            key_type,
        };
        let text = |attribute_name: &str| AttributeDefinition {
            attribute_name: attribute_name.to_owned(),
            attribute_type: ScalarType::S,
        };
        let stream = StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        };
        let create = CreateTable {
            table_name: name.to_owned(),
            key_schema: vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)],
            attribute_definitions: vec![text("pk"), text("sk")],
            billing_mode: Some(BillingMode::PayPerRequest),
            stream_specification: has_stream.then_some(stream),
            ..CreateTable::default()
        };
        self.engine.run(create).unwrap();
    }

    pub(crate) fn put(&self, pk: &str, sk: &str, pairs: &[(&str, AttributeValue)]) {
        let mut item = Item::from([("pk", pk), ("sk", sk)]);
        for (name, value) in pairs {
            item.insert(*name, value.clone());
        }
        let put = PutItem {
            table_name: TABLE.to_owned(),
            item,
            ..PutItem::default()
        };
        self.engine.run(put).unwrap();
    }

    pub(crate) fn delete(&self, pk: &str, sk: &str) {
        let delete = DeleteItem {
            table_name: TABLE.to_owned(),
            key: Item::from([("pk", pk), ("sk", sk)]),
            ..DeleteItem::default()
        };
        self.engine.run(delete).unwrap();
    }

    /// Puts this many rows, each in its own partition.
    pub(crate) fn fill(&self, rows: usize) {
        for number in 0..rows {
            self.put(
                &format!("w{number:05}"),
                "a",
                &[("title", format!("title {number}").into())],
            );
        }
    }

    pub(crate) fn get(&self, pk: &str, sk: &str) -> Option<Item> {
        let get = GetItem {
            table_name: TABLE.to_owned(),
            key: Item::from([("pk", pk), ("sk", sk)]),
            ..GetItem::default()
        };
        self.engine.run(get).unwrap().item
    }

    pub(crate) fn rows(&self) -> Vec<Item> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let page = self
                .engine
                .run(Scan {
                    table_name: TABLE.to_owned(),
                    exclusive_start_key: after,
                    ..Scan::default()
                })
                .unwrap();
            rows.extend(page.items.unwrap().to_vec());
            after = page.last_evaluated_key;
            if after.is_none() {
                return rows;
            }
        }
    }

    /// How many rows have a version.
    pub(crate) fn at_version(&self, version: u64) -> usize {
        let is_at = |row: &&Item| row.get(VERSION) == Some(&AttributeValue::from(version));
        self.rows().iter().filter(is_at).count()
    }

    /// How many records the stream has of each key that was modified.
    pub(crate) fn records(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for record in self.modifications() {
            let pk = record.dynamodb.keys.get("pk").unwrap().as_s().unwrap();
            let sk = record.dynamodb.keys.get("sk").unwrap().as_s().unwrap();
            *counts.entry(format!("{pk}/{sk}")).or_default() += 1;
        }
        counts
    }

    fn modifications(&self) -> Vec<Record> {
        let table_name = TABLE.to_owned();
        let described = self.engine.run(DescribeTable { table_name }).unwrap();
        let stream_arn = described.table.latest_stream_arn.unwrap();
        let stream = DescribeStream {
            stream_arn: stream_arn.clone(),
            ..DescribeStream::default()
        };
        let mut records = Vec::new();
        for shard in self.engine.run(stream).unwrap().stream_description.shards {
            let from = GetShardIterator {
                stream_arn: stream_arn.clone(),
                shard_id: shard.shard_id,
                shard_iterator_type: ShardIteratorType::TrimHorizon,
                sequence_number: None,
                timestamp: None,
            };
            let mut iterator = self.engine.run(from).unwrap().shard_iterator;
            while let Some(shard_iterator) = iterator {
                let page = self
                    .engine
                    .run(GetRecords {
                        shard_iterator,
                        limit: None,
                    })
                    .unwrap();
                if page.records.is_empty() {
                    break;
                }
                records.extend(page.records);
                iterator = page.next_shard_iterator;
            }
        }
        records.retain(|record| record.event_name == trestle_api::OperationType::Modify);
        records
    }

    /// Reindexes through this database.
    pub(crate) fn reindexer_over(&self, database: Arc<dyn Database>) -> Reindexer {
        self.reindexer_with(
            Arc::clone(&database),
            Arc::new(TouchByUpdate::new(database)),
            Arc::new(EndpointHost::default()),
        )
    }

    pub(crate) fn reindexer_with(
        &self,
        database: Arc<dyn Database>,
        touch: Arc<dyn Touch>,
        host: Arc<dyn ReindexHost>,
    ) -> Reindexer {
        Reindexer::new(self.setup(database, touch, host))
    }

    /// Reindexes whose state is reached through this database, too.
    pub(crate) fn reindexer_at(&self, database: Arc<dyn Database>) -> Reindexer {
        let touch = Arc::new(TouchByUpdate::new(Arc::clone(&database)));
        let setup = self.setup(Arc::clone(&database), touch, Arc::new(EndpointHost::default()));
        Reindexer::new(ReindexSetup {
            state: database,
            ..setup
        })
    }

    pub(crate) fn setup(
        &self,
        database: Arc<dyn Database>,
        touch: Arc<dyn Touch>,
        host: Arc<dyn ReindexHost>,
    ) -> ReindexSetup {
        ReindexSetup {
            database,
            state: Arc::new(self.engine.clone()),
            state_table: ReindexSetup::REMOTE_TABLE.to_owned(),
            clock: Arc::clone(&self.clock),
            touch,
            host,
            traffic: None,
            lease: ReindexSetup::LEASE,
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_millis(4),
        }
    }

    pub(crate) fn reindexer(&self) -> Reindexer {
        self.reindexer_over(Arc::new(self.engine.clone()))
    }
}

/// Touches rows as a database in the same process does.
pub(crate) struct TouchByEngine(pub(crate) Engine);

impl Touch for TouchByEngine {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move {
            let (rows, write_units) = self.0.touch(rows)?.done().await?;
            Ok(TouchResult { rows, write_units })
        })
    }

    fn records_again(&self) -> bool {
        true
    }
}

/// Touches rows to a version.
pub(crate) fn to_version(name: &str, version: u64) -> StartReindex {
    StartReindex {
        name: Some(name.to_owned()),
        to: ReindexDestination::Stream {
            attribute: None,
            version: Some(version),
        },
        page_rows: 20,
        ..StartReindex::touch(TABLE)
    }
}
