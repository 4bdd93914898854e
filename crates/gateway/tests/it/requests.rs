//! Random requests on the model with every effect, with few names, so that rows collide.

use serde_json::{Value, json};
use trestle_api::{
    BatchWriteItem, Delete, DeleteItem, DeleteRequest, GetItem, Put, PutItem, PutRequest, Request,
    ReturnValue, TransactWriteItem, TransactWriteItems, Update, UpdateItem, WriteRequest,
};
use trestle_item::{AttributeValue, Item, Map, Number};

/// An item from short JSON: text, numbers, and lists of text as sets.
pub(crate) fn item(value: &Value) -> Item {
    let pairs = value.as_object().unwrap().iter();
    pairs
        .map(|(name, value)| (name.clone(), attribute(value)))
        .collect()
}

pub(crate) fn attribute(value: &Value) -> AttributeValue {
    match value {
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Number(number) => AttributeValue::N(number.to_string().parse::<Number>().unwrap()),
        Value::Array(members) => serde_json::from_value(json!({ "SS": members })).unwrap(),
        other => panic!("{other}"),
    }
}

pub(crate) fn one<'a>(random: &mut fastrand::Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

/// A row to put, and its key.
pub(crate) fn row(random: &mut fastrand::Rng) -> (Value, Value) {
    let mut row;
    let key;
    match random.u8(..8) {
        0 | 1 => {
            let (name, version) = (one(random, &["a", "b"]), random.u8(1..5));
            row = json!({"kind": "doc", "name": name, "version": version});
            if random.bool() {
                row["body"] = json!(one(random, &["p", "q", "r"]));
            }
            key = json!({"pk": format!("doc#{name}"), "sk": format!("v#{version:04}")});
        }
        2 => {
            let (name, version) = (one(random, &["a", "b"]), random.u8(1..5));
            row = json!({"kind": "part", "name": name, "version": version});
            key = json!({"pk": format!("part#{name}#{version}"), "sk": "part"});
        }
        3 => {
            let id = one(random, &["1", "2", "3", "4", "5", "6"]);
            row = json!({"kind": "order", "id": id});
            if random.bool() {
                row["shop"] = json!(one(random, &["s", "t"]));
            }
            if random.bool() {
                row["event"] = json!(one(random, &["e", "f"]));
            }
            if random.bool() {
                row["price"] = json!(random.u8(1..9));
            }
            key = json!({"pk": "order", "sk": id});
        }
        4 => {
            let shop = one(random, &["s", "t"]);
            row = json!({"kind": "shop", "shop": shop});
            key = json!({"pk": "shop", "sk": shop});
        }
        5 => {
            let person = one(random, &["x", "y", "z"]);
            row = json!({"kind": "person", "person": person});
            if random.bool() {
                row["name"] = json!(one(random, &["Ada", "Bo"]));
            }
            let clubs: &[&str] = [&["c"][..], &["d"], &["c", "d"]][random.usize(..3)];
            if random.bool() {
                row["clubs"] = json!(clubs);
            }
            key = json!({"pk": "person", "sk": person});
        }
        6 => {
            let (from, to) = (one(random, &["x", "y"]), one(random, &["x", "y", "z"]));
            row = json!({"kind": "follows", "from": from, "to": to});
            key = json!({"pk": format!("from#{from}"), "sk": format!("to#{to}")});
        }
        _ => {
            let seat = one(random, &["1", "2", "3"]);
            row = json!({"kind": "seat", "seat": seat});
            if random.bool() {
                row["person"] = json!(one(random, &["x", "y", "z"]));
            }
            key = json!({"pk": "seat", "sk": seat});
        }
    }
    (row, key)
}

/// An update expression with its values.
fn update(random: &mut fastrand::Rng, key: &Value) -> (String, Map) {
    let kind = key["pk"].as_str().unwrap();
    let value = |value: Value| Map::from_iter([(":v".to_owned(), attribute(&value))]);
    let text = |text: &str| text.to_owned();
    match kind {
        "order" if random.bool() => (text("ADD price :v"), value(json!(random.u8(1..5)))),
        "order" => (text("SET shop = :v"), value(json!(one(random, &["s", "t"])))),
        "person" if random.bool() => (text("SET #n = :v"), value(json!(one(random, &["Ada", "Cy"])))),
        "person" => (text("DELETE clubs :v"), value(json!(["c"]))),
        "seat" if random.bool() => (text("REMOVE person"), Map::default()),
        "seat" => (text("SET person = :v"), value(json!(one(random, &["x", "y"])))),
        _ if kind.starts_with("doc#") => (text("SET body = :v"), value(json!(one(random, &["p", "q"])))),
        _ => (text("SET note = :v"), value(json!(one(random, &["one", "two"])))),
    }
}

fn names(expression: &str) -> Option<std::collections::BTreeMap<String, String>> {
    expression
        .contains("#n")
        .then(|| [("#n".to_owned(), "name".to_owned())].into())
}

fn values(values: Map) -> Option<Map> {
    Some(values).filter(|values| !values.is_empty())
}

const TABLE: &str = "rows";

/// A request.
pub(crate) fn request(random: &mut fastrand::Rng) -> Request {
    let table_name = || TABLE.to_owned();
    let (row, key) = row(random);
    let condition = [
        None,
        None,
        None,
        Some("attribute_exists(pk)"),
        Some("attribute_not_exists(pk)"),
    ];
    let condition_expression = condition[random.usize(..condition.len())].map(str::to_owned);
    let shown = [None, Some(ReturnValue::AllOld)][random.usize(..2)];
    match random.u8(..12) {
        0..=3 => Request::PutItem(PutItem {
            table_name: table_name(),
            item: item(&row),
            condition_expression,
            return_values: shown,
            ..PutItem::default()
        }),
        4..=6 => {
            let (update_expression, given) = update(random, &key);
            let shown = [
                None,
                Some(ReturnValue::AllOld),
                Some(ReturnValue::AllNew),
                Some(ReturnValue::UpdatedNew),
                Some(ReturnValue::UpdatedOld),
            ];
            Request::UpdateItem(UpdateItem {
                table_name: table_name(),
                key: item(&key),
                expression_attribute_names: names(&update_expression),
                expression_attribute_values: values(given),
                update_expression: Some(update_expression),
                condition_expression,
                return_values: shown[random.usize(..shown.len())],
                ..UpdateItem::default()
            })
        }
        7 => Request::DeleteItem(DeleteItem {
            table_name: table_name(),
            key: item(&key),
            condition_expression,
            return_values: shown,
            ..DeleteItem::default()
        }),
        8 => Request::GetItem(GetItem {
            table_name: table_name(),
            key: item(&key),
            consistent_read: Some(true),
            ..GetItem::default()
        }),
        9 => Request::BatchWriteItem(BatchWriteItem {
            request_items: [(TABLE.to_owned(), (0..2).map(|_| member(random)).collect())].into(),
            ..BatchWriteItem::default()
        }),
        _ => Request::TransactWriteItems(TransactWriteItems {
            transact_items: (0..random.usize(1..4)).map(|_| part(random)).collect(),
            ..TransactWriteItems::default()
        }),
    }
}

fn member(random: &mut fastrand::Rng) -> WriteRequest {
    let (row, key) = row(random);
    match random.bool() {
        true => WriteRequest {
            put_request: Some(PutRequest { item: item(&row) }),
            delete_request: None,
        },
        false => WriteRequest {
            put_request: None,
            delete_request: Some(DeleteRequest { key: item(&key) }),
        },
    }
}

fn part(random: &mut fastrand::Rng) -> TransactWriteItem {
    let (row, key) = row(random);
    let table_name = TABLE.to_owned();
    let mut part = TransactWriteItem::default();
    match random.u8(..3) {
        0 => {
            part.put = Some(Box::new(Put {
                table_name,
                item: item(&row),
                ..Put::default()
            }));
        }
        1 => {
            let (update_expression, given) = update(random, &key);
            part.update = Some(Box::new(Update {
                table_name,
                key: item(&key),
                expression_attribute_names: names(&update_expression),
                expression_attribute_values: values(given),
                update_expression,
                ..Update::default()
            }));
        }
        _ => {
            part.delete = Some(Box::new(Delete {
                table_name,
                key: item(&key),
                ..Delete::default()
            }));
        }
    }
    part
}
