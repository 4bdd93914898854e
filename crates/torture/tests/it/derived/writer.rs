//! Clients that write rows of every kind, with so few names that conflicts occur.

use super::version::Version;
use serde_json::{Map, Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use trestle_torture::http::{Client, RawResponse};

/// The allowed refusals of a write that does not fit the present rows.
const REFUSALS: [&str; 6] = [
    "ValidationException",
    "ConditionalCheckFailedException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "ResourceNotFoundException",
    // While writing is paused for a copy.
    "ThrottlingException",
];

/// Writes at random.
pub(super) struct Writer {
    random: fastrand::Rng,
    table: String,
    /// How many writes were carried out.
    pub(super) written: u64,
}

impl Writer {
    pub(super) fn new(version: &Version, random: fastrand::Rng) -> Self {
        Writer {
            random,
            table: version.table(),
            written: 0,
        }
    }

    /// Writes until the server is gone, or `enough` returns true.
    pub(super) fn write(&mut self, address: &str, enough: &(dyn Fn() -> bool + Sync)) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        while !enough() {
            let (operation, body) = self.request();
            let Ok(answer) = client.call(operation, &body) else {
                return;
            };
            self.written += u64::from(is_carried_out(operation, &body, &answer));
        }
    }

    fn request(&mut self) -> (&'static str, Value) {
        match self.random.u8(0..20) {
            0 => self.rename(),
            1 | 2 => self.transaction(),
            3 | 4 => self.delete(),
            5..9 => self.update(),
            _ => ("PutItem", json!({"TableName": self.table, "Item": self.item()})),
        }
    }

    fn transaction(&mut self) -> (&'static str, Value) {
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..self.random.usize(2..5) {
            items.push(json!({"Put": {"TableName": self.table, "Item": self.item()}}));
        }
        ("TransactWriteItems", json!({ "TransactItems": items }))
    }

    /// Changes the name of a person with many badges, so that there are often copies to update.
    fn rename(&mut self) -> (&'static str, Value) {
        let key = json!({"kind": {"S": "person"}, "person": self.word('p', 2)});
        let rename = json!({
            "TableName": self.table, "Key": key, "UpdateExpression": "SET #n = :n",
            "ExpressionAttributeNames": {"#n": "name"}, "ExpressionAttributeValues": {":n": self.word('n', 200)},
        });
        ("UpdateItem", rename)
    }

    fn delete(&mut self) -> (&'static str, Value) {
        let key = self.identity();
        ("DeleteItem", json!({"TableName": self.table, "Key": key}))
    }

    fn update(&mut self) -> (&'static str, Value) {
        let identity = self.identity();
        let kind = identity["kind"]["S"].as_str().unwrap_or_default().to_owned();
        let set = self.attributes(&kind);
        let Some((name, value)) = set.iter().next() else {
            return ("DeleteItem", json!({"TableName": self.table, "Key": identity}));
        };
        let mut update = json!({
            "TableName": self.table, "Key": identity, "ExpressionAttributeNames": {"#a": name},
        });
        if self.random.bool() {
            update["UpdateExpression"] = json!("SET #a = :a");
            update["ExpressionAttributeValues"] = json!({":a": value});
        } else {
            update["UpdateExpression"] = json!("REMOVE #a");
        }
        ("UpdateItem", update)
    }

    fn item(&mut self) -> Value {
        let mut item = self.identity();
        let kind = item["kind"]["S"].as_str().unwrap_or_default().to_owned();
        for (name, value) in self.attributes(&kind) {
            item[name] = value;
        }
        if self.random.u8(0..8) == 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            item["expires"] = json!({"N": (now + self.random.u64(0..2)).to_string()});
        }
        item
    }

    fn word(&mut self, letter: char, words: u8) -> Value {
        json!({"S": format!("{letter}{}", self.random.u8(0..words))})
    }

    /// So many bodies that most documents have a unique one, and some try to share one.
    fn body(&mut self) -> Value {
        json!({"S": format!("b{}", self.random.u16(0..2000))})
    }

    /// Up to five members, some of them twice, and not all of them texts.
    fn words(&mut self) -> Value {
        let count = self.random.usize(0..6);
        let words = (0..count).map(|_| match self.random.u8(0..5) {
            0 => json!({"N": self.random.u8(0..3).to_string()}),
            1 => json!({"BOOL": self.random.bool()}),
            _ => self.word('w', 6),
        });
        let words: Vec<Value> = words.collect();
        json!({ "L": words })
    }

    /// What identifies a row of some entity, with its tag.
    fn identity(&mut self) -> Value {
        match self.random.u8(0..8) {
            0 | 1 => {
                let version = self.random.u8(0..20);
                json!({"kind": {"S": "doc"}, "name": self.word('d', 5), "version": {"N": version.to_string()}})
            }
            2 => json!({"kind": {"S": "order"}, "id": self.word('o', 60)}),
            3 => json!({"kind": {"S": "person"}, "person": self.word('p', 12)}),
            4 => json!({"kind": {"S": "follows"}, "from": self.word('p', 12), "to": self.word('p', 12)}),
            // So many that the copies of a name take more than one page.
            5 | 6 => json!({"kind": {"S": "badge"}, "badge": self.word('g', 250)}),
            _ => match self.random.bool() {
                true => json!({"kind": {"S": "seat"}, "seat": self.word('t', 40)}),
                false => json!({"kind": {"S": "shop"}, "shop": self.word('s', 6)}),
            },
        }
    }

    /// Some of the attributes that an entity may have.
    fn attributes(&mut self, kind: &str) -> Map<String, Value> {
        let all: Vec<(&str, Value)> = match kind {
            "doc" => vec![
                ("rank", json!({"N": self.random.u8(0..30).to_string()})),
                ("body", self.body()),
                ("words", self.words()),
            ],
            "order" => vec![("shop", self.word('s', 6)), ("event", self.word('e', 90))],
            "person" => vec![
                ("name", self.word('n', 9)),
                (
                    "clubs",
                    json!({"SS": [format!("c{}", self.random.u8(0..4)), "c9"]}),
                ),
            ],
            "follows" => vec![("since", self.word('y', 4))],
            "seat" => vec![("person", self.word('p', 12))],
            "badge" => vec![("person", self.word('p', 2))],
            _ => Vec::new(),
        };
        let some = all.into_iter().filter(|_| self.random.u8(0..4) > 0);
        some.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Whether a write was carried out. A refusal is fine; anything else is a fault.
fn is_carried_out(operation: &str, body: &Value, answer: &RawResponse) -> bool {
    let refused = REFUSALS.contains(&answer.error());
    assert!(
        answer.status == 200 || refused,
        "{operation} {body}: {}",
        answer.body
    );
    answer.status == 200
}
