//! A database in memory with its models, and short forms for items.

use parking_lot::Mutex;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Error, GetItem, KeySchemaElement, KeyType, Operation,
    PutItem, Query, Scan, UpdateItem,
};
use trestle_binding::{Outcome, Report, WrongFact};
use trestle_embedded::{
    ApplyOptions, Background, Embedded, EngineOptions, Options, StoreSettings, Unwatched, VerifyWatcher,
};
use trestle_engine::{Disagreement, Engine, View, Watcher};
use trestle_env::{Clock, SystemClock, Timestamp};
use trestle_item::{AttributeValue, Item, Number, ScalarType};
use trestle_store::{FjallStore, MemoryStore, Store};

/// A database with its models, on a store that outlives it.
pub(crate) struct TestDb {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    options: Options,
    opened: Mutex<Opened>,
}

/// What has opened the store.
enum Opened {
    Owner(Embedded),
    /// An engine without models, so that a test can write rows that no client can write.
    Bare(Engine),
    Nobody,
}

/// A shop with everything: a table, an index, a stream, a time to live, a tag.
pub(crate) const SHOP: &str = r#"
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "until"
stream = "new-and-old-images"

[table.shop.index.by_status]
key = ["status_key", "placed"]

[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:08}", status_key = "{status}#{customer}" }

[entity.order.attributes]
customer = "string"
number = "integer"
status = { type = "string", one_of = ["open", "paid"], default = "open" }
placed = "timestamp"
"#;

/// The options of tests by default: no row expires or moves in the background.
pub(crate) fn quiet() -> Options {
    Options {
        background: Background::Tables,
        ..Options::default()
    }
}

/// A database in a directory.
pub(crate) fn in_directory(directory: &Path) -> TestDb {
    let store = FjallStore::open(directory, StoreSettings::default()).unwrap();
    on(Arc::new(store), Arc::new(SystemClock::new()), quiet())
}

/// A database whose rows expire soon after their time.
pub(crate) fn expiring() -> Options {
    Options {
        engine: EngineOptions {
            expiry_interval: Duration::from_secs(1),
            ..EngineOptions::default()
        },
        ..Options::default()
    }
}

pub(crate) fn empty() -> TestDb {
    on(
        Arc::new(MemoryStore::new()),
        Arc::new(SystemClock::new()),
        quiet(),
    )
}

pub(crate) fn on(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> TestDb {
    let db = Embedded::on(Arc::clone(&store), Arc::clone(&clock), options.clone()).unwrap();
    TestDb {
        store,
        clock,
        options,
        opened: Mutex::new(Opened::Owner(db)),
    }
}

pub(crate) const PLAIN: ApplyOptions = ApplyOptions {
    dry_run: false,
    fill: false,
    delete_indexes: false,
    adopt: false,
};
pub(crate) const FILL: ApplyOptions = ApplyOptions { fill: true, ..PLAIN };
pub(crate) const DRY: ApplyOptions = ApplyOptions {
    dry_run: true,
    ..PLAIN
};

pub(crate) const DRY_FILL: ApplyOptions = ApplyOptions { fill: true, ..DRY };

impl TestDb {
    /// The open database.
    pub(crate) fn db(&self) -> Embedded {
        match &*self.opened.lock() {
            Opened::Owner(db) => db.clone(),
            Opened::Bare(_) | Opened::Nobody => panic!("the database is closed"),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Runs an operation; without models, while the test writes behind them.
    pub(crate) fn run<O: Operation>(&self, operation: O) -> Result<O::Output, Error> {
        let engine = match &*self.opened.lock() {
            Opened::Bare(engine) => Some(engine.clone()),
            Opened::Owner(_) | Opened::Nobody => None,
        };
        match engine {
            Some(engine) => engine.run(operation),
            None => self.db().run(operation),
        }
    }

    /// Closes the database, lets `write` write without models, and opens it again.
    pub(crate) fn behind_the_models(&self, write: impl FnOnce(&Engine)) {
        *self.opened.lock() = Opened::Nobody;
        let options = self.options.engine.clone();
        let engine = Engine::load(Arc::clone(&self.store), Arc::clone(&self.clock), options).unwrap();
        *self.opened.lock() = Opened::Bare(engine.clone());
        write(&engine);
        *self.opened.lock() = Opened::Nobody;
        drop(engine);
        self.reopen();
    }

    fn reopen(&self) {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let db = Embedded::on(store, clock, self.options.clone()).unwrap();
        *self.opened.lock() = Opened::Owner(db);
    }

    /// The same database, closed and opened again.
    pub(crate) fn restarted(self) -> Self {
        *self.opened.lock() = Opened::Nobody;
        self.reopen();
        self
    }

    /// The current rows, in the form that `trestle verify` uses.
    pub(crate) fn view(&self) -> View {
        View::of_store(&*self.store)
    }

    /// The documents stored beside the rows.
    pub(crate) fn documents(&self) -> Vec<(String, Vec<u8>)> {
        self.view().documents().unwrap()
    }

    pub(crate) fn try_apply(&self, text: &str, options: ApplyOptions) -> Report {
        self.db().models().apply(text, options, &mut Unwatched).unwrap()
    }

    /// Applies a model that must be accepted.
    pub(crate) fn apply(&self, text: &str) -> Report {
        let report = self.try_apply(text, PLAIN);
        assert_eq!(report.outcome, Outcome::Applied, "{report}");
        report
    }

    pub(crate) fn put(&self, table: &str, item: Value) -> Result<(), Error> {
        let put = PutItem {
            table_name: table.to_owned(),
            item: plain(item),
            ..PutItem::default()
        };
        self.run(put).map(drop)
    }

    pub(crate) fn get(&self, table: &str, key: Value) -> Option<Item> {
        let get = GetItem {
            table_name: table.to_owned(),
            key: plain(key),
            ..GetItem::default()
        };
        self.run(get).unwrap().item
    }

    pub(crate) fn update(&self, table: &str, key: Value, update: &str, values: Value) -> Result<(), Error> {
        let values = plain(values);
        let update = UpdateItem {
            table_name: table.to_owned(),
            key: plain(key),
            update_expression: Some(update.to_owned()),
            expression_attribute_values: Some(values).filter(|values| !values.is_empty()),
            ..UpdateItem::default()
        };
        self.run(update).map(drop)
    }

    pub(crate) fn rows(&self, table: &str) -> Vec<Item> {
        let scan = Scan {
            table_name: table.to_owned(),
            ..Scan::default()
        };
        self.run(scan).unwrap().items.unwrap().to_vec()
    }

    /// The rows of a partition of an index, in order.
    pub(crate) fn partition(&self, table: &str, index: &str, key: &str, value: &str) -> Vec<Item> {
        let query = Query {
            table_name: table.to_owned(),
            index_name: Some(index.to_owned()),
            key_condition_expression: Some("#k = :k".to_owned()),
            expression_attribute_names: Some([("#k".to_owned(), key.to_owned())].into()),
            expression_attribute_values: Some(Item::from([(":k", value)])),
            ..Query::default()
        };
        self.run(query).unwrap().items.unwrap().to_vec()
    }
}

/// A table made by hand, with a string key.
pub(crate) fn create(db: &TestDb, name: &str, key: &[&str]) {
    db.run(table(name, key)).unwrap();
}

pub(crate) fn table(name: &str, key: &[&str]) -> CreateTable {
    let kinds = [KeyType::Hash, KeyType::Range];
    CreateTable {
        table_name: name.to_owned(),
        attribute_definitions: key.iter().map(|name| string(name)).collect(),
        key_schema: key
            .iter()
            .zip(kinds)
            .map(|(name, key_type)| KeySchemaElement {
                attribute_name: (*name).to_owned(),
                key_type,
            })
            .collect(),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}

pub(crate) fn string(name: &str) -> AttributeDefinition {
    AttributeDefinition {
        attribute_name: name.to_owned(),
        attribute_type: ScalarType::S,
    }
}

/// An item of plain JSON: texts, whole numbers, truth values, lists, objects; `["SS", …]` is a set of texts.
pub(crate) fn plain(json: Value) -> Item {
    let Value::Object(members) = json else {
        panic!("not an object")
    };
    members
        .into_iter()
        .map(|(name, value)| (name, value_of(value)))
        .collect()
}

fn value_of(json: Value) -> AttributeValue {
    match json {
        Value::String(text) => AttributeValue::S(text),
        Value::Number(number) => AttributeValue::N(Number::from(number.as_i64().unwrap())),
        Value::Bool(truth) => AttributeValue::Bool(truth),
        Value::Array(values) if values.first() == Some(&Value::from("SS")) => {
            let typed = serde_json::json!({ "SS": values.get(1..).unwrap() });
            serde_json::from_value(typed).unwrap()
        }
        Value::Array(values) => AttributeValue::L(values.into_iter().map(value_of).collect()),
        Value::Object(_) => AttributeValue::M(plain(json)),
        Value::Null => AttributeValue::Null,
    }
}

/// A text attribute; empty if there is none.
pub(crate) fn text<'i>(item: &'i Item, name: &str) -> &'i str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        _ => "",
    }
}

/// Collects what a verification finds.
#[derive(Default)]
pub(crate) struct Found(pub(crate) Vec<String>);

impl Watcher for Found {
    fn found(&mut self, disagreement: Disagreement) {
        self.0.push(format!("{disagreement:?}"));
    }
}

impl VerifyWatcher for Found {
    fn wrong(&mut self, fact: &WrongFact) {
        self.0.push(fact.to_string());
    }
}
