//! Clients that send endlessly, or send requests and do not read: memory stays bounded, and another client is
//! answered.
//!
//! `./test attack` runs the full floods in a release build, with a limit on how long the other client waits.

use serde_json::json;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::Client;
use trestle_torture::http2::Unread;
use trestle_torture::memory::most_resident_while;
use trestle_torture::server::Server;
use trestle_torture::workload::{TABLE, create_table};

const MIB: u64 = 1024 * 1024;
const BODY_BYTES: usize = 16 << 20;
const RESIDENT_BYTES_MAX: u64 = 700 * MIB;

/// The size of the floods, and the limits meanwhile.
struct Size {
    time: Duration,
    stalled_bodies: usize,
    scanning_connections: usize,
    scans_each: usize,
    batch_clients: usize,
    /// Only with a release build; debug builds are too slow.
    p99_max: Option<Duration>,
}

fn size() -> Size {
    match super::rounds("FLOOD_SECONDS", 0) {
        0 => Size {
            time: Duration::from_secs(3),
            stalled_bodies: 150,
            scanning_connections: 3,
            scans_each: 300,
            batch_clients: 8,
            p99_max: None,
        },
        seconds => Size {
            time: Duration::from_secs(seconds),
            stalled_bodies: 1_000,
            scanning_connections: 16,
            scans_each: 1_000,
            batch_clients: 64,
            p99_max: Some(Duration::from_millis(50)),
        },
    }
}

/// A server with a table of 24 items of 300 kB, and the directory it lives in.
fn server() -> (Server, TempDir) {
    let dir = TempDir::new().unwrap();
    let server = Server::on(dir.path());
    let mut client = server.connect();
    create_table(&mut client);
    for number in 0..24 {
        let item = json!({"pk": {"S": format!("large{number}")}, "text": {"S": "x".repeat(300_000)}});
        let put = client.call("PutItem", &json!({"TableName": TABLE, "Item": item}));
        assert_eq!(put.unwrap().status, 200);
    }
    let small = json!({"TableName": TABLE, "Item": {"pk": {"S": "small"}, "v": {"N": "1"}}});
    assert_eq!(client.call("PutItem", &small).unwrap().status, 200);
    (server, dir)
}

/// Floods the server, and reads one small item repeatedly meanwhile.
fn flood(name: &str, size: &Size, server: &Server, attack: impl FnOnce(&AtomicBool) + Send) {
    let is_over = AtomicBool::new(false);
    let (most, mut waits) = most_resident_while(server.id(), || {
        std::thread::scope(|scope| {
            scope.spawn(|| attack(&is_over));
            let waits = ask_for(size.time, server);
            is_over.store(true, Ordering::SeqCst);
            waits
        })
    });
    waits.sort_unstable();
    let p99 = waits[waits.len() * 99 / 100];
    println!(
        "{name}: {} MiB resident at most; {} answers to another client, p50 {:?}, p99 {p99:?}, longest {:?}",
        most / MIB,
        waits.len(),
        waits[waits.len() / 2],
        waits[waits.len() - 1]
    );
    assert!(most < RESIDENT_BYTES_MAX, "{name}: {} MiB resident", most / MIB);
    if let Some(max) = size.p99_max {
        assert!(p99 < max, "{name}: p99 of GetItem is {p99:?}");
    }
}

fn ask_for(time: Duration, server: &Server) -> Vec<Duration> {
    let mut client = server.connect();
    let end = Instant::now() + time;
    let mut waits = Vec::new();
    while Instant::now() < end {
        let began = Instant::now();
        let key = json!({"TableName": TABLE, "Key": {"pk": {"S": "small"}}});
        let answer = client.call("GetItem", &key).unwrap();
        assert_eq!(answer.body["Item"]["v"]["N"], "1", "{}", answer.body);
        waits.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    waits
}

#[test]
fn stalled_bodies_take_no_memory() {
    let (size, (server, _dir)) = (size(), server());
    flood("stalled bodies", &size, &server, |is_over| {
        let mut clients: Vec<Stalled> = (0..size.stalled_bodies)
            .map(|_| Stalled::begin(&server))
            .collect();
        while !is_over.load(Ordering::SeqCst) {
            for client in &mut clients {
                if !client.is_taken() {
                    *client = Stalled::begin(&server);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

/// A client that sends its body up to the last byte, as fast as it is accepted, and starts again when it is
/// refused.
struct Stalled {
    client: Client,
    left: usize,
}

impl Stalled {
    fn begin(server: &Server) -> Self {
        let mut client = server.connect();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
        );
        client.send(head.as_bytes()).unwrap();
        client.stream().set_nonblocking(true).unwrap();
        let left = BODY_BYTES - 1;
        Stalled { client, left }
    }

    /// Sends what the server accepts now; `false` when it accepts no more.
    fn is_taken(&mut self) -> bool {
        let bytes = [b' '; 1 << 16];
        while self.left > 0 {
            match self.client.stream().write(&bytes[..self.left.min(bytes.len())]) {
                Ok(sent) => self.left -= sent,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        // An answer, or the end of the connection.
        let seen = self.client.stream().peek(&mut [0]);
        seen.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

#[test]
fn unread_scans_take_no_memory() {
    let (size, (server, _dir)) = (size(), server());
    let scan = json!({"TableName": TABLE}).to_string();
    flood("unread scans", &size, &server, |is_over| {
        let mut clients = Vec::new();
        for _ in 0..size.scanning_connections {
            let mut client = Unread::connect(&server.address).unwrap();
            // A server that refuses more closes the connection.
            let _ = (0..size.scans_each).try_for_each(|_| client.ask("Scan", scan.as_bytes()));
            clients.push(client);
        }
        wait_for(is_over);
    });
}

#[test]
fn pipelined_scans_that_are_not_read_take_no_memory() {
    let (size, (server, _dir)) = (size(), server());
    let body = json!({"TableName": TABLE}).to_string();
    let scan = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.Scan\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    flood("pipelined scans", &size, &server, |is_over| {
        let mut clients = Vec::new();
        for _ in 0..size.scanning_connections * 10 {
            let mut client = server.connect();
            client.send(scan.repeat(100).as_bytes()).unwrap();
            clients.push(client);
        }
        wait_for(is_over);
    });
}

fn wait_for(is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn large_batches_take_no_memory() {
    let (size, (server, _dir)) = (size(), server());
    let (stored, throttled) = (AtomicU64::new(0), AtomicU64::new(0));
    let batches: Vec<String> = (0..size.batch_clients).map(batch).collect();
    flood("large batches", &size, &server, |is_over| {
        std::thread::scope(|scope| {
            for batch in &batches {
                let (server, stored, throttled) = (&server, &stored, &throttled);
                scope.spawn(move || {
                    while !is_over.load(Ordering::SeqCst) {
                        let outcome = if is_stored(server, batch) {
                            stored
                        } else {
                            throttled
                        };
                        outcome.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    });
    println!("{stored:?} batches stored, {throttled:?} throttled");
    assert!(stored.load(Ordering::Relaxed) > 0, "not one batch was stored");
}

/// 25 items just below DynamoDB's largest size, and spaces up to the largest request.
fn batch(number: usize) -> String {
    let bytes = "QUJD".repeat(130_000);
    let put = |item: usize| {
        format!(
            r#"{{"PutRequest":{{"Item":{{"pk":{{"S":"batch{number}-{item}"}},"bytes":{{"B":"{bytes}"}}}}}}}}"#
        )
    };
    let puts: Vec<String> = (0..25).map(put).collect();
    let mut body = format!(r#"{{"RequestItems":{{"{TABLE}":[{}]}}}}"#, puts.join(","));
    body.push_str(&" ".repeat(BODY_BYTES - body.len()));
    body
}

/// Whether a batch was stored, rather than refused as throttled.
fn is_stored(server: &Server, body: &str) -> bool {
    let mut client = server.connect();
    // A client that gets no time to send while others wait for memory is answered and disconnected before it
    // has sent everything. The answer may be lost with the connection.
    let is_sent = send(&mut client, body).is_ok();
    match client.read() {
        Ok(answer) if answer.status == 200 => true,
        Ok(answer) => {
            assert_eq!(answer.error(), "ThrottlingException", "{}", answer.body);
            false
        }
        Err(error) => {
            assert!(!is_sent, "a batch that was sent whole got no answer: {error}");
            false
        }
    }
}

fn send(client: &mut Client, body: &str) -> io::Result<()> {
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.BatchWriteItem\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.send(head.as_bytes())?;
    client.send(body.as_bytes())
}
