//! Gzip both ways, and deflate in requests.

use crate::client::Response;
use crate::test_server::TestServer;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder, ZlibEncoder};
use std::io::Read;

const GZIPPED: (&str, &str) = ("Content-Encoding", "gzip");

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    GzEncoder::new(body, Compression::best())
        .read_to_end(&mut compressed)
        .unwrap();
    compressed
}

fn send(server: &TestServer, operation: &str, body: &[u8]) -> Response {
    server.connect().call_with(operation, &[GZIPPED], body)
}

#[test]
fn a_compressed_request_is_understood() {
    let server = TestServer::start();
    let answer = send(&server, "ListTables", &gzip(b"{}"));
    assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
}

#[test]
fn a_deflated_request_is_understood() {
    let server = TestServer::start();
    let mut body = Vec::new();
    ZlibEncoder::new(&b"{}"[..], Compression::best())
        .read_to_end(&mut body)
        .unwrap();
    let answer = server
        .connect()
        .call_with("ListTables", &[("Content-Encoding", "deflate")], &body);
    assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
}

#[test]
fn a_small_request_cannot_inflate_beyond_the_limit() {
    let server = TestServer::start();
    let bomb = gzip(&vec![b' '; 17 * 1024 * 1024]);
    assert!(bomb.len() < 100_000);
    let answer = send(&server, "ListTables", &bomb);
    assert_eq!(answer.status, 413);
    assert_eq!(
        answer.error_type(),
        "com.amazon.coral.service#RequestEntityTooLargeException"
    );
}

#[test]
fn a_request_that_only_claims_to_be_compressed_is_refused() {
    let server = TestServer::start();
    for coding in ["gzip", "deflate", "garbage"] {
        let answer = server
            .connect()
            .call_with("ListTables", &[("Content-Encoding", coding)], b"{}");
        assert_eq!(answer.status, 500, "{coding}");
        assert!(
            answer.error_type().ends_with("#InternalServerError"),
            "{}",
            answer.text()
        );
    }
    let plain = server
        .connect()
        .call_with("ListTables", &[("Content-Encoding", "identity")], b"{}");
    assert_eq!(plain.status, 200);
}

#[test]
fn a_large_answer_is_compressed_for_those_who_ask_and_its_checksum_is_of_the_bytes_sent() {
    let server = TestServer::start();
    server.call(
        "CreateTable",
        r#"{"TableName":"notes","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#,
    );
    let note = "a long note ".repeat(2_000);
    let put = server.call(
        "PutItem",
        &format!(r#"{{"TableName":"notes","Item":{{"pk":{{"S":"a"}},"text":{{"S":"{note}"}}}}}}"#),
    );
    assert_eq!(put.status, 200, "{}", put.text());

    let get = br#"{"TableName":"notes","Key":{"pk":{"S":"a"}}}"#;
    let plain = server.connect().call("GetItem", get);
    assert_eq!(plain.header("content-encoding"), "");
    assert_eq!(
        plain.header("x-amz-crc32"),
        trestle_wire::crc32(&plain.body).to_string()
    );

    let compressed = server
        .connect()
        .call_with("GetItem", &[("Accept-Encoding", "gzip, deflate")], get);
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(compressed.body.len() < plain.body.len() / 10);
    assert_eq!(
        compressed.header("x-amz-crc32"),
        trestle_wire::crc32(&compressed.body).to_string()
    );
    let mut inflated = Vec::new();
    GzDecoder::new(compressed.body.as_slice())
        .read_to_end(&mut inflated)
        .unwrap();
    assert_eq!(inflated, plain.body);
}
