//! An engine under test, and short forms of common requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Delete, DescribeTable, GetItem, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, IndexStatus, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection,
    ProjectionType, Put, PutItem, Query, Scan, StreamSpecification, StreamViewType, TableDescription,
    TransactWriteItem, Update, UpdateItem, UpdateTable,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_store::{Direction, FjallStore, MemoryStore, Settings, Space, Store};

/// The start of virtual time: fixed, so that a seed always gives the same run.
pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// How long background work may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// An engine on a clock that only the test moves.
pub(crate) struct Fixture {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Engine,
    directory: Option<tempfile::TempDir>,
    options: Options,
}

impl Fixture {
    /// In memory.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    /// In memory, with options.
    pub(crate) fn with(options: Options) -> Self {
        Self::on(Arc::new(MemoryStore::new()), options, None)
    }

    /// In a directory of its own.
    pub(crate) fn on_disk(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(FjallStore::open(directory.path(), settings()).unwrap());
        Self::on(store, options, Some(directory))
    }

    fn on(store: Arc<dyn Store>, options: Options, directory: Option<tempfile::TempDir>) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let engine = Engine::on(Arc::clone(&store), clock.clone(), options.clone()).unwrap();
        Self {
            clock,
            store,
            engine,
            directory,
            options,
        }
    }

    /// Closes the database and opens it again; a fixture in memory only restarts the engine.
    pub(crate) fn reopen(self) -> Self {
        let Self {
            clock,
            store,
            engine,
            directory,
            options,
        } = self;
        drop(engine);
        let store = match &directory {
            Some(directory) => {
                drop(store);
                Arc::new(FjallStore::open(directory.path(), settings()).unwrap())
            }
            None => store,
        };
        let engine = Engine::on(Arc::clone(&store), clock.clone(), options.clone()).unwrap();
        Self {
            clock,
            store,
            engine,
            directory,
            options,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until `done` is true.
    pub(crate) fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "still waiting for: {what}");
            self.clock.signal().ring();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until all indexes of a table can be used.
    pub(crate) fn until_active(&self, table: &str) {
        self.until("indexes to become active", || {
            let described = describe(&self.engine, table);
            let indexes = described.global_secondary_indexes.unwrap_or_default();
            indexes
                .iter()
                .all(|index| index.index_status == Some(IndexStatus::Active))
        });
    }

    /// Fails unless everything in the store agrees.
    pub(crate) fn assert_sound(&self) {
        let mut found = Vec::new();
        let summary = self.engine.verify(&mut found).unwrap();
        assert!(found.is_empty(), "{found:#?}");
        assert!(summary.is_clean());
    }

    /// All rows of a space, as they are in the store.
    pub(crate) fn rows(&self, space: Space) -> Vec<(Vec<u8>, Vec<u8>)> {
        use std::ops::Bound::Unbounded;
        let snapshot = self.store.snapshot();
        snapshot
            .range(space, Unbounded, Unbounded, Direction::Forward)
            .map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap())
            .collect()
    }
}

/// Durability against the end of the process is enough: these tests do not simulate power loss.
fn settings() -> Settings {
    Settings {
        durability: trestle_store::Durability::Buffered,
        ..Settings::default()
    }
}

/// A text that is always a number in these tests.
pub(crate) fn n(number: i64) -> AttributeValue {
    AttributeValue::from(number)
}

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn b(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(bytes.to_vec())
}

/// The number in an attribute.
pub(crate) fn number(item: &Item, name: &str) -> i64 {
    item.get(name)
        .and_then(AttributeValue::as_n)
        .and_then(trestle_item::Number::to_i64)
        .unwrap_or_else(|| panic!("no number {name} in {item:?}"))
}

/// Runs `rounds` rounds, each with its own generator; prints the seed of the round that fails.
pub(crate) fn rounds(default: u64, mut round: impl FnMut(&mut fastrand::Rng)) {
    let from_environment = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = from_environment("TRESTLE_TEST_SEED").unwrap_or(0x7265_7374);
    let rounds = from_environment("TRESTLE_TEST_ROUNDS").unwrap_or(default);
    for seed in first..first + rounds {
        let announce = Announce(seed);
        round(&mut fastrand::Rng::with_seed(seed));
        std::mem::forget(announce);
    }
}

/// Prints the seed when a failing round unwinds.
struct Announce(u64);

impl Drop for Announce {
    fn drop(&mut self) {
        eprintln!("failed with TRESTLE_TEST_SEED={} TRESTLE_TEST_ROUNDS=1", self.0);
    }
}

/// Keys as `hash, hash, … | range, …`, for example `"pk:S | sk:N"`.
pub(crate) struct Keys {
    pub(crate) hash: Vec<(String, ScalarType)>,
    pub(crate) range: Vec<(String, ScalarType)>,
}

impl Keys {
    pub(crate) fn parse(text: &str) -> Self {
        let side = |side: &str| -> Vec<(String, ScalarType)> {
            side.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(|part| {
                    let (name, kind) = part.split_once(':').unwrap();
                    let kind = match kind {
                        "S" => ScalarType::S,
                        "N" => ScalarType::N,
                        _ => ScalarType::B,
                    };
                    (name.to_owned(), kind)
                })
                .collect()
        };
        let (hash, range) = text.split_once('|').unwrap_or((text, ""));
        Self {
            hash: side(hash),
            range: side(range),
        }
    }

    pub(crate) fn schema(&self) -> Vec<KeySchemaElement> {
        let element = |key_type| {
            move |(name, _): &(String, ScalarType)| KeySchemaElement {
                attribute_name: name.clone(),
                key_type,
            }
        };
        let hash = self.hash.iter().map(element(KeyType::Hash));
        hash.chain(self.range.iter().map(element(KeyType::Range)))
            .collect()
    }

    pub(crate) fn definitions(&self, into: &mut Vec<AttributeDefinition>) {
        for (name, kind) in self.hash.iter().chain(&self.range) {
            if !into.iter().any(|known| known.attribute_name == *name) {
                into.push(AttributeDefinition {
                    attribute_name: name.clone(),
                    attribute_type: *kind,
                });
            }
        }
    }
}

/// `ALL`, `KEYS_ONLY`, or the names of an `INCLUDE`, separated by commas.
pub(crate) fn projection(text: &str) -> Projection {
    let (projection_type, names) = match text {
        "ALL" => (ProjectionType::All, None),
        "KEYS_ONLY" => (ProjectionType::KeysOnly, None),
        names => (
            ProjectionType::Include,
            Some(names.split(',').map(|name| name.trim().to_owned()).collect()),
        ),
    };
    Projection {
        projection_type: Some(projection_type),
        non_key_attributes: names,
    }
}

pub(crate) fn gsi(name: &str, keys: &str, projected: &str) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex {
        index_name: name.to_owned(),
        key_schema: Keys::parse(keys).schema(),
        projection: projection(projected),
        ..GlobalSecondaryIndex::default()
    }
}

/// A table on demand; indexes are `(name, keys, projection)`.
pub(crate) fn table(
    name: &str,
    keys: &str,
    local: &[(&str, &str, &str)],
    global: &[(&str, &str, &str)],
) -> CreateTable {
    let keys = Keys::parse(keys);
    let mut attribute_definitions = Vec::new();
    keys.definitions(&mut attribute_definitions);
    for (_, keys, _) in local.iter().chain(global) {
        Keys::parse(keys).definitions(&mut attribute_definitions);
    }
    let lsi = |(name, keys, projected): &(&str, &str, &str)| LocalSecondaryIndex {
        index_name: (*name).to_owned(),
        key_schema: Keys::parse(keys).schema(),
        projection: projection(projected),
    };
    let local: Vec<_> = local.iter().map(lsi).collect();
    let global: Vec<_> = global
        .iter()
        .map(|(name, keys, projected)| gsi(name, keys, projected))
        .collect();
    CreateTable {
        table_name: name.to_owned(),
        key_schema: keys.schema(),
        attribute_definitions,
        billing_mode: Some(BillingMode::PayPerRequest),
        local_secondary_indexes: (!local.is_empty()).then_some(local),
        global_secondary_indexes: (!global.is_empty()).then_some(global),
        ..CreateTable::default()
    }
}

pub(crate) fn with_stream(table: CreateTable, view: StreamViewType) -> CreateTable {
    CreateTable {
        stream_specification: Some(streaming(view)),
        ..table
    }
}

pub(crate) fn streaming(view: StreamViewType) -> StreamSpecification {
    StreamSpecification {
        stream_enabled: true,
        stream_view_type: Some(view),
    }
}

/// Adds a global index to a table.
pub(crate) fn add_index(table: &str, name: &str, keys: &str, projected: &str) -> UpdateTable {
    let mut definitions = Vec::new();
    Keys::parse(keys).definitions(&mut definitions);
    UpdateTable {
        table_name: table.to_owned(),
        attribute_definitions: Some(definitions),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            create: Some(gsi(name, keys, projected)),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTable::default()
    }
}

pub(crate) fn describe(engine: &Engine, table: &str) -> TableDescription {
    let request = DescribeTable {
        table_name: table.to_owned(),
    };
    *engine.run(request).unwrap().table
}

pub(crate) fn put(table: &str, item: Item) -> PutItem {
    PutItem {
        table_name: table.to_owned(),
        item,
        ..PutItem::default()
    }
}

pub(crate) fn get(engine: &Engine, table: &str, key: Item) -> Option<Item> {
    let request = GetItem {
        table_name: table.to_owned(),
        key,
        consistent_read: Some(true),
        ..GetItem::default()
    };
    engine.run(request).unwrap().item
}

pub(crate) fn update(table: &str, key: Item, expression: &str, values: Item) -> UpdateItem {
    UpdateItem {
        table_name: table.to_owned(),
        key,
        update_expression: Some(expression.to_owned()),
        expression_attribute_values: (!values.is_empty()).then_some(values),
        ..UpdateItem::default()
    }
}

pub(crate) fn transact_put(table: &str, item: Item) -> TransactWriteItem {
    TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: table.to_owned(),
            item,
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

pub(crate) fn transact_update(
    table: &str,
    key: Item,
    expression: &str,
    condition: Option<&str>,
    values: Item,
) -> TransactWriteItem {
    TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: table.to_owned(),
            key,
            update_expression: expression.to_owned(),
            condition_expression: condition.map(str::to_owned),
            expression_attribute_values: (!values.is_empty()).then_some(values),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    }
}

pub(crate) fn transact_delete(table: &str, key: Item, condition: Option<&str>) -> TransactWriteItem {
    TransactWriteItem {
        delete: Some(Box::new(Delete {
            table_name: table.to_owned(),
            key,
            condition_expression: condition.map(str::to_owned),
            ..Delete::default()
        })),
        ..TransactWriteItem::default()
    }
}

/// All pages of a query, joined: items, rows read, pages.
pub(crate) fn query_all(engine: &Engine, mut query: Query) -> (Vec<Item>, u32, usize) {
    let (mut items, mut scanned, mut pages) = (Vec::new(), 0, 0);
    loop {
        let page = engine.run(query.clone()).unwrap();
        let shown = page.items.unwrap_or_default();
        assert_eq!(page.count as usize, shown.len());
        if let Some(limit) = query.limit {
            assert!(page.scanned_count <= limit, "a page reads no more than its limit");
        }
        scanned += page.scanned_count;
        pages += 1;
        items.extend(shown);
        assert!(pages < 100_000, "paging does not end");
        match page.last_evaluated_key {
            Some(last) => query.exclusive_start_key = Some(last),
            None => return (items, scanned, pages),
        }
    }
}

/// All pages of a scan, joined: items, rows read.
pub(crate) fn scan_all(engine: &Engine, mut scan: Scan) -> (Vec<Item>, u32) {
    let (mut items, mut scanned, mut pages) = (Vec::new(), 0, 0);
    loop {
        let page = engine.run(scan.clone()).unwrap();
        let shown = page.items.unwrap_or_default();
        assert_eq!(page.count as usize, shown.len());
        scanned += page.scanned_count;
        pages += 1;
        items.extend(shown);
        assert!(pages < 100_000, "paging does not end");
        match page.last_evaluated_key {
            Some(last) => scan.exclusive_start_key = Some(last),
            None => return (items, scanned),
        }
    }
}

/// A scan of a whole table or index.
pub(crate) fn scan(table: &str, index: Option<&str>) -> Scan {
    Scan {
        table_name: table.to_owned(),
        index_name: index.map(str::to_owned),
        ..Scan::default()
    }
}

/// Items in an order that does not depend on where they came from.
pub(crate) fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_cached_key(|item| format!("{item:?}"));
    items
}
