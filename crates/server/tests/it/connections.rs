//! Clients that hold the server without using it.

use crate::test_server::TestServer;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(150);

fn impatient() -> TestServer {
    TestServer::with(|settings| settings.limits.idle = SHORT)
}

#[test]
fn a_client_that_says_nothing_is_sent_away() {
    assert!(impatient().connect().is_closed());
}

#[test]
fn a_client_that_does_not_finish_its_head_is_sent_away() {
    let server = impatient();
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: loc");
    assert!(client.is_closed());
}

#[test]
fn a_client_that_falls_silent_after_a_request_is_sent_away() {
    let server = impatient();
    let mut client = server.connect();
    assert_eq!(client.call("ListTables", b"{}").status, 200);
    assert!(client.is_closed());
}

#[test]
fn a_client_that_keeps_asking_may_stay() {
    let server = impatient();
    let mut client = server.connect();
    for _ in 0..6 {
        assert_eq!(client.call("ListTables", b"{}").status, 200);
        std::thread::sleep(SHORT / 2);
    }
}

#[test]
fn a_silent_http2_client_is_sent_away() {
    let server = impatient();
    let mut client = server.connect();
    client.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.write([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // Its settings come first, then the end.
    while !client.is_closed() {}
}

#[test]
fn beyond_the_cap_a_client_waits_for_a_seat() {
    let server = TestServer::with(|settings| settings.limits.connections_max = 1);
    let mut first = server.connect();
    assert_eq!(first.call("ListTables", b"{}").status, 200);
    let mut second = server.connect();
    second.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(second.is_silent(Duration::from_millis(150)));
    drop(first);
    assert_eq!(second.read().status, 200);
}

#[test]
fn nonsense_is_refused_and_ends_its_connection_and_nothing_else() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write("this is not HTTP\r\n\r\n");
    assert_eq!(client.read().status, 400);
    assert!(client.is_closed());
    assert_eq!(server.call("ListTables", "{}").status, 200);
}
