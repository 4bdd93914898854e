//! Clients that update, replace, delete and insert rows while the table is reindexed, and remember what was acknowledged.

use super::table::{Key, TABLE, VERSION, key, key_json, n_of, row};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trestle_torture::http::{Client, RawResponse};

/// One in this many rows may be deleted permanently. There are enough of them that some are deleted after they are
/// read and before they are touched.
const DELETED_SHARE: u64 = 4;
/// The maximum number of rows that a client inserts. Without it, a reindex that is slower than its clients would never end.
const INSERTED_MAX: u64 = 50;
/// How long a client waits before it connects again to a killed server.
const AWAY: Duration = Duration::from_millis(20);
/// The pause between two requests, so that clients do not take all of the CPU of a small machine.
const PAUSE: Duration = Duration::from_millis(2);

/// A client's knowledge of its own row.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The last acknowledged value; `None` for a row whose insertion was not acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// The last value that was sent.
    pub(super) sent: u64,
    /// Whether a deletion was sent.
    pub(super) delete_sent: bool,
    /// Whether it was acknowledged.
    pub(super) is_deleted: bool,
}

/// A client and the rows that no other client writes.
pub(super) struct Writer {
    random: fastrand::Rng,
    name: u64,
    pub(super) rows: BTreeMap<Key, Known>,
    /// Rows to choose from. Inserted ones are not written again.
    chosen: Vec<(Key, bool)>,
    inserted: u64,
    pub(super) writes: u64,
}

/// Several clients, each with its own rows.
pub(super) fn writers(count: u64, rows: u64, random: &mut fastrand::Rng) -> Vec<Writer> {
    let writer = |name| {
        let own = (name..rows).step_by(count as usize);
        let chosen: Vec<(Key, bool)> = own
            .map(|number| (key(number), number % DELETED_SHARE == 0))
            .collect();
        let known = Known {
            acknowledged: Some(0),
            ..Known::default()
        };
        Writer {
            random: random.fork(),
            name,
            rows: chosen
                .iter()
                .map(|(key, _)| (key.clone(), known.clone()))
                .collect(),
            chosen,
            inserted: 0,
            writes: 0,
        }
    };
    (0..count).map(writer).collect()
}

impl Writer {
    /// Writes until asked to stop, to successive servers at the same address.
    pub(super) fn write(&mut self, address: &str, ends: &AtomicBool) {
        let mut client = None;
        while !ends.load(Ordering::SeqCst) {
            if client.is_none() {
                client = Client::connect(address).ok();
            }
            let Some(connected) = &mut client else {
                std::thread::sleep(AWAY);
                continue;
            };
            match self.act(connected) {
                Some(()) => self.writes += 1,
                None => client = None,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// One write; `None` if the connection is lost, so that the outcome is unknown.
    fn act(&mut self, client: &mut Client) -> Option<()> {
        let (key, may_delete) = self.chosen[self.random.usize(..self.chosen.len())].clone();
        if self.rows[&key].delete_sent {
            return self.delete(client, &key);
        }
        match self.random.u8(..10) {
            0 if self.inserted < INSERTED_MAX => self.insert(client),
            1..=3 if may_delete => self.delete(client, &key),
            1..=3 => self.replace(client, &key),
            _ => self.update(client, &key),
        }
    }

    fn next(&mut self, key: &Key) -> u64 {
        let known = self.rows.get_mut(key).unwrap();
        known.sent += 1;
        known.sent
    }

    fn update(&mut self, client: &mut Client, key: &Key) -> Option<()> {
        let n = self.next(key);
        let update = json!({
            "TableName": TABLE, "Key": key_json(key),
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": n.to_string()}},
        });
        let answer = client.call("UpdateItem", &update).ok()?;
        self.note(key, n, &answer, &[]);
        Some(())
    }

    /// Reads a row and puts it back with a new value, unless it has changed in between.
    fn replace(&mut self, client: &mut Client, key: &Key) -> Option<()> {
        let get = json!({"TableName": TABLE, "Key": key_json(key), "ConsistentRead": true});
        let mut found = client.call("GetItem", &get).ok()?.body["Item"].take();
        let mut values = json!({":n": {"N": n_of(&found).to_string()}});
        let condition = match found.get(VERSION) {
            Some(version) => {
                values[":v"] = version.clone();
                format!("n = :n AND {VERSION} = :v")
            }
            None => format!("n = :n AND attribute_not_exists({VERSION})"),
        };
        let n = self.next(key);
        found["n"] = json!({"N": n.to_string()});
        let put = json!({
            "TableName": TABLE, "Item": found,
            "ConditionExpression": condition, "ExpressionAttributeValues": values,
        });
        let answer = client.call("PutItem", &put).ok()?;
        self.note(key, n, &answer, &["ConditionalCheckFailedException"]);
        Some(())
    }

    fn delete(&mut self, client: &mut Client, key: &Key) -> Option<()> {
        self.rows.get_mut(key).unwrap().delete_sent = true;
        let delete = json!({"TableName": TABLE, "Key": key_json(key)});
        let answer = client.call("DeleteItem", &delete).ok()?;
        if is_done(&answer, &[]) {
            self.rows.get_mut(key).unwrap().is_deleted = true;
        }
        Some(())
    }

    fn insert(&mut self, client: &mut Client) -> Option<()> {
        self.inserted += 1;
        let key = (format!("new-{}", self.name), format!("{:08}", self.inserted));
        self.rows.insert(key.clone(), Known::default());
        let put = json!({"TableName": TABLE, "Item": row(&key, 0)});
        let answer = client.call("PutItem", &put).ok()?;
        self.note(&key, 0, &answer, &[]);
        Some(())
    }

    fn note(&mut self, key: &Key, n: u64, answer: &RawResponse, allowed: &[&str]) {
        if is_done(answer, allowed) {
            self.rows.get_mut(key).unwrap().acknowledged = Some(n);
        }
    }
}

/// Whether a write was carried out. Panics for errors other than injected faults and those that the client expects.
fn is_done(answer: &RawResponse, allowed: &[&str]) -> bool {
    let is_expected = answer.status >= 500
        || answer.error() == "ProvisionedThroughputExceededException"
        || allowed.contains(&answer.error());
    assert!(answer.status == 200 || is_expected, "{}", answer.body);
    answer.status == 200
}

/// The knowledge of all clients.
pub(super) fn known(writers: &[Writer]) -> BTreeMap<&Key, &Known> {
    writers.iter().flat_map(|writer| &writer.rows).collect()
}

/// Checks that a row is as its client last wrote it; `found` is `None` if there is no row.
pub(super) fn explain(key: &Key, known: &Known, found: Option<&Value>) -> Result<(), String> {
    let problem = |what: &str| Err(format!("{key:?} {what}: {known:?}, found {found:?}"));
    match found {
        Some(_) if known.is_deleted => problem("is there again after it was deleted"),
        None if known.acknowledged.is_some() && !known.delete_sent => problem("is gone"),
        None => Ok(()),
        Some(row) => match n_of(row) {
            n if n < known.acknowledged.unwrap_or(0) => problem("lost an update that was acknowledged"),
            n if n > known.sent => problem("has a value that was never sent"),
            _ => Ok(()),
        },
    }
}
