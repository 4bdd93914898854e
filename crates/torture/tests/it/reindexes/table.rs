//! The table that is reindexed: rows in partitions of a few, rows of one partition that is much larger than all others, and rows
//! that cannot be touched.

use serde_json::{Value, json};
use trestle_torture::http::Client;
use trestle_torture::workload::succeed;

pub(super) const TABLE: &str = "things";
pub(super) const VERSION: &str = "reindexVersion";
/// Rows of an ordinary partition.
const PARTITION_ROWS: u64 = 4;
/// One in this many rows is in the large partition.
const LARGE_SHARE: u64 = 3;
/// The number of rows whose version attribute is a text, so that their version cannot be raised.
pub(super) const UNTOUCHABLE: u64 = 3;

/// A row, by its partition and sort key.
pub(super) type Key = (String, String);

/// The key of a row that exists from the beginning.
pub(super) fn key(number: u64) -> Key {
    let partition = match number % LARGE_SHARE {
        0 => "large".to_owned(),
        _ => format!("p{:06}", number / PARTITION_ROWS),
    };
    (partition, format!("{number:08}"))
}

pub(super) fn untouchable(number: u64) -> Key {
    (format!("untouchable-{number}"), "0".to_owned())
}

pub(super) fn key_json((pk, sk): &Key) -> Value {
    json!({"pk": {"S": pk}, "sk": {"S": sk}})
}

/// The key of a row or of a record.
pub(super) fn key_of(row: &Value) -> Key {
    let text = |name: &str| row[name]["S"].as_str().unwrap().to_owned();
    (text("pk"), text("sk"))
}

pub(super) fn row(key: &Key, n: u64) -> Value {
    let mut row = key_json(key);
    row["n"] = json!({"N": n.to_string()});
    row["text"] = json!({"S": "0123456789".repeat(10)});
    row
}

/// The value that clients wrote last into a row.
pub(super) fn n_of(row: &Value) -> u64 {
    row["n"]["N"].as_str().unwrap().parse().unwrap()
}

/// The version of a row; 0 if it has none.
pub(super) fn version_of(row: &Value) -> u64 {
    row[VERSION]["N"]
        .as_str()
        .map_or(0, |version| version.parse().unwrap())
}

/// Creates the table with its rows.
pub(super) fn create(client: &mut Client, rows: u64) {
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let table = json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "AttributeDefinitions": [text("pk"), text("sk")],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    succeed(client, "CreateTable", &table);
    let mut all: Vec<Value> = (0..rows).map(|number| row(&self::key(number), 0)).collect();
    all.extend((0..UNTOUCHABLE).map(|number| {
        let mut row = row(&untouchable(number), 0);
        row[VERSION] = json!({"S": "none"});
        row
    }));
    for some in all.chunks(25) {
        let puts: Vec<Value> = some
            .iter()
            .map(|row| json!({"PutRequest": {"Item": row}}))
            .collect();
        let answer = succeed(client, "BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
        assert_eq!(answer["UnprocessedItems"], json!({}));
    }
}
