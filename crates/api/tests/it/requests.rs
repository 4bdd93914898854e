//! Request bodies as clients send them.

use serde_json::{Value, json};
use trestle_api::*;
use trestle_item::{Map, Number};

fn read(name: &str, body: &Value) -> Request {
    let text = body.to_string();
    let mut json = serde_json::Deserializer::from_str(&text);
    let name = name.parse().expect("the operation exists");
    Request::deserialize(name, &mut json).expect("the body is well formed")
}

/// Reads a body, writes it, and expects the same body.
fn round_trip(name: &str, body: Value) -> Request {
    let request = read(name, &body);
    assert_eq!(request.operation().as_str(), name);
    assert_eq!(serde_json::to_value(&request).unwrap(), body);
    request
}

#[test]
fn put_item_keeps_every_parameter() {
    let request = round_trip(
        "PutItem",
        json!({
            "TableName": "Thread",
            "Item": {"pk": {"S": "a"}, "n": {"N": "1.5"}, "tags": {"SS": ["x", "y"]}},
            "ConditionExpression": "#f <> :f",
            "ExpressionAttributeNames": {"#f": "ForumName"},
            "ExpressionAttributeValues": {":f": {"S": "Amazon DynamoDB"}},
            "ReturnValues": "ALL_OLD",
            "ReturnConsumedCapacity": "INDEXES",
            "ReturnItemCollectionMetrics": "SIZE",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
        }),
    );
    let Request::PutItem(put) = request else {
        panic!("another operation")
    };
    assert_eq!(put.table_name, "Thread");
    assert_eq!(
        put.item.get("n").and_then(|n| n.as_n()),
        Some(&"1.5".parse::<Number>().unwrap())
    );
    assert_eq!(put.return_values, Some(ReturnValue::AllOld));
    assert_eq!(
        put.return_consumed_capacity,
        Some(ReturnConsumedCapacity::Indexes)
    );
    assert_eq!(put.expected, None);
}

#[test]
fn legacy_parameters_are_read_beside_the_new_ones() {
    let request = round_trip(
        "UpdateItem",
        json!({
            "TableName": "t",
            "Key": {"pk": {"S": "a"}},
            "AttributeUpdates": {"n": {"Action": "ADD", "Value": {"N": "1"}}, "gone": {"Action": "DELETE"}},
            "Expected": {
                "a": {"Exists": false},
                "b": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "1"}, {"N": "2"}]}
            },
            "ConditionalOperator": "OR"
        }),
    );
    let Request::UpdateItem(update) = request else {
        panic!("another operation")
    };
    assert_eq!(update.conditional_operator, Some(ConditionalOperator::Or));
    assert_eq!(
        update.expected.unwrap()["b"].comparison_operator,
        Some(ComparisonOperator::Between)
    );
}

#[test]
fn a_query_in_both_dialects_round_trips() {
    round_trip(
        "Query",
        json!({
            "TableName": "t",
            "IndexName": "i",
            "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
            "FilterExpression": "x > :x",
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"S": "b"}, ":x": {"N": "0"}},
            "Limit": 10,
            "ScanIndexForward": false,
            "ConsistentRead": true,
            "Select": "COUNT",
            "ExclusiveStartKey": {"pk": {"S": "a"}, "sk": {"S": "b"}}
        }),
    );
    round_trip(
        "Query",
        json!({
            "TableName": "t",
            "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
            "QueryFilter": {"x": {"ComparisonOperator": "NOT_NULL"}},
            "AttributesToGet": ["x"]
        }),
    );
}

#[test]
fn create_table_with_everything_round_trips() {
    let request = round_trip(
        "CreateTable",
        json!({
            "TableName": "t",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}
            ],
            "LocalSecondaryIndexes": [{
                "IndexName": "l",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]}
            }],
            "GlobalSecondaryIndexes": [{
                "IndexName": "g",
                "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
                "OnDemandThroughput": {"MaxReadRequestUnits": -1},
                "WarmThroughput": {"ReadUnitsPerSecond": 12000}
            }],
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            "SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "alias/k"},
            "Tags": [{"Key": "k", "Value": ""}],
            "TableClass": "STANDARD_INFREQUENT_ACCESS",
            "DeletionProtectionEnabled": true,
            "ResourcePolicy": "{}"
        }),
    );
    let Request::CreateTable(create) = request else {
        panic!("another operation")
    };
    assert_eq!(
        create.sse_specification.unwrap().kms_master_key_id.as_deref(),
        Some("alias/k")
    );
    assert_eq!(create.vector_indexes, None);
}

#[test]
fn a_member_trestle_does_not_support_is_noticed_whatever_it_holds() {
    let body = json!({"TableName": "t", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    let Request::UpdateTable(update) = read("UpdateTable", &body) else {
        panic!("another operation")
    };
    assert_eq!(update.replica_updates, Some(Unsupported));
    assert_eq!(update.vector_index_updates, None);
}

#[test]
fn a_transaction_of_all_four_kinds_round_trips() {
    let request = round_trip(
        "TransactWriteItems",
        json!({
            "ClientRequestToken": "token",
            "TransactItems": [
                {"ConditionCheck": {"TableName": "t", "Key": {"pk": {"S": "a"}}, "ConditionExpression": "x = y"}},
                {"Put": {"TableName": "t", "Item": {"pk": {"S": "b"}}}},
                {"Delete": {"TableName": "t", "Key": {"pk": {"S": "c"}}}},
                {"Update": {"TableName": "t", "Key": {"pk": {"S": "d"}}, "UpdateExpression": "REMOVE x"}}
            ]
        }),
    );
    let Request::TransactWriteItems(transaction) = request else {
        panic!("another operation")
    };
    assert_eq!(transaction.transact_items.len(), 4);
    assert_eq!(
        transaction.transact_items[3]
            .update
            .as_ref()
            .unwrap()
            .update_expression,
        "REMOVE x"
    );
}

#[test]
fn batches_are_keyed_by_table() {
    round_trip(
        "BatchWriteItem",
        json!({"RequestItems": {"t": [
            {"PutRequest": {"Item": {"pk": {"B": "AAE="}}}}, {"DeleteRequest": {"Key": {"pk": {"B": "AA=="}}}}
        ]}}),
    );
    round_trip(
        "BatchGetItem",
        json!({"RequestItems": {"t": {
            "Keys": [{"pk": {"S": "a"}}], "ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": "x"},
            "ConsistentRead": true
        }}}),
    );
}

#[test]
fn a_shard_iterator_at_a_time_takes_whole_and_broken_seconds() {
    for seconds in [json!(1_700_000_000), json!(1_700_000_000.5)] {
        let body = json!({
            "StreamArn": "arn", "ShardId": "s", "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": seconds
        });
        round_trip("GetShardIterator", body);
    }
}

#[test]
fn nulls_are_absent_and_unknown_members_are_ignored() {
    let body = json!({"TableName": "t", "Key": {}, "ConsistentRead": null, "Wish": [1, {"deep": true}]});
    let expected = GetItem {
        table_name: "t".into(),
        key: Map::new(),
        ..GetItem::default()
    };
    assert_eq!(read("GetItem", &body), Request::GetItem(expected));
}

#[test]
fn a_wrong_type_or_word_or_a_missing_member_is_refused() {
    let wrong = [
        ("GetItem", json!({"Key": {}})),
        ("GetItem", json!({"TableName": 1, "Key": {}})),
        (
            "GetItem",
            json!({"TableName": "t", "Key": {}, "ConsistentRead": "true"}),
        ),
        (
            "GetItem",
            json!({"TableName": "t", "Key": {}, "ReturnConsumedCapacity": "total"}),
        ),
        (
            "GetItem",
            json!({"TableName": "t", "Key": {}, "ReturnConsumedCapacity": {"TOTAL": null}}),
        ),
        ("Query", json!({"TableName": "t", "Limit": -1})),
        ("BatchGetItem", json!({"RequestItems": []})),
    ];
    for (name, body) in wrong {
        let text = body.to_string();
        let mut json = serde_json::Deserializer::from_str(&text);
        assert!(
            Request::deserialize(name.parse().unwrap(), &mut json).is_err(),
            "{name} {text}"
        );
    }
}

#[test]
fn a_name_is_parsed_into_its_operation_and_no_other_is() {
    for operation in OperationName::ALL {
        assert_eq!(operation.as_str().parse(), Ok(*operation));
        assert_eq!(operation.to_string(), operation.as_str());
    }
    for (name, is_named) in [("CreateBackup", true), ("putItem", false), ("", false)] {
        let error = name.parse::<OperationName>().unwrap_err();
        assert_eq!(error.kind().as_str(), "UnknownOperationException");
        assert_eq!(error.message().contains("CreateBackup"), is_named, "{name}");
    }
}

#[test]
fn any_request_and_any_answer_are_cheap_to_move() {
    // They are passed by value through queues on every call; put a rare large member into a box.
    assert!(size_of::<Request>() <= 384, "{}", size_of::<Request>());
    assert!(size_of::<Response>() <= 384, "{}", size_of::<Response>());
}
