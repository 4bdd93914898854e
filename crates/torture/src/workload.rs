//! Writers that remember which of their writes were acknowledged.
//!
//! Every worker has its own items and one request at a time, so after a crash there is exactly one question
//! per worker: was the unanswered request carried out, or not? All of its items must then agree with one of
//! the two, to the last byte; half a transaction agrees with neither.

use crate::http::{Client, RawResponse};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The table that all workers write to.
pub const TABLE: &str = "load";
/// Its index: partition key `g`, sparse, everything projected.
pub const INDEX: &str = "by-group";
/// How many values `g` has.
pub const GROUPS: u64 = 5;
/// Far enough away that nothing expires while a test runs.
pub const EXPIRES: u64 = 4_000_000_000;

const ITEMS_PER_WORKER: u64 = 24;

/// Items by their key.
pub type Items = BTreeMap<String, Value>;

/// One request: the resulting items.
#[derive(Clone, Debug)]
pub struct Attempt {
    changes: Vec<(String, Option<Value>)>,
    /// Set when it was answered with success: the time of the caller's clock.
    pub acknowledged: Option<u64>,
}

/// How large items are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Mostly under a kilobyte, some over a page.
    Light,
    /// Mostly tens of kilobytes.
    Heavy,
    /// Mostly hundreds of kilobytes, so that even a short run fills write buffers and journals: tables are written,
    /// merged and removed, and journals with them.
    Huge,
}

/// One connection's writer.
#[derive(Debug)]
pub struct Worker {
    id: usize,
    random: fastrand::Rng,
    weight: Weight,
    version: u64,
    /// The items at the beginning of the attempts.
    base: Items,
    /// The items after the last acknowledged attempt.
    items: Items,
    attempts: Vec<Attempt>,
}

/// Creates the table with its index, its stream and its time to live.
pub fn create_table(client: &mut Client) {
    let table = json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": INDEX,
            "KeySchema": [
                {"AttributeName": "g", "KeyType": "HASH"},
                {"AttributeName": "pk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    succeed(client, "CreateTable", &table);
    let ttl = json!({
        "TableName": TABLE,
        "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": true},
    });
    succeed(client, "UpdateTimeToLive", &ttl);
}

/// Runs an operation that must be answered with success.
pub fn succeed(client: &mut Client, operation: &str, body: &Value) -> Value {
    let answer = client.call(operation, body).unwrap();
    assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
    answer.body
}

/// Several workers that differ in everything but the table.
pub fn workers(count: usize, weight: Weight, seed: u64) -> Vec<Worker> {
    (0..count).map(|id| Worker::new(id, weight, seed)).collect()
}

/// Lets all workers write to `address` until `stop` returns true or the server is gone. `mark` is called for
/// a number at every acknowledgement.
pub fn run(
    workers: &mut [Worker],
    address: &str,
    stop: &(dyn Fn() -> bool + Sync),
    mark: &(dyn Fn() -> u64 + Sync),
) {
    std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(move || worker.write_until(address, stop, mark));
        }
    });
}

impl Worker {
    fn new(id: usize, weight: Weight, seed: u64) -> Self {
        Worker {
            id,
            random: fastrand::Rng::with_seed(seed.wrapping_mul(31).wrapping_add(id as u64)),
            weight,
            version: 0,
            base: Items::new(),
            items: Items::new(),
            attempts: Vec::new(),
        }
    }

    /// The prefix of all keys of this worker.
    pub fn prefix(&self) -> String {
        format!("w{}-", self.id)
    }

    /// How many of the attempts were acknowledged at or before `mark`. They are the first ones, because
    /// attempts are made in order.
    pub fn acknowledged_by(&self, mark: u64) -> usize {
        let is_by = |attempt: &&Attempt| attempt.acknowledged.is_some_and(|at| at <= mark);
        self.attempts.iter().take_while(is_by).count()
    }

    /// How many attempts were acknowledged at all.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged_by(u64::MAX)
    }

    /// Finds the number of attempts, at least `acknowledged`, whose outcome is exactly these items.
    pub fn explain(&self, found: &Items, acknowledged: usize) -> Result<usize, String> {
        let mut items = self.base.clone();
        for (done, attempt) in self.attempts.iter().enumerate() {
            if done >= acknowledged && &items == found {
                return Ok(done);
            }
            apply(&mut items, attempt);
        }
        if &items == found {
            return Ok(self.attempts.len());
        }
        Err(self.describe_difference(found, acknowledged))
    }

    /// Continues from these items.
    pub fn reconcile(&mut self, found: Items) {
        self.items = found.clone();
        self.base = found;
        self.attempts.clear();
    }

    fn describe_difference(&self, found: &Items, acknowledged: usize) -> String {
        let mut expected = self.base.clone();
        for attempt in &self.attempts[..acknowledged] {
            apply(&mut expected, attempt);
        }
        let version =
            |item: Option<&Value>| item.map_or("none".to_owned(), |item| item["v"]["N"].to_string());
        let keys = expected.keys().chain(found.keys());
        let differing: std::collections::BTreeSet<_> =
            keys.filter(|key| expected.get(*key) != found.get(*key)).collect();
        let lines = differing.into_iter().map(|key| {
            let (wanted, there) = (version(expected.get(key)), version(found.get(key)));
            format!("{key}: acknowledged version {wanted}, found {there}")
        });
        let open: Vec<_> = self.attempts[acknowledged..]
            .iter()
            .take(3)
            .map(|attempt| {
                attempt
                    .changes
                    .iter()
                    .map(|(key, _)| key.as_str())
                    .collect::<Vec<_>>()
            })
            .collect();
        format!(
            "{} after {acknowledged} acknowledged attempts: {}; next attempts touch {open:?}",
            self.prefix(),
            lines.collect::<Vec<_>>().join(", ")
        )
    }

    fn write_until(
        &mut self,
        address: &str,
        stop: &(dyn Fn() -> bool + Sync),
        mark: &(dyn Fn() -> u64 + Sync),
    ) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        while !stop() {
            let (operation, body, changes) = self.next();
            self.attempts.push(Attempt {
                changes,
                acknowledged: None,
            });
            if !send(&mut client, operation, &body, stop) {
                return;
            }
            if let Some(attempt) = self.attempts.last_mut() {
                attempt.acknowledged = Some(mark());
                apply(&mut self.items, attempt);
            }
        }
    }

    fn next(&mut self) -> (&'static str, Value, Vec<(String, Option<Value>)>) {
        self.version += 1;
        let key = self.key();
        match self.random.u8(0..100) {
            0..35 => self.put(key),
            35..65 if self.items.contains_key(&key) => self.update(key),
            65..75 => self.delete(key),
            _ => self.transaction(),
        }
    }

    fn put(&mut self, key: String) -> (&'static str, Value, Vec<(String, Option<Value>)>) {
        let item = self.item(&key);
        let body = json!({"TableName": TABLE, "Item": item});
        ("PutItem", body, vec![(key, Some(item))])
    }

    /// Only if the item is as this worker left it; or as this same request left it, when it is sent again.
    fn update(&mut self, key: String) -> (&'static str, Value, Vec<(String, Option<Value>)>) {
        let new = self.item(&key);
        let change = self.change_to(&key, &new);
        let old = &self.items[&key]["v"];
        let mut body = json!({
            "TableName": TABLE,
            "Key": {"pk": {"S": key}},
            "ConditionExpression": "v = :old OR v = :v",
        });
        merge(&mut body, change);
        body["ExpressionAttributeValues"][":old"] = old.clone();
        ("UpdateItem", body, vec![(key, Some(new))])
    }

    /// The update that changes any present item into `new`.
    fn change_to(&self, key: &str, new: &Value) -> Value {
        let (mut set, mut remove, mut values) = (Vec::new(), Vec::new(), Map::new());
        for name in ["v", "g", "expires", "noise"] {
            match new.get(name) {
                Some(value) => {
                    set.push(format!("{name} = :{name}"));
                    values.insert(format!(":{name}"), value.clone());
                }
                None => remove.push(name),
            }
        }
        let mut expression = format!("SET {}", set.join(", "));
        if !remove.is_empty() {
            expression += &format!(" REMOVE {}", remove.join(", "));
        }
        debug_assert_eq!(new["pk"]["S"], key);
        json!({"UpdateExpression": expression, "ExpressionAttributeValues": values})
    }

    fn delete(&mut self, key: String) -> (&'static str, Value, Vec<(String, Option<Value>)>) {
        let body = json!({"TableName": TABLE, "Key": {"pk": {"S": key}}});
        ("DeleteItem", body, vec![(key, None)])
    }

    /// Two or three items at once: a put, an update, and perhaps a deletion.
    fn transaction(&mut self) -> (&'static str, Value, Vec<(String, Option<Value>)>) {
        let first = self.random.u64(0..ITEMS_PER_WORKER);
        let keys: Vec<_> = (0..3)
            .map(|n| self.key_at((first + n) % ITEMS_PER_WORKER))
            .collect();
        let (put, updated) = (self.item(&keys[0]), self.item(&keys[1]));
        let mut update = json!({"TableName": TABLE, "Key": {"pk": {"S": keys[1]}}});
        merge(&mut update, self.change_to(&keys[1], &updated));
        let mut actions = vec![
            json!({"Put": {"TableName": TABLE, "Item": put}}),
            json!({"Update": update}),
        ];
        let mut changes = vec![
            (keys[0].clone(), Some(put.clone())),
            (keys[1].clone(), Some(updated)),
        ];
        if self.random.bool() {
            actions.push(json!({"Delete": {"TableName": TABLE, "Key": {"pk": {"S": keys[2]}}}}));
            changes.push((keys[2].clone(), None));
        }
        ("TransactWriteItems", json!({"TransactItems": actions}), changes)
    }

    fn key(&mut self) -> String {
        let number = self.random.u64(0..ITEMS_PER_WORKER);
        self.key_at(number)
    }

    fn key_at(&self, number: u64) -> String {
        format!("{}{number}", self.prefix())
    }

    /// A new version of an item: never the same twice.
    fn item(&mut self, key: &str) -> Value {
        let mut item = json!({"pk": {"S": key}, "v": {"N": self.version.to_string()}});
        if self.random.u8(0..4) > 0 {
            item["g"] = json!({"S": format!("g{}", self.random.u64(0..GROUPS))});
        }
        if self.random.bool() {
            item["expires"] = json!({"N": (EXPIRES + self.random.u64(0..1000)).to_string()});
        }
        item["noise"] = json!({"S": self.noise()});
        item
    }

    /// Text that hardly compresses.
    fn noise(&mut self) -> String {
        let length = match (self.weight, self.random.u8(0..100)) {
            (Weight::Light, 0..80) => self.random.usize(0..900),
            (Weight::Light, 80..98) => self.random.usize(4000..12_000),
            (Weight::Heavy, 0..30) => self.random.usize(0..3000),
            (Weight::Huge, 20..) => self.random.usize(100_000..350_000),
            _ => self.random.usize(20_000..60_000),
        };
        (0..length).map(|_| self.random.alphanumeric()).collect()
    }
}

/// Sends one request until it is answered with success. After an internal error it is not known whether the
/// request was carried out, so it is sent again. `false` when the server is gone or it is time to stop.
fn send(client: &mut Client, operation: &str, body: &Value, stop: &(dyn Fn() -> bool + Sync)) -> bool {
    loop {
        match client.call(operation, body) {
            Ok(RawResponse { status: 200, .. }) => return true,
            Ok(answer) if answer.status >= 500 && !stop() => std::thread::sleep(Duration::from_millis(20)),
            Ok(answer) if answer.status >= 500 => return false,
            Ok(answer) => panic!("{operation} was refused: {}", answer.body),
            Err(_) => return false,
        }
    }
}

fn apply(items: &mut Items, attempt: &Attempt) {
    for (key, item) in &attempt.changes {
        match item {
            Some(item) => items.insert(key.clone(), item.clone()),
            None => items.remove(key),
        };
    }
}

fn merge(target: &mut Value, source: Value) {
    if let (Some(target), Value::Object(source)) = (target.as_object_mut(), source) {
        target.extend(source);
    }
}
