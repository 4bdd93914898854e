//! Stopping.

use crate::client::Client;
use crate::test_server::TestServer;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use trestle_server::Stopped;

const HEAD: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\
    Content-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";

/// Begins a request that lacks its last byte. The server has read its head, because it asks for the body.
fn begin(client: &mut Client) {
    client.write(HEAD);
    assert_eq!(client.read_bytes(25), b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write("{");
}

fn wait_until_refused(server: &TestServer) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(server.address).is_ok() {
        assert!(Instant::now() < deadline, "still listening");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_accepted_request_is_finished_and_a_new_one_turned_away() {
    let mut server = TestServer::start();
    let mut client = server.connect();
    begin(&mut client);
    server.ask_to_stop();
    wait_until_refused(&server);
    client.write("}");
    assert_eq!(client.read().text(), r#"{"TableNames":[]}"#);
    assert!(client.is_closed());
    assert_eq!(server.wait(), Stopped::Clean);
}

#[test]
fn a_connection_without_a_request_does_not_hold_up_the_end() {
    let mut server = TestServer::start();
    let mut used = server.connect();
    assert_eq!(used.call("ListTables", b"{}").status, 200);
    let mut unused = server.connect();
    let started = Instant::now();
    server.ask_to_stop();
    assert_eq!(server.wait(), Stopped::Clean);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(used.is_closed());
    assert!(unused.is_closed());
}

#[test]
fn a_request_that_does_not_finish_in_time_is_cut() {
    let mut server = TestServer::with(|settings| settings.limits.shutdown = Duration::from_millis(100));
    let mut client = server.connect();
    begin(&mut client);
    server.ask_to_stop();
    assert_eq!(server.wait(), Stopped::Cut);
    assert!(client.is_closed());
}
