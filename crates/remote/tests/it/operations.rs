//! Every operation, over TLS and signed: the result is the engine's.

use crate::own_server::{Own, ada, in_memory, table};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trestle_api::{
    CancellationCode, Database, DatabaseExt, DescribeStream, Error, ErrorKind, GetRecords, GetShardIterator,
    ListStreams, OperationName, Request, Response, ShardIteratorType,
};
use trestle_item::AttributeValue;
use trestle_remote::{Remote, Settings};

fn request(operation: &str, body: &Value) -> Request {
    Request::deserialize(operation.parse().unwrap(), body).unwrap()
}

/// Operations with the same answers from two databases, in an order in which each has an effect.
fn alike() -> Vec<(&'static str, Value)> {
    let key = |pk: &str, sk: &str| json!({"pk": {"S": pk}, "sk": {"S": sk}});
    let item =
        |pk: &str, sk: &str, n: u32| json!({"pk": {"S": pk}, "sk": {"S": sk}, "n": {"N": n.to_string()}});
    let values = json!({":pk": {"S": "a"}});
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/things";
    vec![
        (
            "PutItem",
            json!({"TableName": "things", "Item": item("a", "1", 1)}),
        ),
        (
            "PutItem",
            json!({"TableName": "things", "Item": item("a", "1", 2), "ReturnValues": "ALL_OLD"}),
        ),
        (
            "GetItem",
            json!({"TableName": "things", "Key": key("a", "1"), "ReturnConsumedCapacity": "TOTAL"}),
        ),
        (
            "UpdateItem",
            json!({"TableName": "things", "Key": key("a", "1"), "UpdateExpression": "ADD n :one",
                   "ExpressionAttributeValues": {":one": {"N": "1"}}, "ReturnValues": "ALL_NEW"}),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"things": [{"PutRequest": {"Item": item("a", "2", 2)}},
                                               {"PutRequest": {"Item": item("b", "1", 3)}}]}}),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"things": {"Keys": [key("a", "2")]}}}),
        ),
        (
            "Query",
            json!({"TableName": "things", "KeyConditionExpression": "pk = :pk",
                   "ExpressionAttributeValues": values, "Limit": 1}),
        ),
        ("Scan", json!({"TableName": "things"})),
        (
            "TransactWriteItems",
            json!({"TransactItems": [
                {"Put": {"TableName": "things", "Item": item("c", "1", 4)}},
                {"Delete": {"TableName": "things", "Key": key("b", "1")}}]}),
        ),
        (
            "TransactGetItems",
            json!({"TransactItems": [{"Get": {"TableName": "things", "Key": key("c", "1")}}]}),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT * FROM things WHERE pk = 'a'"}),
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": "SELECT * FROM things WHERE pk = 'a' AND sk = '1'"}]}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [
                {"Statement": "INSERT INTO things VALUE {'pk': 'd', 'sk': '1', 'raw': <<'x', 'y'>>}"}]}),
        ),
        (
            "DeleteItem",
            json!({"TableName": "things", "Key": key("a", "1"), "ReturnValues": "ALL_OLD"}),
        ),
        (
            "UpdateTimeToLive",
            json!({"TableName": "things",
                   "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": true}}),
        ),
        ("DescribeTimeToLive", json!({"TableName": "things"})),
        (
            "TagResource",
            json!({"ResourceArn": arn, "Tags": [{"Key": "team", "Value": "one"}]}),
        ),
        ("ListTagsOfResource", json!({"ResourceArn": arn})),
        ("UntagResource", json!({"ResourceArn": arn, "TagKeys": ["team"]})),
        ("DescribeLimits", json!({})),
        ("DescribeEndpoints", json!({})),
        ("DescribeContinuousBackups", json!({"TableName": "things"})),
        ("ListTables", json!({})),
    ]
}

async fn secured(folder: &std::path::Path) -> (Own, Remote) {
    let own = Own::secured(folder).await;
    let settings = Settings {
        credentials: ada().into(),
        region: Some("eu-west-2".into()),
        ca_file: Some(folder.join("cert.pem")),
        ..Settings::new(&own.endpoint)
    };
    let remote = Remote::new(settings).unwrap();
    (own, remote)
}

#[tokio::test]
async fn every_operation_says_over_the_network_what_the_engine_says() {
    let folder = tempfile::tempdir().unwrap();
    let (own, remote) = secured(folder.path()).await;
    let twin = in_memory();
    twin.create_table(table("things")).await.unwrap();
    let mut seen = BTreeSet::from(["CreateTable", "DescribeTable", "UpdateTable", "DeleteTable"]);

    let made = remote.create_table(table("things")).await.unwrap();
    let arn = made.table_description.latest_stream_arn.unwrap();
    for (operation, body) in alike() {
        let said = remote.execute(request(operation, &body)).await;
        assert_eq!(said, twin.execute(request(operation, &body)).await, "{operation}");
        assert!(said.is_ok(), "{operation}: {said:?}");
        seen.insert(operation);
    }

    // Results with times or names of their own are compared with the server's engine.
    seen.extend(["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"]);
    let same = async |operation: &str, body: Value| -> Response {
        let said = remote.execute(request(operation, &body)).await;
        assert_eq!(said, own.engine.execute(request(operation, &body)).await);
        said.unwrap()
    };
    same("DescribeTable", json!({"TableName": "things"})).await;
    same("ListStreams", json!({"TableName": "things"})).await;
    same("DescribeStream", json!({"StreamArn": arn})).await;
    assert_eq!(records(&remote, &arn).await, records(&own.engine, &arn).await);
    let update = json!({"TableName": "things", "DeletionProtectionEnabled": false});
    remote.execute(request("UpdateTable", &update)).await.unwrap();
    let delete = json!({"TableName": "things"});
    remote.execute(request("DeleteTable", &delete)).await.unwrap();

    let all: BTreeSet<&str> = OperationName::ALL.iter().map(|name| name.as_str()).collect();
    assert_eq!(seen, all);
}

/// The sequence numbers in a stream's first shard.
async fn records(database: &impl Database, arn: &str) -> Vec<String> {
    let listed = database.list_streams(ListStreams::default()).await.unwrap();
    assert_eq!(listed.streams.len(), 1);
    let stream = DescribeStream {
        stream_arn: arn.to_owned(),
        ..DescribeStream::default()
    };
    let described = database.describe_stream(stream).await.unwrap();
    let shard = described.stream_description.shards[0].shard_id.clone();
    let iterator = GetShardIterator {
        stream_arn: arn.to_owned(),
        shard_id: shard,
        shard_iterator_type: ShardIteratorType::TrimHorizon,
        sequence_number: None,
        timestamp: None,
    };
    let iterator = database.get_shard_iterator(iterator).await.unwrap();
    let read = GetRecords {
        shard_iterator: iterator.shard_iterator.unwrap(),
        limit: None,
    };
    let records = database.get_records(read).await.unwrap().records;
    assert!(!records.is_empty());
    records
        .into_iter()
        .map(|record| record.dynamodb.sequence_number)
        .collect()
}

async fn refused(remote: &Remote, operation: &str, body: Value) -> Error {
    remote.execute(request(operation, &body)).await.unwrap_err()
}

#[tokio::test]
async fn errors_arrive_with_their_kind_their_item_and_their_reasons() {
    let own = Own::start().await;
    let remote = own.remote();
    remote.create_table(table("things")).await.unwrap();
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "1"}, "n": {"N": "7"}});
    remote
        .execute(request("PutItem", &json!({"TableName": "things", "Item": item})))
        .await
        .unwrap();

    let missing = refused(&remote, "Scan", json!({"TableName": "nowhere"})).await;
    assert_eq!(missing.kind(), ErrorKind::ResourceNotFound);
    let wrong = refused(&remote, "PutItem", json!({"TableName": "things", "Item": {}})).await;
    assert_eq!(wrong.kind(), ErrorKind::Validation);

    let unmet = json!({"TableName": "things", "Item": item, "ConditionExpression": "attribute_not_exists(pk)",
                       "ReturnValuesOnConditionCheckFailure": "ALL_OLD"});
    let unmet_alone = refused(&remote, "PutItem", unmet.clone()).await;
    assert_eq!(unmet_alone.kind(), ErrorKind::ConditionalCheckFailed);
    let seven = AttributeValue::from(7_i64);
    assert_eq!(unmet_alone.item().and_then(|item| item.get("n")), Some(&seven));

    let fine = json!({"TableName": "things", "Item": {"pk": {"S": "b"}, "sk": {"S": "1"}}});
    let cancelled = refused(
        &remote,
        "TransactWriteItems",
        json!({"TransactItems": [{"Put": fine}, {"Put": unmet}]}),
    )
    .await;
    assert_eq!(cancelled.kind(), ErrorKind::TransactionCanceled);
    let codes: Vec<_> = cancelled.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(
        codes,
        [CancellationCode::None, CancellationCode::ConditionalCheckFailed]
    );
    let found = cancelled.reasons()[1].item.as_ref();
    assert_eq!(found.and_then(|item| item.get("n")), Some(&seven));
}
