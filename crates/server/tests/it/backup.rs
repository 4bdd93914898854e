//! Backups over HTTP.

use crate::test_server::TestServer;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trestle_env::Timestamp;
use trestle_server::{AccessKey, BackupSource, KeyGrant};
use trestle_sigv4::Signer;

const PATH: &str = "/_trestle/backup";
const REQUEST: &str =
    "POST /_trestle/backup HTTP/1.1\r\nHost: localhost\r\nX-Trestle-Admin: 1\r\nContent-Length: 0\r\n\r\n";
const SIGNED_AT_S: u64 = 1_794_729_600;

/// Writes so many pieces, then succeeds or fails.
#[derive(Debug, Default)]
struct Pieces {
    count: usize,
    fails: bool,
    written: AtomicUsize,
    ended: AtomicUsize,
}

impl Pieces {
    fn of(count: usize) -> Arc<Self> {
        Arc::new(Pieces {
            count,
            ..Pieces::default()
        })
    }
}

impl BackupSource for Pieces {
    fn backup(&self, out: &mut dyn Write) -> io::Result<()> {
        let written = (0..self.count).try_for_each(|at| {
            self.written.fetch_add(1, Ordering::SeqCst);
            out.write_all(&vec![at as u8; 100_000])
        });
        self.ended.fetch_add(1, Ordering::SeqCst);
        written?;
        if self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        Ok(())
    }
}

fn sign(key: AccessKey, now: Timestamp) -> Vec<(&'static str, String)> {
    let signer = Signer::new(key, None, "us-east-1", "dynamodb");
    signer
        .sign(("POST", PATH), "localhost:8000", &[], b"", now)
        .unwrap()
}

fn key() -> AccessKey {
    AccessKey {
        id: "AKIDEXAMPLE".to_owned(),
        secret: "a secret".to_owned(),
    }
}

/// The answer's head and body, read until the connection ends.
fn download(server: &TestServer, headers: &[(&str, &str)]) -> (String, Vec<u8>) {
    let mut request = format!("POST {PATH} HTTP/1.0\r\nHost: localhost:8000\r\nX-Trestle-Admin: 1\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let mut client = server.connect();
    client.write(request + "\r\n");
    let answer = client.rest();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, answer[end + 4..].to_vec())
}

#[test]
fn a_backup_is_sent_as_it_is_written() {
    let source = Pieces::of(50);
    let server = TestServer::backing_up(source.clone(), |_| {});
    let (head, body) = download(&server, &[]);
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
    assert!(head.contains("application/octet-stream"), "{head}");
    assert!(
        !head.to_lowercase().contains("access-control"),
        "no script may read it: {head}"
    );
    assert_eq!(body.len(), 50 * 100_000);
    assert!(
        body.chunks(100_000)
            .enumerate()
            .all(|(at, piece)| piece.iter().all(|byte| *byte == at as u8))
    );
}

#[test]
fn a_server_without_backups_says_so() {
    let server = TestServer::start();
    assert_eq!(server.connect().administer("backup", "").status, 404);
}

#[test]
fn a_backup_that_fails_breaks_the_answer_off() {
    let source = Arc::new(Pieces {
        count: 3,
        fails: true,
        ..Pieces::default()
    });
    let server = TestServer::backing_up(source, |_| {});
    let mut client = server.connect();
    client.write(REQUEST);
    let answer = client.rest();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    assert!(
        !answer.ends_with(b"0\r\n\r\n"),
        "an answer that was cut must not look complete"
    );
}

#[test]
fn one_backup_at_a_time_and_a_client_that_leaves_frees_the_seat() {
    let source = Pieces::of(100_000);
    let server = TestServer::backing_up(source.clone(), |_| {});
    let mut first = server.connect();
    first.write(REQUEST);
    wait_until("it has begun", || source.written.load(Ordering::SeqCst) > 0);
    let second = server.connect().administer("backup", "");
    assert_eq!(second.status, 409);
    assert!(second.text().contains("another backup is running"));
    // Other clients are served meanwhile.
    assert_eq!(server.call("ListTables", "{}").status, 200);
    drop(first);
    wait_until("the first has ended", || source.ended.load(Ordering::SeqCst) == 1);
    wait_until("the seat is free", || {
        let mut client = server.connect();
        client.write(REQUEST);
        client.head_status() == 200
    });
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let source = Pieces::of(100_000);
    let server = TestServer::backing_up(source.clone(), |settings| {
        settings.limits.body_read = Duration::from_millis(200);
    });
    let mut client = server.connect();
    client.write(REQUEST);
    wait_until("it is given up", || source.ended.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_backup_outlasts_the_idle_time() {
    #[derive(Debug)]
    struct Slow;
    impl BackupSource for Slow {
        fn backup(&self, out: &mut dyn Write) -> io::Result<()> {
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(100));
                out.write_all(b"piece")?;
            }
            Ok(())
        }
    }
    let server = TestServer::backing_up(Arc::new(Slow), |settings| {
        settings.limits.idle = Duration::from_millis(100);
    });
    assert_eq!(download(&server, &[]).1.len(), 8 * 5);
}

#[test]
fn with_access_keys_only_a_signed_request_gets_a_backup() {
    let server = TestServer::backing_up_at(SIGNED_AT_S, Pieces::of(1), |settings| {
        settings.access_keys = vec![KeyGrant::everything(key())];
    });
    let refused = server.connect().administer("backup", "");
    assert_eq!(refused.status, 400);
    assert!(
        refused.text().contains("MissingAuthenticationToken"),
        "{}",
        refused.text()
    );

    let now = Timestamp::from_secs(SIGNED_AT_S);
    let signed = sign(key(), now);
    let headers: Vec<(&str, &str)> = signed
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let (head, body) = download(&server, &headers);
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
    assert_eq!(body.len(), 100_000);

    let stranger = AccessKey {
        secret: "guessed".to_owned(),
        ..key()
    };
    let signed = sign(stranger, now);
    let headers: Vec<(&str, &str)> = signed
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let (head, body) = download(&server, &headers);
    assert!(head.starts_with("HTTP/1.0 400"), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("InvalidSignature"));
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "still waiting until {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
