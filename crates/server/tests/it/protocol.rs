//! The form of requests and answers.

use crate::test_server::TestServer;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};

const JSON: (&str, &str) = ("Content-Type", "application/x-amz-json-1.0");
const LIST_TABLES: (&str, &str) = ("X-Amz-Target", "DynamoDB_20120810.ListTables");

#[test]
fn an_answer_carries_dynamodbs_headers() {
    let server = TestServer::start();
    let answer = server.call("ListTables", "{}");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), r#"{"TableNames":[]}"#);
    assert_eq!(answer.header("content-type"), "application/x-amz-json-1.0");
    assert_eq!(answer.header("x-amz-crc32"), "1315925753");
    assert!(answer.header("server").starts_with("Trestle/"));
    assert!(answer.header("date").ends_with("GMT"));

    let id = answer.header("x-amzn-RequestId");
    assert_eq!(id.len(), 52);
    assert!(
        id.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    );
    assert_ne!(id, server.call("ListTables", "{}").header("x-amzn-RequestId"));
}

#[test]
fn a_connection_serves_many_requests_also_pipelined() {
    let server = TestServer::start();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.call("ListTables", b"{}").status, 200);
    }
    let request = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\
        Content-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}";
    client.write(request.repeat(3));
    for _ in 0..3 {
        assert_eq!(client.read().text(), r#"{"TableNames":[]}"#);
    }
}

#[tokio::test]
async fn http2_is_spoken_without_an_upgrade() {
    let server = TestServer::start();
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let requests = (0..20).map(|_| {
        let request = hyper::Request::post("http://localhost/")
            .header(LIST_TABLES.0, LIST_TABLES.1)
            .header(JSON.0, JSON.1)
            .body(Full::new(bytes::Bytes::from_static(b"{}")))
            .unwrap();
        sender.send_request(request)
    });
    for request in requests.collect::<Vec<_>>() {
        let response = request.await.unwrap();
        assert_eq!(response.version(), hyper::Version::HTTP_2);
        assert_eq!(response.headers()["x-amz-crc32"], "1315925753");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, r#"{"TableNames":[]}"#);
    }
}

#[test]
fn both_services_answer_at_one_door() {
    let server = TestServer::start();
    let target = ("X-Amz-Target", "DynamoDBStreams_20120810.ListStreams");
    let answer = server.connect().send("POST", "/", &[target, JSON], b"{}");
    assert_eq!((answer.status, answer.text()), (200, r#"{"Streams":[]}"#));
}

#[test]
fn a_missing_or_wrong_target_is_an_unknown_operation() {
    let server = TestServer::start();
    let unknown = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
    for target in [
        None,
        Some("DynamoDB_20120810.Nothing"),
        Some("Nothing.ListTables"),
        Some("ListTables"),
        Some("DynamoDB_20120810.ListStreams"),
    ] {
        let mut headers = vec![JSON];
        headers.extend(target.map(|target| ("X-Amz-Target", target)));
        let answer = server.connect().send("POST", "/", &headers, b"{}");
        assert_eq!((answer.status, answer.text()), (400, unknown), "{target:?}");
        assert_eq!(answer.header("content-type"), "application/x-amz-json-1.0");
    }
}

#[test]
fn an_operation_that_trestle_lacks_is_named() {
    let answer = TestServer::start().call("CreateBackup", "{}");
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.error_type(),
        "com.amazon.coral.service#UnknownOperationException"
    );
    assert!(
        answer.text().contains("CreateBackup is not supported"),
        "{}",
        answer.text()
    );
}

#[test]
fn what_is_not_shaped_like_an_operation_is_not_found() {
    let server = TestServer::start();
    let text_type = ("Content-Type", "text/plain");
    for (method, path, headers) in [
        ("PUT", "/", [LIST_TABLES, JSON]),
        ("DELETE", "/", [LIST_TABLES, JSON]),
        ("POST", "/elsewhere", [LIST_TABLES, JSON]),
        ("GET", "/elsewhere", [LIST_TABLES, JSON]),
        ("POST", "/", [LIST_TABLES, text_type]),
    ] {
        let answer = server.connect().send(method, path, &headers, b"{}");
        assert_eq!(
            (answer.status, answer.text()),
            (404, "<UnknownOperationException/>\n"),
            "{method} {path}"
        );
        assert_eq!(answer.header("x-amz-crc32"), "3552371480");
        assert_eq!(answer.header("x-amzn-RequestId").len(), 52);
    }
}

#[test]
fn plain_json_is_taken_and_given_back() {
    let server = TestServer::start();
    for kind in ["application/json", "application/json; charset=utf-8"] {
        let answer = server
            .connect()
            .send("POST", "/", &[LIST_TABLES, ("Content-Type", kind)], b"{}");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[test]
fn a_body_that_is_not_json_is_a_serialization_error() {
    let server = TestServer::start();
    for body in ["{", "", "[]", "nonsense"] {
        let answer = server.call("ListTables", body);
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(
            answer.error_type(),
            "com.amazon.coral.service#SerializationException"
        );
    }
}

#[test]
fn without_configured_keys_any_credentials_and_none_are_accepted() {
    let server = TestServer::start();
    for authorization in ["AWS4-HMAC-SHA256 nonsense", "Bearer x", ""] {
        let headers = [("Authorization", authorization)];
        assert_eq!(
            server.connect().call_with("ListTables", &headers, b"{}").status,
            200
        );
    }
}

#[test]
fn the_server_says_that_it_is_healthy() {
    let server = TestServer::start();
    let mut client = server.connect();
    let answer = client.get("/");
    let expected = format!("healthy: 127.0.0.1:{}", server.address.port());
    assert_eq!((answer.status, answer.text()), (200, expected.as_str()));
    let head = client.send("HEAD", "/", &[], b"");
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), expected.len().to_string());
    assert_eq!(server.endpoint, format!("http://{}", server.address));
}

#[test]
fn errors_of_the_database_reach_the_client() {
    let answer = TestServer::start().call("GetItem", r#"{"TableName":"missing","Key":{"pk":{"S":"a"}}}"#);
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.error_type(),
        "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"
    );
}
