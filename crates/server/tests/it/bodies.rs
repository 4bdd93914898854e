//! Bodies that are too large or too slow.

use crate::client::Client;
use crate::test_server::TestServer;
use std::time::Duration;
use trestle_server::BODY_BYTES_MAX;

const HEAD: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\
    Content-Type: application/x-amz-json-1.0\r\n";

fn assert_too_large(client: &mut Client) {
    let answer = client.read();
    assert_eq!(answer.status, 413);
    assert_eq!(
        answer.error_type(),
        "com.amazon.coral.service#RequestEntityTooLargeException"
    );
    assert_eq!(answer.header("connection"), "close");
}

/// `{}` and spaces up to the given size.
fn padded(bytes: usize) -> Vec<u8> {
    let mut body = b"{}".to_vec();
    body.resize(bytes, b' ');
    body
}

#[test]
fn an_announced_large_body_is_refused_before_it_is_sent() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write(format!("{HEAD}Content-Length: {}\r\n\r\n", BODY_BYTES_MAX + 1));
    assert_too_large(&mut client);
}

#[test]
fn a_client_that_waits_for_permission_to_send_too_much_does_not_get_it() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write(format!(
        "{HEAD}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        BODY_BYTES_MAX + 1
    ));
    assert_too_large(&mut client);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_sends_everything_first_still_sees_the_refusal() {
    let server = TestServer::start();
    let mut client = server.connect();
    let body = padded(BODY_BYTES_MAX + 1);
    client.write(format!("{HEAD}Content-Length: {}\r\n\r\n", body.len()));
    client.write(&body);
    assert_too_large(&mut client);
    assert!(client.is_closed());
}

#[test]
fn a_chunked_body_is_refused_when_it_grows_too_large() {
    let server = TestServer::with(|settings| settings.limits.body_bytes_max = 10_000);
    let mut client = server.connect();
    client.write(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"));
    let chunk = [b"1000\r\n".as_slice(), &[b' '; 0x1000], b"\r\n"].concat();
    client.write(chunk.repeat(2));
    assert!(
        client.is_silent(Duration::from_millis(50)),
        "8 kB of 10 are not too large"
    );
    client.write_while_accepted(&chunk);
    // The body has not ended: the refusal did not wait for its end.
    assert_too_large(&mut client);
}

#[test]
fn a_body_of_exactly_the_limit_is_taken() {
    let server = TestServer::with(|settings| settings.limits.body_bytes_max = 10_000);
    let mut client = server.connect();
    assert_eq!(client.call("ListTables", &padded(10_000)).status, 200);
    assert_eq!(client.call("ListTables", &padded(10_001)).status, 413);
}

#[test]
fn sixteen_mebibytes_are_taken() {
    let server = TestServer::start();
    assert_eq!(
        server
            .connect()
            .call("ListTables", &padded(BODY_BYTES_MAX))
            .status,
        200
    );
}

#[test]
fn a_chunked_body_is_put_together() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"));
    client.write("a\r\n\"Limit\": 1\r\n");
    client.write("1\r\n}\r\n0\r\n\r\n");
    assert_eq!(client.read().text(), r#"{"TableNames":[]}"#);
}

#[test]
fn a_body_that_does_not_arrive_in_time_is_given_up() {
    let server = TestServer::with(|settings| settings.limits.body_read = Duration::from_millis(100));
    let mut client = server.connect();
    client.write(format!("{HEAD}Content-Length: 100\r\n\r\n{{"));
    let answer = client.read();
    assert_eq!(answer.status, 408);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_waits_for_permission_gets_it() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write(format!("{HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    assert!(!client.is_silent(Duration::from_secs(5)));
    client.write("{}");
    let mut seen = String::new();
    while !seen.ends_with("{\"TableNames\":[]}") {
        seen.push(client.byte());
    }
    assert!(
        seen.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"),
        "{seen}"
    );
}
