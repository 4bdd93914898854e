//! Moving the clock.

use crate::test_server::TestServer;
use std::time::{Duration, Instant};

const CLOCK: &str = "/_trestle/clock";

#[test]
fn a_server_on_real_time_has_no_clock_to_move() {
    let server = TestServer::start();
    for method in ["GET", "POST"] {
        let answer = server
            .connect()
            .send(method, CLOCK, &[], br#"{"advance_seconds": 1}"#);
        assert_eq!(answer.status, 404);
        assert!(answer.text().contains("--virtual-clock"));
    }
}

#[test]
fn a_virtual_clock_is_read_advanced_and_set() {
    let server = TestServer::at(1_000, |_| {});
    let mut client = server.connect();
    assert_eq!(client.get(CLOCK).text(), r#"{"now":1000.0}"#);
    let mut post = |body: &str| client.send("POST", CLOCK, &[], body.as_bytes());
    assert_eq!(post(r#"{"advance_seconds": 0.5}"#).text(), r#"{"now":1000.5}"#);
    assert_eq!(post(r#"{"set": 5000}"#).text(), r#"{"now":5000.0}"#);
    let refused = post(r#"{"advance_seconds": -1}"#);
    assert_eq!(refused.status, 400);
    let refused = post("{}");
    assert!(
        refused.text().starts_with(r#"Send {"advance_seconds": 3600}"#),
        "{}",
        refused.text()
    );
    assert_eq!(client.get(CLOCK).text(), r#"{"now":5000.0}"#);
}

#[test]
fn items_expire_when_the_clock_passes_them() {
    let server = TestServer::at(1_800_000_000, |_| {});
    server.call(
        "CreateTable",
        r#"{"TableName":"sessions","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#,
    );
    let enabled = server.call(
        "UpdateTimeToLive",
        r#"{"TableName":"sessions","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#,
    );
    assert_eq!(enabled.status, 200, "{}", enabled.text());
    server.call(
        "PutItem",
        r#"{"TableName":"sessions","Item":{"pk":{"S":"a"},"until":{"N":"1800000100"}}}"#,
    );
    let is_there = || {
        let answer = server.call("GetItem", r#"{"TableName":"sessions","Key":{"pk":{"S":"a"}}}"#);
        answer.text().contains("Item")
    };
    assert!(is_there());
    server
        .connect()
        .send("POST", CLOCK, &[], br#"{"advance_seconds": 200}"#);
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_there() {
        assert!(Instant::now() < deadline, "the item is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_around_which_nobody_keeps_models_says_so() {
    let server = TestServer::start();
    for method in ["GET", "POST", "DELETE"] {
        let answer = server.connect().send(method, "/_trestle/models", &[], b"");
        assert_eq!(answer.status, 404);
        assert!(answer.text().contains("keeps no models"), "{}", answer.text());
    }
}
