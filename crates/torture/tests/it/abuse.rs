//! Clients that are slow, hostile or many: well-behaved clients are answered nevertheless.

use serde_json::json;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::Client;
use trestle_torture::server::Server;
use trestle_torture::workload::{TABLE, create_table};

/// The longest that a well-behaved client may wait, with two busy cores shared by all.
const PATIENCE: Duration = Duration::from_secs(2);
const HEAD: &str = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n\
    Content-Type: application/x-amz-json-1.0\r\n";

/// A server with a table, and the directory it lives in.
fn server() -> (Server, TempDir) {
    let dir = TempDir::new().unwrap();
    let server = Server::on(dir.path());
    create_table(&mut server.connect());
    (server, dir)
}

/// Mistreats the server while another client writes and reads, on new connections each time.
fn while_another_is_answered(server: &Server, abuse: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let answers = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut answers = 0;
            while !is_over.load(Ordering::SeqCst) || answers == 0 {
                ask(server, answers);
                answers += 1;
            }
            answers
        });
        abuse();
        is_over.store(true, Ordering::SeqCst);
        other.join().unwrap()
    });
    println!("{answers} answers meanwhile");
    ask(server, answers);
}

fn ask(server: &Server, number: usize) {
    let began = Instant::now();
    let item = json!({"pk": {"S": "other"}, "v": {"N": number.to_string()}});
    let put = server.call("PutItem", &json!({"TableName": TABLE, "Item": item}));
    assert_eq!(put.status, 200, "{}", put.body);
    let get = server.call(
        "GetItem",
        &json!({"TableName": TABLE, "Key": {"pk": {"S": "other"}}}),
    );
    assert_eq!(get.body["Item"], item);
    let took = began.elapsed();
    assert!(took < PATIENCE, "two answers took {took:?}");
}

fn together(threads: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || work(thread));
        }
    });
}

#[test]
fn heads_and_bodies_that_drip_hold_up_nobody() {
    let (server, _dir) = server();
    let with_length = format!("{HEAD}Content-Length: 1000\r\n\r\n");
    while_another_is_answered(&server, || {
        let mut clients: Vec<_> = (0..300).map(|_| server.connect()).collect();
        for client in clients.iter_mut().step_by(2) {
            client.send(with_length.as_bytes()).unwrap();
        }
        for byte in HEAD.as_bytes().iter().take(30) {
            for client in &mut clients {
                client.send(&[*byte]).unwrap();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn clients_that_hang_up_hold_up_nobody() {
    let (server, _dir) = server();
    let large = json!({"pk": {"S": "large"}, "text": {"S": "x".repeat(300_000)}});
    let put = server.call("PutItem", &json!({"TableName": TABLE, "Item": large}));
    assert_eq!(put.status, 200);
    let body = json!({"TableName": TABLE}).to_string();
    let scan = HEAD.replace("PutItem", "Scan") + &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    while_another_is_answered(&server, || {
        together(4, |_| {
            for _ in 0..60 {
                // In the head, in the body, before the answer, within the answer.
                drop(sent(&server, &HEAD.as_bytes()[..40]));
                drop(sent(
                    &server,
                    format!("{HEAD}Content-Length: 50\r\n\r\n{{\"Table").as_bytes(),
                ));
                drop(sent(&server, scan.as_bytes()));
                let mut client = sent(&server, scan.as_bytes());
                let _ = std::io::Read::read(client.stream(), &mut [0; 100]);
            }
        });
    });
}

fn sent(server: &Server, bytes: &[u8]) -> Client {
    let mut client = server.connect();
    client.send(bytes).unwrap();
    client
}

#[test]
fn ten_thousand_idle_connections_hold_up_nobody() {
    const CONNECTIONS: usize = 10_000;
    let needed = CONNECTIONS as u64 + 200;
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < needed) {
        println!(
            "skipped: this system allows {:?} open files, {needed} are needed",
            limit.maximum
        );
        return;
    }
    // Also that of the server, which inherits it.
    limit.current = limit.current.max(Some(needed)).or(limit.maximum);
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let (server, _dir) = server();
    while_another_is_answered(&server, || {
        let connect = |_| TcpStream::connect(&server.address).unwrap();
        let idle: Vec<_> = (0..CONNECTIONS).map(connect).collect();
        // Longer than any request may wait: only idle connections stay.
        std::thread::sleep(PATIENCE + Duration::from_millis(500));
        assert_eq!(idle.len(), CONNECTIONS);
    });
}

#[test]
fn large_and_deep_bodies_hold_up_nobody() {
    let (server, _dir) = server();
    let start = format!("{{\"TableName\": \"{TABLE}\", \"Item\": {{\"pk\": {{\"S\": \"");
    let mut large = start.into_bytes();
    large.resize(16 * 1024 * 1024 - 10, b'x');
    large.extend(b"\"}}}");
    let arrays = b"[".repeat(5_000_000);
    let maps = format!(
        "{{\"TableName\": \"{TABLE}\", \"Item\": {{\"pk\": {}",
        "{\"M\": {\"a\": ".repeat(500_000)
    );
    let bodies = [large.as_slice(), &arrays, maps.as_bytes()];
    while_another_is_answered(&server, || {
        together(3, |thread| {
            let (body, mut client) = (bodies[thread], server.connect());
            client
                .send(format!("{HEAD}Content-Length: {}\r\n\r\n", body.len()).as_bytes())
                .unwrap();
            // A refusal may come before the end of the body.
            let _ = client.send(body);
            let answer = client.read().unwrap();
            assert_eq!(answer.status, 400, "{}", answer.body);
        });
    });
}

#[test]
fn a_flood_of_bad_requests_holds_up_nobody() {
    let (server, _dir) = server();
    let long_head = format!("{HEAD}X-Long: {}\r\n\r\n", "x".repeat(1_000_000));
    let bad = [
        "not HTTP at all\r\n\r\n".to_owned(),
        "GET /no/such/page HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!("{HEAD}Content-Length: 9\r\n\r\n{{\"broken\""),
        format!("{HEAD}Content-Length: -1\r\n\r\n"),
        format!(
            "{}Content-Length: 2\r\n\r\n{{}}",
            HEAD.replace("PutItem", "NoSuchOperation")
        ),
        format!("{HEAD}Content-Length: 2\r\n\r\n{{}}"),
        long_head,
    ];
    let end = Instant::now() + Duration::from_secs(2);
    while_another_is_answered(&server, || {
        together(6, |thread| {
            let mut requests = bad.iter().cycle().skip(thread);
            while Instant::now() < end {
                let mut client = server.connect();
                let _ = client.send(requests.next().unwrap().as_bytes());
                if let Ok(answer) = client.read() {
                    assert!((400..500).contains(&answer.status), "{}", answer.status);
                }
            }
        });
    });
}
