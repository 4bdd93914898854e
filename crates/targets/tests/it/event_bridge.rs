//! EventBridge by endpoint, with an endpoint that records its requests.

use crate::batches::{NOW_S, batch, open};
use crate::server::{Received, Reply, Server, reply};
use crate::signed::assert_signed;
use serde_json::{Value, json};
use trestle_events::Outcome;

/// Answers each event with the test's result.
fn put(received: &Received, result: impl Fn(&str) -> Value) -> Reply {
    let entries = received.json()["Entries"].as_array().unwrap().clone();
    let results: Vec<Value> = entries
        .iter()
        .map(|entry| result(entry["Detail"].as_str().unwrap()))
        .collect();
    let failed = results
        .iter()
        .filter(|result| result["ErrorCode"].is_string())
        .count();
    reply(
        200,
        json!({"FailedEntryCount": failed, "Entries": results}).to_string(),
    )
}

#[tokio::test]
async fn events_are_put_ten_at_a_time_and_signed() {
    let server = Server::start(|received| put(received, |_| json!({"EventId": "e"}))).await;
    let target = open(json!({"event_bridge": {
        "endpoint": server.url(""), "bus": "main", "source": "shop", "region": "eu-north-1",
    }}));
    assert_eq!(target.deliver(&batch(11)).await, Outcome::Done);
    let calls = server.received();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].header("x-amz-target"), Some("AWSEvents.PutEvents"));
    assert_eq!(
        calls[0].header("content-type"),
        Some("application/x-amz-json-1.1")
    );
    assert_eq!(
        calls[1].json(),
        json!({"Entries": [{
            "EventBusName": "main",
            "Source": "shop",
            "DetailType": "layer expire",
            "Detail": r#"{"key":"item 10","number":10}"#,
            "Time": NOW_S,
            "Resources": ["r/10"],
        }]})
    );
    assert_signed(&calls[0], "events", "eu-north-1");
}

#[tokio::test]
async fn events_that_were_not_taken_are_named() {
    let result = |detail: &str| {
        if detail.contains("item 1\"") {
            json!({"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."})
        } else {
            json!({"EventId": "e"})
        }
    };
    let server = Server::start(move |received| put(received, result)).await;
    let target =
        open(json!({"event_bridge": {"endpoint": server.url("/"), "source": "shop", "detail_type": "d"}}));
    let reason = "MalformedDetail Detail is malformed.".to_owned();
    assert_eq!(
        target.deliver(&batch(3)).await,
        Outcome::Partly(vec![("r/1".to_owned(), reason)])
    );
    assert_eq!(
        server.received()[0].json()["Entries"][0]["DetailType"],
        json!("d")
    );
    assert_eq!(
        server.received()[0].json()["Entries"][0]["EventBusName"],
        json!("default")
    );
}

#[tokio::test]
async fn a_bus_that_is_throttled_is_unavailable() {
    let throttled = |_: &str| json!({"ErrorCode": "ThrottlingException", "ErrorMessage": "slower"});
    let server = Server::start(move |received| put(received, throttled)).await;
    let target = open(json!({"event_bridge": {"endpoint": server.url("/"), "source": "shop"}}));
    let outcome = target.deliver(&batch(3)).await;
    assert_eq!(
        outcome,
        Outcome::Unavailable("ThrottlingException slower".to_owned())
    );
}
