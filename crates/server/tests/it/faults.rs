//! Injected faults, as clients see them.

use crate::client::Response;
use crate::test_server::TestServer;
use serde_json::Value;
use std::time::{Duration, Instant};

const TABLE: &str = r#"{"TableName":"orders","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

fn put(key: &str) -> String {
    format!(r#"{{"TableName":"orders","Item":{{"pk":{{"S":"{key}"}}}}}}"#)
}

fn json(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// How many rows there are.
fn rows(server: &TestServer) -> u64 {
    let scanned = server.call("Scan", r#"{"TableName":"orders","ConsistentRead":true}"#);
    json(&scanned)["Count"].as_u64().unwrap()
}

#[test]
fn a_refusal_is_dynamodbs_and_nothing_is_carried_out() {
    for (rule, status, name) in [
        (
            "throttle,operation=PutItem",
            400,
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        ),
        (
            "internal,operation=PutItem",
            500,
            "com.amazonaws.dynamodb.v20120810#InternalServerError",
        ),
        (
            "unavailable,operation=PutItem",
            503,
            "com.amazon.coral.availability#ServiceUnavailable",
        ),
    ] {
        let (server, faults) = TestServer::injecting(&[rule]);
        assert_eq!(server.call("CreateTable", TABLE).status, 200);
        let refused = server.call("PutItem", &put("a"));
        assert_eq!((refused.status, refused.error_type().as_str()), (status, name));
        assert_eq!(rows(&server), 0);
        faults.set(Vec::new());
        assert_eq!(server.call("PutItem", &put("a")).status, 200);
        assert_eq!(rows(&server), 1);
    }
    let (server, _) = TestServer::injecting(&["throttle,operation=CreateTable,times=1"]);
    let throttled = server.call("CreateTable", TABLE);
    assert_eq!(
        throttled.error_type(),
        "com.amazon.coral.availability#ThrottlingException"
    );
    assert_eq!(server.call("CreateTable", TABLE).status, 200);
}

#[test]
fn a_connection_is_cut_before_or_after_the_request_is_carried_out() {
    for (rule, written) in [
        ("cut-before,operation=PutItem", 0),
        ("cut-after,operation=PutItem", 1),
    ] {
        let (server, _) = TestServer::injecting(&[rule]);
        assert_eq!(server.call("CreateTable", TABLE).status, 200);
        assert!(server.connect().call_in_vain("PutItem", &put("a")), "{rule}");
        assert_eq!(rows(&server), written, "{rule}");
    }
}

#[test]
fn a_delayed_answer_comes_late_and_whole() {
    let (server, _) = TestServer::injecting(&["delay,ms=120,operation=PutItem"]);
    assert_eq!(server.call("CreateTable", TABLE).status, 200);
    let asked = Instant::now();
    assert_eq!(server.call("PutItem", &put("a")).status, 200);
    assert!(asked.elapsed() >= Duration::from_millis(120));
    assert_eq!(rows(&server), 1);
}

#[test]
fn a_throttled_batch_comes_back_in_part_and_is_done_when_the_rest_is_sent_again() {
    let (server, _) = TestServer::injecting(&["throttle,operation=BatchWriteItem,operation=BatchGetItem"]);
    assert_eq!(server.call("CreateTable", TABLE).status, 200);
    let keys: Vec<Value> = (0..5)
        .map(|key| serde_json::json!({"pk": {"S": key.to_string()}}))
        .collect();
    let writes: Vec<Value> = keys
        .iter()
        .map(|key| serde_json::json!({"PutRequest": {"Item": key}}))
        .collect();
    let batch = serde_json::json!({"RequestItems": {"orders": writes}}).to_string();
    let answer = json(&server.call("BatchWriteItem", &batch));
    let left = answer["UnprocessedItems"]["orders"].as_array().unwrap().clone();
    assert_eq!((left.len(), rows(&server)), (3, 2));
    assert!(left.iter().all(|write| writes.contains(write)));

    let batch = serde_json::json!({"RequestItems": {"orders": {"Keys": keys, "ConsistentRead": true}}});
    let answer = json(&server.call("BatchGetItem", &batch.to_string()));
    let asked_again = &answer["UnprocessedKeys"]["orders"];
    assert_eq!(asked_again["Keys"].as_array().unwrap().len(), 3);
    assert_eq!(asked_again["ConsistentRead"], true);
    assert_eq!(answer["Responses"]["orders"].as_array().unwrap().len(), 2);

    // A batch of one cannot be carried out in part.
    let one = serde_json::json!({"RequestItems": {"orders": [left[0]]}}).to_string();
    let refused = server.call("BatchWriteItem", &one);
    assert!(
        refused
            .error_type()
            .ends_with("#ProvisionedThroughputExceededException")
    );
}

#[test]
fn only_the_tables_of_a_rule_are_held_back() {
    let (server, _) = TestServer::injecting(&["throttle,table=orders"]);
    for table in [TABLE.to_owned(), TABLE.replace("orders", "other")] {
        // Operations on a throttled table are refused, too.
        let created = server.call("CreateTable", &table).status;
        assert_eq!(created, if table == TABLE { 400 } else { 200 });
    }
    let other = put("a").replace("orders", "other");
    assert_eq!(server.call("PutItem", &other).status, 200);
    assert_eq!(server.call("PutItem", &put("a")).status, 400);
}

#[test]
fn a_share_with_a_seed_hits_the_same_requests_in_each_run() {
    let run = || {
        let (server, faults) = TestServer::injecting(&["internal,operation=ListTables,share=0.3,seed=5"]);
        let mut client = server.connect();
        let statuses: Vec<u16> = (0..200)
            .map(|_| client.call("ListTables", b"{}").status)
            .collect();
        let hits = statuses.iter().filter(|status| **status == 500).count() as u64;
        assert_eq!((faults.list()[0].matched, faults.list()[0].injected), (200, hits));
        let page = client.get("/metrics");
        let line = format!("trestle_injected_faults_total{{fault=\"internal\"}} {hits}\n");
        assert!(page.text().contains(&line), "{}", page.text());
        statuses
    };
    let first = run();
    let hits = first.iter().filter(|status| **status == 500).count();
    assert!((30..90).contains(&hits), "{hits}");
    assert_eq!(first, run());
}

#[test]
fn a_server_without_faults_says_nothing_of_them() {
    let server = TestServer::start();
    assert!(!server.connect().get("/metrics").text().contains("injected"));
}
