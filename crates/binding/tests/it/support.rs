//! An engine in memory with its models, and items written short.

use serde_json::Value;
use std::sync::Arc;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Error, GetItem, KeySchemaElement, KeyType, PutItem, Query,
    Scan, UpdateItem,
};
use trestle_binding::{ApplyOptions, Binding, Nobody, Outcome, Report};
use trestle_engine::{Engine, Options};
use trestle_env::SystemClock;
use trestle_item::{AttributeValue, Item, Number, ScalarType};

/// A database and its models.
pub(crate) struct Models {
    pub(crate) engine: Engine,
    pub(crate) binding: Binding,
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

pub(crate) fn empty() -> Models {
    on(Engine::in_memory(Options::default()).unwrap())
}

pub(crate) fn on(engine: Engine) -> Models {
    let binding = Binding::open(engine.clone(), Arc::new(SystemClock::new())).unwrap();
    Models { engine, binding }
}

pub(crate) const PLAIN: ApplyOptions = ApplyOptions {
    dry_run: false,
    fill: false,
    delete_indexes: false,
};
pub(crate) const FILL: ApplyOptions = ApplyOptions { fill: true, ..PLAIN };
pub(crate) const DRY: ApplyOptions = ApplyOptions {
    dry_run: true,
    ..PLAIN
};

pub(crate) const DRY_FILL: ApplyOptions = ApplyOptions { fill: true, ..DRY };

impl Models {
    pub(crate) fn try_apply(&self, text: &str, options: ApplyOptions) -> Report {
        self.binding.apply(text, options, &mut Nobody).unwrap()
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
        self.engine.run(put).map(drop)
    }

    pub(crate) fn get(&self, table: &str, key: Value) -> Option<Item> {
        let get = GetItem {
            table_name: table.to_owned(),
            key: plain(key),
            ..GetItem::default()
        };
        self.engine.run(get).unwrap().item
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
        self.engine.run(update).map(drop)
    }

    pub(crate) fn rows(&self, table: &str) -> Vec<Item> {
        let scan = Scan {
            table_name: table.to_owned(),
            ..Scan::default()
        };
        self.engine.run(scan).unwrap().items.unwrap().to_vec()
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
        self.engine.run(query).unwrap().items.unwrap().to_vec()
    }
}

/// A table made by hand, with a string key.
pub(crate) fn create(engine: &Engine, name: &str, key: &[&str]) {
    engine.run(table(name, key)).unwrap();
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
