//! No bytes make the reader panic, and everything that it reads it can write and read again.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use trestle_api::OperationName;
use trestle_wire::{decode, decode_error, decode_response, encode_error, encode_request};

/// Reads a body; a request must be equal after it is written and read again.
fn read(operation: OperationName, body: &[u8]) {
    match decode(operation, body) {
        Ok(request) => assert_eq!(decode(operation, &encode_request(&request)).unwrap(), request),
        Err(error) => {
            let (status, answer) = encode_error(&error);
            assert_eq!(status, 400);
            assert_eq!(decode_error(status, &answer), error);
        }
    }
}

fn operation() -> impl Strategy<Value = OperationName> {
    prop::sample::select(OperationName::ALL)
}

/// Valid requests to be spoiled, of every shape.
fn seeds() -> Vec<(&'static str, Value)> {
    let value =
        json!({"M": {"l": {"L": [{"S": "a"}, {"N": "1"}, {"B": "AA=="}, {"NULL": true}, {"SS": ["x"]}]}}});
    vec![
        (
            "PutItem",
            json!({"TableName": "abc", "Item": {"pk": value}, "ReturnValues": "NONE",
            "Expected": {"a": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}}),
        ),
        (
            "Query",
            json!({"TableName": "abc", "IndexName": "idx", "Limit": 1, "Select": "COUNT",
            "KeyConditionExpression": "#a = :a", "ExpressionAttributeNames": {"#a": "a"},
            "ExpressionAttributeValues": {":a": value}, "ScanIndexForward": false}),
        ),
        (
            "Scan",
            json!({"TableName": "abc", "Segment": 0, "TotalSegments": 1, "AttributesToGet": ["a"]}),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"abc": {"Keys": [{"pk": {"S": "a"}}]}}}),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"abc": [{"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]}}),
        ),
        (
            "TransactWriteItems",
            json!({"ClientRequestToken": "t", "TransactItems": [
            {"Put": {"TableName": "abc", "Item": {"pk": {"S": "a"}}}},
            {"ConditionCheck": {"TableName": "abc", "Key": {"pk": {"S": "a"}}, "ConditionExpression": "a"}}]}),
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "abc", "Key": {"pk": {"S": "a"}}}}]}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": "x", "Parameters": [{"S": "a"}]}]}),
        ),
        (
            "CreateTable",
            json!({"TableName": "abc", "BillingMode": "PROVISIONED",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "GlobalSecondaryIndexes": [{"IndexName": "idx", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"]}}],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
            "Tags": [{"Key": "k", "Value": "v"}]}),
        ),
        (
            "UpdateTable",
            json!({"TableName": "abc", "GlobalSecondaryIndexUpdates": [
            {"Create": {"IndexName": "idx", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}}, {"Delete": {"IndexName": "old"}}]}),
        ),
        (
            "UpdateTimeToLive",
            json!({"TableName": "abc", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "a"}}),
        ),
        (
            "GetShardIterator",
            json!({"StreamArn": "x".repeat(40), "ShardId": "x".repeat(30),
            "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1.5}),
        ),
    ]
}

/// A value that does not belong where it is put.
fn intruder() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            json!({}),
            json!([]),
            json!([null]),
            json!({"": null}),
            json!({"S": "a"}),
            json!(0)
        ]),
    ]
}

/// Puts `intruder` at the place numbered `countdown`, counted through the tree from its root.
fn spoil(tree: &mut Value, countdown: &mut Option<usize>, intruder: &Value) {
    *countdown = match *countdown {
        Some(0) => {
            *tree = intruder.clone();
            None
        }
        Some(left) => Some(left - 1),
        None => return,
    };
    match tree {
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|each| spoil(each, countdown, intruder)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|each| spoil(each, countdown, intruder)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(operation in operation(), body in prop::collection::vec(any::<u8>(), 0..200)) {
        read(operation, &body);
        let _ = decode_response(operation, &body);
        let _ = decode_error(400, &body);
    }

    #[test]
    fn spoiled_bytes_are_read_or_refused(
        seed in prop::sample::select(seeds()),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut body = serde_json::to_vec(&seed.1).unwrap();
        let at = at.index(body.len());
        body[at] = byte;
        read(seed.0.parse().unwrap(), &body);
    }

    #[test]
    fn spoiled_values_are_read_or_refused(
        seed in prop::sample::select(seeds()),
        at in 0..30_usize,
        intruder in intruder(),
    ) {
        let (operation, mut tree) = seed;
        spoil(&mut tree, &mut Some(at), &intruder);
        read(operation.parse().unwrap(), &serde_json::to_vec(&tree).unwrap());
    }
}

#[test]
fn the_seeds_are_good_requests() {
    for (operation, body) in seeds() {
        decode(operation.parse().unwrap(), body.to_string().as_bytes())
            .unwrap_or_else(|error| panic!("{operation}: {error}"));
    }
}
