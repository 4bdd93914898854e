//! What a request needs before work is done for it: an accepted head, and memory.

use crate::client::Client;
use crate::test_server::TestServer;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;
use trestle_server::{AccessKey, KeyGrant, Settings};

const MIB: usize = 1 << 20;
const SIGNED_AT_S: u64 = 1_794_729_600;

fn head(operation: &str, length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\n"
    )
}

/// The error for a head. Nothing of the body is sent.
fn refusal_of_head(server: &TestServer, head: &str) -> String {
    let mut client = server.connect();
    client.write(format!("{head}\r\n"));
    let answer = client.read();
    assert_eq!(answer.status, 400, "{}", answer.text());
    let name = answer.error_type();
    name.rsplit('#').next().unwrap_or_default().to_owned()
}

fn guarded() -> TestServer {
    TestServer::at(SIGNED_AT_S, |settings| {
        settings.access_keys = vec![KeyGrant::everything(AccessKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        })];
    })
}

fn signed(key: &str, day: &str, service: &str) -> String {
    head("PutItem", 16 * MIB)
        + &format!(
            "X-Amz-Date: {day}T080000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={key}/{day}/eu-west-2/{service}/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={}\r\n",
            "0".repeat(64)
        )
}

#[test]
fn who_cannot_have_signed_is_refused_before_the_body_is_sent() {
    let server = guarded();
    for (head, refusal) in [
        (head("PutItem", 16 * MIB), "MissingAuthenticationTokenException"),
        (
            signed("AKIDSTRANGER", "20261115", "dynamodb"),
            "UnrecognizedClientException",
        ),
        (
            signed("AKIDEXAMPLE", "20261114", "dynamodb"),
            "InvalidSignatureException",
        ),
        (
            signed("AKIDEXAMPLE", "20261115", "s3"),
            "InvalidSignatureException",
        ),
    ] {
        assert_eq!(refusal_of_head(&server, &head), refusal);
    }
}

#[test]
fn what_names_no_operation_is_refused_before_the_body_is_sent() {
    let server = TestServer::start();
    let unknown = head("NoSuchOperation", 16 * MIB);
    assert_eq!(refusal_of_head(&server, &unknown), "UnknownOperationException");
    let of_queues = unknown.replace("DynamoDB_20120810", "AmazonSQS");
    assert_eq!(refusal_of_head(&server, &of_queues), "UnknownOperationException");
    let mut client = server.connect();
    client.write(head("PutItem", 16 * MIB).replace("application/x-amz-json-1.0", "text/plain") + "\r\n");
    assert_eq!(client.read().status, 404);
}

#[test]
fn a_connection_goes_on_after_a_head_was_refused() {
    let server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.call("NoSuchOperation", &vec![b' '; 200_000]).status, 400);
    assert_eq!(client.call("ListTables", b"{}").status, 200);
}

/// A server with 512 KiB of memory for what clients hold.
fn small_server(change: impl FnOnce(&mut Settings)) -> TestServer {
    TestServer::with(|settings| {
        settings.limits.memory_bytes_max = MIB;
        settings.limits.admission = Duration::from_millis(200);
        change(settings);
    })
}

/// A client that sends so many bytes of a larger body, and then stops.
fn stalled(server: &TestServer, bytes: usize) -> Client {
    let mut client = server.connect();
    client.write(head("PutItem", 2 * bytes) + "\r\n");
    client.write(vec![b' '; bytes]);
    client
}

fn padded(bytes: usize) -> Vec<u8> {
    let mut body = b"{}".to_vec();
    body.resize(bytes, b' ');
    body
}

#[test]
fn a_large_body_waits_for_memory_and_is_then_throttled() {
    let server = small_server(|_| {});
    let _stalled = stalled(&server, 300_000);
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    let answer = server.connect().call("ListTables", &padded(200_000));
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.error_type(),
        "com.amazon.coral.availability#ThrottlingException"
    );
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(metric(&server, "trestle_memory_throttled_requests_total "), 1.0);
}

#[test]
fn small_requests_are_answered_while_large_bodies_stall() {
    let server = small_server(|_| {});
    let _stalled: Vec<_> = (0..20).map(|_| stalled(&server, 100_000)).collect();
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(server.call("ListTables", "{}").status, 200);
        assert!(began.elapsed() < Duration::from_millis(200), "it waited");
    }
}

#[test]
fn a_stalled_body_makes_room_for_one_that_arrives() {
    let server = small_server(|settings| settings.limits.admission = Duration::from_secs(10));
    let mut slow = stalled(&server, 300_000);
    std::thread::sleep(Duration::from_millis(50));
    let answer = server.connect().call("ListTables", &padded(200_000));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(slow.read().status, 408);
    assert!(slow.is_closed());
    assert_eq!(
        metric(&server, r#"trestle_slow_clients_total{kind="sender"} "#),
        1.0
    );
}

#[test]
fn memory_is_given_back() {
    let server = small_server(|_| {});
    for _ in 0..5 {
        let answer = server.connect().call("ListTables", &padded(250_000));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    drop(stalled(&server, 300_000));
    std::thread::sleep(Duration::from_millis(50));
    for by in ["clients", "work"] {
        let held = metric(&server, &format!("trestle_memory_held_bytes{{by=\"{by}\"}} "));
        assert_eq!(held, 0.0, "{by}");
    }
}

#[test]
fn a_body_that_inflates_counts_as_what_it_becomes() {
    let server = small_server(|_| {});
    let bomb = gzip(&padded(900_000));
    let mut client = server.connect();
    let answer = client.call_with("ListTables", &[("Content-Encoding", "gzip")], &bomb);
    assert_eq!(
        answer.error_type(),
        "com.amazon.coral.availability#ThrottlingException"
    );
    let small = gzip(&padded(100_000));
    let answer = client.call_with("ListTables", &[("Content-Encoding", "gzip")], &small);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn gzip(body: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

const GET: &str = r#"{"TableName":"large","Key":{"pk":{"S":"a"}}}"#;

/// Stores an item of 300 kB; returns the request that reads it.
fn with_large_item(server: &TestServer) -> String {
    let table = r#"{"TableName":"large","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}"#;
    assert_eq!(server.call("CreateTable", table).status, 200);
    let item = format!(
        r#"{{"TableName":"large","Item":{{"pk":{{"S":"a"}},"text":{{"S":"{}"}}}}}}"#,
        "x".repeat(300_000)
    );
    assert_eq!(server.call("PutItem", &item).status, 200);
    format!("{}\r\n{GET}", head("GetItem", GET.len()))
}

const ANSWERED: &str = r#"trestle_successful_request_latency_seconds_count{operation="GetItem"} "#;

/// Waits until the server answers no more requests for now.
fn answered(server: &TestServer) -> f64 {
    let mut before = -1.0;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = metric(server, ANSWERED);
        if now == before {
            return now;
        }
        before = now;
    }
}

#[test]
fn requests_of_a_client_that_does_not_read_are_not_executed() {
    let server = TestServer::start();
    let get = with_large_item(&server);
    let mut client = server.connect();
    client.write(get.repeat(100));
    let executed = answered(&server);
    assert!(executed < 60.0, "{executed} of 100 were executed, 30 MB");
    for _ in 0..100 {
        assert_eq!(client.read().status, 200);
    }
    assert_eq!(metric(&server, ANSWERED), 100.0);
}

/// A connection whose client accepts at most 64 kB that it has not read.
async fn http2(server: &TestServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn get_large_item() -> Request<Full<Bytes>> {
    Request::post("http://localhost/")
        .header("X-Amz-Target", "DynamoDB_20120810.GetItem")
        .header("Content-Type", "application/x-amz-json-1.0")
        .body(Full::new(Bytes::from_static(GET.as_bytes())))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_http2_connection_wait_until_answers_are_read() {
    let server = TestServer::start();
    with_large_item(&server);
    let mut sender = http2(&server).await;
    let (read, may_read) = watch::channel(false);
    let mut clients = Vec::new();
    for _ in 0..100 {
        sender.ready().await.unwrap();
        let answer = sender.send_request(get_large_item());
        let mut may_read = may_read.clone();
        clients.push(tokio::spawn(async move {
            let answer = answer.await.unwrap();
            may_read.wait_for(|read| *read).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes().len()
        }));
    }
    let executed = answered(&server);
    assert!(executed < 12.0, "{executed} of 100 were executed");
    read.send_replace(true);
    for client in clients {
        assert!(client.await.unwrap() > 300_000);
    }
}

#[test]
fn a_client_that_does_not_read_is_closed_when_others_wait() {
    let server = TestServer::with(|settings| settings.limits.memory_bytes_max = MIB);
    let get = with_large_item(&server);
    // One answer of each is in memory, which exceeds the memory for answers.
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.write(get.repeat(100));
    }
    answered(&server);
    let other = server.call("ListTables", "{}");
    assert_eq!(other.status, 200, "{}", other.text());
    let closed = metric(&server, r#"trestle_slow_clients_total{kind="reader"} "#);
    assert!(closed >= 1.0, "{closed}");
}

fn metric(server: &TestServer, name: &str) -> f64 {
    let page = server.connect().get("/metrics");
    let line = page.text().lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |value| value.parse().unwrap())
}
