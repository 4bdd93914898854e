//! SIGKILL at random moments of the receivers of changes, while the server runs: a webhook's process and a
//! command receive every change at least once and in order per item, and when they run again nothing is
//! stuck.

use crate::routes::{Version, check_order, create, logged, put};
use crate::{rounds, seed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::server::{Server, serve};

const WORKERS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the webhook listens and what it writes, for the process that plays it.
const TARGET: &str = "TORTURE_TARGET";
const LOG: &str = "TORTURE_TARGET_LOG";

/// The command sometimes kills itself, after a line and before the next.
const ROUTES: &str = r#"
[route.hook]
table = "things"
input = '{"pk": <keys.pk>, "n": <new.n>}'
target = { webhook = "http://ADDRESS/" }
batch_size = 5
parallelization_factor = 3
maximum_retry_attempts = 10000
backoff = { first = "5ms", longest = "50ms" }

[route.command]
table = "things"
input = '{"pk": <keys.pk>, "n": <new.n>}'
target = { command = ["sh", "-c", '''while read -r line; do
  echo "$line" >> command.log
  [ "$(od -An -N1 -tu1 /dev/urandom)" -gt 245 ] && kill -9 $$
done; true'''], directory = "DIRECTORY" }
batch_size = 20
maximum_retry_attempts = 10000
backoff = { first = "5ms", longest = "50ms" }
"#;

#[test]
fn changes_arrive_in_order_whenever_their_target_is_killed() {
    if let Ok(address) = std::env::var(TARGET) {
        take_changes(&address);
    }
    let (rounds, mut random) = (rounds("TARGET_ROUNDS", 4), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = start(dir.path(), &address.to_string());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let server = &server;
            scope.spawn(move || write(server, worker, rounds * 30));
        }
        for _ in 0..rounds {
            let mut target = start_target(&address.to_string(), dir.path());
            std::thread::sleep(Duration::from_millis(random.u64(30..300)));
            target.kill().unwrap();
            target.wait().unwrap();
        }
    });
    let mut target = start_target(&address.to_string(), dir.path());
    let written: BTreeSet<Version> = (0..WORKERS)
        .flat_map(|worker| (1..=rounds * 30).map(move |n| version(worker, n)))
        .collect();
    let mut repeated = 0;
    for log in ["hook.log", "command.log"] {
        let lines = logged_until(&dir.path().join(log), &written);
        check_order(&lines);
        repeated += lines.len() - written.len();
    }
    target.kill().unwrap();
    target.wait().unwrap();
    println!(
        "targets killed: {} changes, {repeated} deliveries repeated, {:?}",
        written.len(),
        begun.elapsed()
    );
    server.kill();
}

fn start(directory: &Path, address: &str) -> Server {
    let routes = ROUTES
        .replace("ADDRESS", address)
        .replace("DIRECTORY", directory.to_str().unwrap());
    std::fs::write(directory.join("routes.toml"), routes).unwrap();
    create(&mut Server::on(&directory.join("data")).connect());
    let routes = directory.join("routes.toml");
    Server::start(serve(&directory.join("data")).arg("--routes").arg(routes))
}

/// The version of one of three items of a worker.
fn version(worker: usize, n: u64) -> Version {
    (format!("{worker}-{}", n % 3), n)
}

fn write(server: &Server, worker: usize, count: u64) {
    let mut client = server.connect();
    for n in 1..=count {
        put(&mut client, &version(worker, n)).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// This test once more, as the process behind the webhook.
fn start_target(address: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "targets::changes_arrive_in_order_whenever_their_target_is_killed",
        ])
        .env(TARGET, address)
        .env(LOG, directory.join("hook.log"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Writes down every record that it receives, in order, until it is killed.
fn take_changes(address: &str) -> ! {
    let listener = TcpListener::bind(address).unwrap();
    let log = std::env::var(LOG).unwrap();
    let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
    loop {
        let (stream, _) = listener.accept().unwrap();
        let log = log.try_clone().unwrap();
        std::thread::spawn(move || while take(&stream, &log).is_some() {});
    }
}

/// Answers a request; `None` when there are no more.
fn take(mut stream: &TcpStream, mut log: &File) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    for record in body["records"].as_array()? {
        // In one piece, so that no line is cut off.
        log.write_all(format!("{record}\n").as_bytes()).ok()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .ok()
}

/// A target's output, once it has received everything.
fn logged_until(log: &Path, written: &BTreeSet<Version>) -> Vec<Version> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<Version> = text.lines().map(logged).collect();
        let seen: BTreeSet<Version> = lines.iter().cloned().collect();
        match written.difference(&seen).next() {
            None => return lines,
            Some(missing) => assert!(
                begun.elapsed() < PATIENCE,
                "{missing:?} did not reach {}",
                log.display()
            ),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
