//! Unusual requests that DynamoDB accepts and Trestle must accept, too.

use trestle_api::{DescribeTable, GetItem, Query, Request, UpdateTable};
use trestle_wire::decode;

fn read(operation: &str, body: &str) -> Request {
    decode(operation.parse().unwrap(), body.as_bytes())
        .unwrap_or_else(|error| panic!("{operation} {body}: {error}"))
}

#[test]
fn nulls_are_absent_and_unknown_members_are_ignored() {
    let plain = read("GetItem", r#"{"TableName":"abc","Key":{"a":{"S":"b"}}}"#);
    let noisy =
        r#"{"TableName":"abc","Key":{"a":{"S":"b","N":null,"X":1}},"ConsistentRead":null,"New":{"a":[]}}"#;
    assert_eq!(read("GetItem", noisy), plain);
}

#[test]
fn truth_may_be_text_and_whole_numbers_may_have_fractions() {
    let body = r#"{"TableName":"abc","ScanIndexForward":"FALSE","ConsistentRead":"yes","Limit":1.9}"#;
    let expected = Query {
        table_name: "abc".to_owned(),
        scan_index_forward: Some(false),
        consistent_read: Some(true),
        limit: Some(1),
        ..Query::default()
    };
    assert_eq!(read("Query", body), expected.into());
}

#[test]
fn a_limit_beyond_counting_is_as_good_as_none() {
    let Request::Query(query) = read("Query", r#"{"TableName":"abc","Limit":99999999999}"#) else {
        panic!()
    };
    assert_eq!(query.limit, Some(2_147_483_647));
}

#[test]
fn the_last_of_repeated_members_counts() {
    let Request::DescribeTable(DescribeTable { table_name }) =
        read("DescribeTable", r#"{"TableName":"abc","TableName":"def"}"#)
    else {
        panic!()
    };
    assert_eq!(table_name, "def");
}

#[test]
fn a_table_named_by_arn_has_its_name() {
    let body = r#"{"TableName":"arn:aws:dynamodb:us-east-1:123456789012:table/abc","Key":{"a":{"S":"b"}}}"#;
    let Request::GetItem(GetItem { table_name, .. }) = read("GetItem", body) else {
        panic!()
    };
    assert_eq!(table_name, "abc");
}

#[test]
fn features_trestle_lacks_reach_the_engine_to_be_refused() {
    let Request::UpdateTable(UpdateTable { replica_updates, .. }) = read(
        "UpdateTable",
        r#"{"TableName":"abc","ReplicaUpdates":[{"Create":{"RegionName":"x"}}]}"#,
    ) else {
        panic!()
    };
    assert!(replica_updates.is_some());
}

#[test]
fn nesting_up_to_the_limit_is_read() {
    let value = format!("{}{{\"S\":\"a\"}}{}", "{\"L\":[".repeat(31), "]}".repeat(31));
    read(
        "PutItem",
        &format!(r#"{{"TableName":"abc","Item":{{"a":{value}}}}}"#),
    );
}
