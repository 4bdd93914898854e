//! An archive is a file from elsewhere: whatever its rows are, a database on them opens, answers and is
//! verified, or reports what is wrong. Nothing aborts the process.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};
use trestle_api::OperationName;
use trestle_engine::{Disagreement, Engine, Options, verify};
use trestle_env::SystemClock;
use trestle_fuzz::{Edits, damage};
use trestle_store::{Batch, Direction, MemoryStore, Space, Store};

const MADE: [(OperationName, &str); 5] = [
    (
        OperationName::CreateTable,
        r#"{"TableName": "things", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by-sk", "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}],
                                        "Projection": {"ProjectionType": "ALL"}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}"#,
    ),
    (
        OperationName::UpdateTimeToLive,
        r#"{"TableName": "things", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "until"}}"#,
    ),
    (
        OperationName::PutItem,
        r#"{"TableName": "things", "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}, "until": {"N": "4000000000"}, "m": {"M": {"l": {"L": []}}}}}"#,
    ),
    (OperationName::PutItem, r#"{"TableName": "things", "Item": {"pk": {"S": "b"}, "sk": {"N": "2"}, "b": {"SS": ["x", "y"]}}}"#),
    (
        OperationName::UpdateItem,
        r#"{"TableName": "things", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}, "UpdateExpression": "SET z = :z",
            "ExpressionAttributeValues": {":z": {"S": "z"}}}"#,
    ),
];

const ASKED: [(OperationName, &str); 8] = [
    (OperationName::ListTables, "{}"),
    (OperationName::DescribeTable, r#"{"TableName": "things"}"#),
    (OperationName::Scan, r#"{"TableName": "things"}"#),
    (OperationName::Scan, r#"{"TableName": "things", "IndexName": "by-sk"}"#),
    (
        OperationName::Query,
        r#"{"TableName": "things", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}"#,
    ),
    (OperationName::ListStreams, "{}"),
    (OperationName::PutItem, r#"{"TableName": "things", "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}}}"#),
    (OperationName::DeleteItem, r#"{"TableName": "things", "Key": {"pk": {"S": "b"}, "sk": {"N": "2"}}}"#),
];

/// Keys and values of a small database, one after the other, and their spaces.
static ROWS: LazyLock<(Vec<Space>, Vec<Vec<u8>>)> = LazyLock::new(|| {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let engine = load(&store).expect("an empty store opens");
    for (operation, body) in MADE {
        ask(&engine, operation, body).expect("the small database is made");
    }
    drop(engine);
    let snapshot = store.snapshot();
    let rows = Space::ALL.into_iter().flat_map(|space| {
        let rows = snapshot.range(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        rows.map(move |row| (space, row.expect("memory is read")))
    });
    let (spaces, pairs): (Vec<_>, Vec<_>) = rows.unzip();
    (spaces, pairs.into_iter().flat_map(|(key, value)| [key.to_vec(), value.to_vec()]).collect())
});

fuzz_target!(|edits: Edits<'_>| {
    let (spaces, mut bytes) = ROWS.clone();
    damage(&mut bytes, &edits);
    let mut batch = Batch::new();
    for (space, row) in spaces.into_iter().zip(bytes.chunks(2)) {
        if let [key, value] = row
            && !key.is_empty()
        {
            batch.put(space, key.clone(), value.clone());
        }
    }
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    store.commit(batch).expect("memory takes rows");
    let mut found: Vec<Disagreement> = Vec::new();
    let _ = verify(&*store.snapshot(), &mut found);
    let Some(engine) = load(&store) else { return };
    for (operation, body) in ASKED {
        let _ = ask(&engine, operation, body);
    }
});

fn load(store: &Arc<dyn Store>) -> Option<Engine> {
    Engine::load(Arc::clone(store), Arc::new(SystemClock::new()), Options::default()).ok()
}

fn ask(engine: &Engine, operation: OperationName, body: &str) -> Option<Vec<u8>> {
    let request = trestle_wire::decode(operation, body.as_bytes()).expect("the request is one");
    let response = engine.start(request).wait().ok()?;
    Some(trestle_wire::encode(response).to_vec())
}
