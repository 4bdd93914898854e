//! The administration: who may call it, and its answers.

use crate::client::Response;
use crate::test_server::TestServer;
use std::time::{Duration, Instant};

const CLOCK: &str = "/_trestle/move-clock";
const ADVANCE: &[u8] = br#"{"advance_seconds": 1}"#;

fn code(answer: &Response) -> String {
    let error: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    error["code"].as_str().unwrap().to_owned()
}

fn now(server: &TestServer) -> String {
    server.connect().administer("read-clock", "").text().to_owned()
}

#[test]
fn a_server_on_real_time_has_no_clock_to_move() {
    let server = TestServer::start();
    for (call, body) in [("read-clock", ""), ("move-clock", r#"{"advance_seconds": 1}"#)] {
        let answer = server.connect().administer(call, body);
        assert_eq!((answer.status, code(&answer).as_str()), (404, "not-found"));
        assert!(answer.text().contains("--virtual-clock"));
    }
}

#[test]
fn a_virtual_clock_is_read_advanced_and_set() {
    let server = TestServer::at(1_000, |_| {});
    let mut client = server.connect();
    assert_eq!(client.administer("read-clock", "{}").text(), r#"{"now":1000.0}"#);
    let mut post = |body: &str| client.administer("move-clock", body);
    assert_eq!(post(r#"{"advance_seconds": 0.5}"#).text(), r#"{"now":1000.5}"#);
    assert_eq!(post(r#"{"set": 5000}"#).text(), r#"{"now":5000.0}"#);
    for body in [r#"{"advance_seconds": -1}"#, "{}", "[", r#"{"advance": 1}"#] {
        let refused = post(body);
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (400, "invalid"),
            "{body}"
        );
    }
    assert_eq!(now(&server), r#"{"now":5000.0}"#);
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
        .administer("move-clock", r#"{"advance_seconds": 200}"#);
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_there() {
        assert!(Instant::now() < deadline, "the item is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_call_that_is_none_is_named_with_those_that_are() {
    let answer = TestServer::start().connect().administer("apply-models", "");
    assert_eq!((answer.status, code(&answer).as_str()), (404, "not-found"));
    assert!(answer.text().contains("apply-model,"), "{}", answer.text());
}

#[test]
fn a_request_that_a_web_page_could_send_moves_nothing() {
    let server = TestServer::at(1_000, |_| {});
    let admin = ("X-Trestle-Admin", "1");
    let own = format!("http://localhost:{}", server.address.port());
    let host = format!("localhost:{}", server.address.port());
    let host = ("Host", host.as_str());
    for headers in [
        // A request that a page can send without a preflight.
        vec![("Content-Type", "text/plain")],
        vec![("Content-Type", "text/plain"), ("Origin", "https://evil.example")],
        // A request that it could send after a preflight was granted.
        vec![admin, ("Origin", "https://evil.example")],
        vec![admin, ("Origin", "http://localhost:3000")],
        vec![admin, ("Origin", "null")],
        vec![admin, ("Sec-Fetch-Site", "cross-site")],
        vec![admin, ("Sec-Fetch-Site", "same-site")],
        // A page whose own name points to this machine.
        vec![
            admin,
            ("Host", "evil.example:8000"),
            ("Origin", "http://evil.example:8000"),
        ],
    ] {
        let answer = server.connect().send("POST", CLOCK, &headers, ADVANCE);
        assert!(
            (400..404).contains(&answer.status),
            "{headers:?}: {}",
            answer.text()
        );
        assert_eq!(answer.header("access-control-allow-origin"), "", "{headers:?}");
    }
    let answer = server.connect().send("GET", CLOCK, &[admin], b"");
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(now(&server), r#"{"now":1000.0}"#);
    // A page of the server itself may.
    let headers = [
        host,
        admin,
        ("Origin", own.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    let answer = server.connect().send("POST", CLOCK, &headers, ADVANCE);
    assert_eq!(answer.text(), r#"{"now":1001.0}"#);
}

#[test]
fn a_preflight_question_about_the_administration_is_granted_to_no_origin() {
    let server = TestServer::with(|settings| settings.cors = trestle_server::CorsOrigins::Any);
    for origin in ["https://evil.example", "http://localhost:3000"] {
        let asked = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "x-trestle-admin"),
        ];
        let answer = server.connect().send("OPTIONS", CLOCK, &asked, b"");
        assert_eq!(answer.header("access-control-allow-origin"), "");
        assert_eq!(answer.header("access-control-allow-headers"), "");
    }
}
