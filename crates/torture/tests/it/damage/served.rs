//! Everything that a server serves.

use serde_json::{Value, json};
use trestle_torture::http::Client;
use trestle_torture::server::Server;
use trestle_torture::workload::{INDEX, TABLE};

/// All items, index rows and change records, and items asked for one by one.
#[derive(Debug, PartialEq)]
pub(super) struct Served {
    items: Vec<Value>,
    index_rows: Vec<Value>,
    changes: Vec<Value>,
    single_items: Vec<Value>,
}

/// Keys that are read one by one: reading a single row uses another path than reading all rows.
const SINGLE_ITEMS: usize = 40;

impl Served {
    /// Reads everything, or returns the message of the first read that failed.
    pub(super) fn all(server: &Server) -> Result<Self, String> {
        let mut client = server.connect();
        let single_items = single_items(&mut client)?;
        let items = pages(&mut client, "Scan", json!({"TableName": TABLE}))?;
        let index_rows = pages(
            &mut client,
            "Scan",
            json!({"TableName": TABLE, "IndexName": INDEX}),
        )?;
        let changes = changes(&mut client)?;
        Ok(Served {
            items,
            index_rows,
            changes,
            single_items,
        })
    }

    pub(super) fn difference(&self, expected: &Served) -> String {
        let count = |served: &Served| {
            (
                served.items.len(),
                served.index_rows.len(),
                served.changes.len(),
                served.single_items.len(),
            )
        };
        format!(
            "served (items, index rows, changes, single items) {:?} for {:?}",
            count(self),
            count(expected)
        )
    }
}

/// The key of an item of the specimen.
pub(super) fn key(n: usize) -> String {
    format!("item-{n:05}")
}

fn single_items(client: &mut Client) -> Result<Vec<Value>, String> {
    let get = |n: usize| {
        let request = json!({"TableName": TABLE, "Key": {"pk": {"S": key(n * 23)}}, "ConsistentRead": true});
        call(client, "GetItem", &request).map(|mut answer| answer["Item"].take())
    };
    (0..SINGLE_ITEMS).map(get).collect()
}

fn pages(client: &mut Client, operation: &str, mut request: Value) -> Result<Vec<Value>, String> {
    let mut items = Vec::new();
    loop {
        let mut page = call(client, operation, &request)?;
        if let Value::Array(found) = page["Items"].take() {
            items.extend(found);
        }
        match page["LastEvaluatedKey"].take() {
            Value::Null => return Ok(items),
            key => request["ExclusiveStartKey"] = key,
        }
    }
}

fn changes(client: &mut Client) -> Result<Vec<Value>, String> {
    let table = call(client, "DescribeTable", &json!({"TableName": TABLE}))?;
    let stream = &table["Table"]["LatestStreamArn"];
    let description = call(client, "DescribeStream", &json!({"StreamArn": stream}))?;
    let mut changes = Vec::new();
    for shard in description["StreamDescription"]["Shards"].as_array().unwrap() {
        let ask =
            json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let mut iterator = call(client, "GetShardIterator", &ask)?["ShardIterator"].take();
        loop {
            let mut page = call(client, "GetRecords", &json!({"ShardIterator": iterator}))?;
            match page["Records"].take() {
                Value::Array(records) if !records.is_empty() => changes.extend(records),
                _ => break,
            }
            iterator = page["NextShardIterator"].take();
        }
    }
    Ok(changes)
}

fn call(client: &mut Client, operation: &str, request: &Value) -> Result<Value, String> {
    let answer = client.call(operation, request).unwrap();
    match answer.status {
        200 => Ok(answer.body),
        500 => Err(answer.message().to_owned()),
        status => panic!("{operation} was answered with {status}: {}", answer.body),
    }
}
