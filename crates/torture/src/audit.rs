//! Whether a server has everything that was acknowledged, and is consistent.

use crate::http::Client;
use crate::server::{self, Server};
use crate::workload::{EXPIRES, GROUPS, INDEX, Items, TABLE, Worker, succeed};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The result of a check of one server.
#[derive(Debug)]
pub struct Findings {
    /// All items of the table.
    pub items: Items,
    /// How many change records were replayed.
    pub changes: usize,
}

/// Checks that every worker finds its acknowledged writes as of `mark`, and that index, counts and change log
/// agree with the items.
pub fn check(server: &Server, workers: &[Worker], mark: u64) -> Result<Findings, String> {
    let mut client = server.connect();
    let (items, table) = check_items(&mut client, workers, mark)?;
    let stream = table["LatestStreamArn"].as_str().unwrap();
    let changes = check_change_log(&mut client, stream, &items)?;
    Ok(Findings { items, changes })
}

/// The same without the change log, which is trimmed after a day, and long after many writes. Returns all
/// items, and the description of the table.
pub fn check_items(client: &mut Client, workers: &[Worker], mark: u64) -> Result<(Items, Value), String> {
    let items = by_key(all(
        client,
        "Scan",
        &json!({"TableName": TABLE, "ConsistentRead": true}),
    ))?;
    for worker in workers {
        worker.explain(&of_worker(&items, worker), worker.acknowledged_by(mark))?;
    }
    let table = succeed(client, "DescribeTable", &json!({"TableName": TABLE}))["Table"].take();
    check_index(client, &items, &table)?;
    if table["ItemCount"] != items.len() {
        let (counted, found) = (&table["ItemCount"], items.len());
        return Err(format!("the table counts {counted} items and holds {found}"));
    }
    Ok((items, table))
}

/// Lets the workers continue from the items that a check found.
pub fn reconcile(workers: &mut [Worker], items: &Items) {
    for worker in workers {
        worker.reconcile(of_worker(items, worker));
    }
}

/// Opens the directory on a clock that can be moved, advances it past every expiry, and checks that exactly
/// the items with an expiry are removed. They are missing in the directory afterwards.
pub fn check_expiry(directory: &Path, items: &Items) -> Result<(), String> {
    let server = Server::start(server::serve(directory).arg("--virtual-clock"));
    let mut client = server.connect();
    let moved = client.set_clock(EXPIRES + 1_000_000).unwrap();
    assert_eq!(moved.status, 200, "{}", moved.body);

    let lasting = items.iter().filter(|(_, item)| item.get("expires").is_none());
    let lasting: Vec<_> = lasting.map(|(key, _)| key).collect();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left = by_key(all(&mut client, "Scan", &json!({"TableName": TABLE})))?;
        if left.keys().eq(lasting.iter().copied()) {
            return Ok(());
        }
        if Instant::now() > deadline {
            let (left, lasting) = (left.len(), lasting.len());
            return Err(format!(
                "{left} items are left after everything expired, {lasting} should be"
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn of_worker(items: &Items, worker: &Worker) -> Items {
    let prefix = worker.prefix();
    let own = items.iter().filter(|(key, _)| key.starts_with(&prefix));
    own.map(|(key, item)| (key.clone(), item.clone())).collect()
}

/// All pages of a query or scan.
pub fn all(client: &mut Client, operation: &str, body: &Value) -> Vec<Value> {
    let (mut body, mut items) = (body.clone(), Vec::new());
    loop {
        let mut page = succeed(client, operation, &body);
        if let Value::Array(found) = page["Items"].take() {
            items.extend(found);
        }
        match page["LastEvaluatedKey"].take() {
            Value::Null => return items,
            key => body["ExclusiveStartKey"] = key,
        }
    }
}

fn by_key(items: Vec<Value>) -> Result<Items, String> {
    let mut keyed = Items::new();
    for item in items {
        let key = item["pk"]["S"].as_str().unwrap().to_owned();
        if keyed.insert(key.clone(), item).is_some() {
            return Err(format!("{key} is there twice"));
        }
    }
    Ok(keyed)
}

fn check_index(client: &mut Client, items: &Items, table: &Value) -> Result<(), String> {
    let expected: Items = items
        .iter()
        .filter(|(_, item)| item.get("g").is_some())
        .map(|(key, item)| (key.clone(), item.clone()))
        .collect();
    let scanned = by_key(all(
        client,
        "Scan",
        &json!({"TableName": TABLE, "IndexName": INDEX}),
    ))?;
    let mut queried = Vec::new();
    for group in 0..GROUPS {
        let query = json!({
            "TableName": TABLE,
            "IndexName": INDEX,
            "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": format!("g{group}")}},
        });
        queried.extend(all(client, "Query", &query));
    }
    if scanned != expected || by_key(queried)? != expected {
        let (indexed, found) = (scanned.len(), expected.len());
        return Err(format!(
            "the index has {indexed} rows; {found} items have its key, or their contents differ"
        ));
    }
    let counted = &table["GlobalSecondaryIndexes"][0]["ItemCount"];
    if *counted != expected.len() {
        return Err(format!(
            "the index counts {counted} rows and holds {}",
            expected.len()
        ));
    }
    Ok(())
}

/// Replays every shard from its beginning: each record must start where the previous one ended, sequence
/// numbers only grow, and the end is the table.
fn check_change_log(client: &mut Client, stream: &str, items: &Items) -> Result<usize, String> {
    let description = succeed(client, "DescribeStream", &json!({"StreamArn": stream}));
    let mut images: BTreeMap<String, Value> = BTreeMap::new();
    let mut changes = 0;
    for shard in description["StreamDescription"]["Shards"].as_array().unwrap() {
        let mut last = 0;
        for record in records(client, stream, &shard["ShardId"]) {
            let change = &record["dynamodb"];
            let sequence: u128 = change["SequenceNumber"].as_str().unwrap().parse().unwrap();
            if sequence <= last {
                return Err(format!("the change log has {sequence} after {last}"));
            }
            last = sequence;
            changes += 1;
            let key = change["Keys"]["pk"]["S"].as_str().unwrap();
            if images.get(key).unwrap_or(&Value::Null) != &change["OldImage"] {
                return Err(format!(
                    "record {sequence} of {key} does not begin where the one before it ended"
                ));
            }
            match &change["NewImage"] {
                Value::Null => images.remove(key),
                image => images.insert(key.to_owned(), image.clone()),
            };
        }
    }
    if &images != items {
        let differing = items.keys().find(|key| images.get(*key) != items.get(*key));
        return Err(format!(
            "the change log does not end as the table is; {differing:?} differs"
        ));
    }
    Ok(changes)
}

/// All change records of a shard.
pub fn records(client: &mut Client, stream: &str, shard: &Value) -> Vec<Value> {
    let ask = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let mut iterator = succeed(client, "GetShardIterator", &ask)["ShardIterator"].take();
    let mut found = Vec::new();
    while !iterator.is_null() {
        let mut page = succeed(client, "GetRecords", &json!({"ShardIterator": iterator}));
        let Value::Array(records) = page["Records"].take() else {
            break;
        };
        if records.is_empty() {
            break;
        }
        found.extend(records);
        iterator = page["NextShardIterator"].take();
    }
    found
}

/// Runs `trestle verify`, which checks what no operation shows: expiry entries, and unreachable rows.
pub fn verify(directory: &Path) -> Result<String, String> {
    let run = Command::new(server::binary())
        .arg("verify")
        .arg(directory)
        .output()
        .unwrap();
    match run.status.success() {
        true => Ok(String::from_utf8_lossy(&run.stdout).into_owned()),
        false => {
            let (found, failure) = (
                String::from_utf8_lossy(&run.stdout),
                String::from_utf8_lossy(&run.stderr),
            );
            Err(format!("trestle verify: {found}{failure}"))
        }
    }
}
