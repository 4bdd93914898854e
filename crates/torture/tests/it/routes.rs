//! SIGKILL at random moments while changes are routed: each is sent to a queue exactly once, and delivered to
//! a command at least once and in order per item; after the last start nothing is stuck.

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

const WORKERS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// A line that was cut off when the server died is ignored: only complete ones are read.
const ROUTES: &str = r#"
[route.mail]
table = "things"
target = { queue = "mail" }
batch_size = 7
starting_position = "trim-horizon"

[route.log]
table = "things"
input = '{"pk": <keys.pk>, "n": <new.n>}'
target = { command = ["sh", "-c", 'while read -r line; do echo "$line" >> "$LOG"; done'], environment = { LOG = { env = "LOG" } } }
parallelization_factor = 3
starting_position = "trim-horizon"
"#;

/// An item and its version.
pub(super) type Version = (String, u64);

#[derive(Debug, Default)]
struct Written {
    attempted: BTreeSet<Version>,
    acknowledged: BTreeSet<Version>,
}

#[test]
fn changes_reach_a_queue_exactly_once_and_a_command_in_order_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("ROUTE_ROUNDS", 4), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("routes.toml"), ROUTES).unwrap();
    let written = Mutex::new(Written::default());
    create(&mut start(dir.path()).connect());
    for round in 1..=rounds {
        let server = start(dir.path());
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(30..400));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            for worker in 0..WORKERS {
                let (address, written) = (&address, &written);
                scope.spawn(move || write(address, worker, round, written));
            }
        });
    }
    let server = start(dir.path());
    let mut client = server.connect();
    let last = ("last".to_owned(), 1);
    put(&mut client, &last).unwrap();
    let written = written.lock().unwrap();
    let sent = receive_until(&mut client, &last);
    for version in &written.acknowledged {
        assert_eq!(sent.get(version), Some(&1), "{version:?} in the queue");
    }
    for (version, times) in &sent {
        let is_known = written.attempted.contains(version) || *version == last;
        assert!(
            is_known && *times == 1,
            "{version:?} is in the queue {times} times"
        );
    }
    let logged = logged_until(dir.path(), &sent);
    check_order(&logged);
    println!(
        "killed {rounds} times: {} sent, {} lines logged",
        sent.len(),
        logged.len()
    );
    server.kill();
    audit::verify(&dir.path().join("data")).unwrap();
}

fn start(directory: &Path) -> Server {
    let routes = directory.join("routes.toml");
    Server::start(
        serve(&directory.join("data"))
            .arg("--routes")
            .arg(routes)
            .env("LOG", directory.join("log")),
    )
}

pub(super) fn create(client: &mut Client) {
    let table = json!({
        "TableName": "things", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    assert_eq!(client.call("CreateTable", &table).unwrap().status, 200);
    let queue = json!({"QueueName": "mail", "Attributes": {"VisibilityTimeout": "3600"}});
    assert_eq!(client.call_queue("CreateQueue", &queue).unwrap().status, 200);
}

pub(super) fn put(client: &mut Client, (pk, n): &Version) -> Option<()> {
    let item = json!({"TableName": "things", "Item": {"pk": {"S": pk}, "n": {"N": n.to_string()}}});
    let answer = client.call("PutItem", &item).ok()?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    Some(())
}

/// Writes new versions of a few of its own items until the server is gone.
fn write(address: &str, worker: usize, round: u64, written: &Mutex<Written>) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    for number in 0.. {
        let version = (format!("{worker}-{}", number % 3), round * 1_000_000 + number);
        written.lock().unwrap().attempted.insert(version.clone());
        if put(&mut client, &version).is_none() {
            return;
        }
        written.lock().unwrap().acknowledged.insert(version);
    }
}

/// Everything in the queue, with its number; it is complete when the last change is there.
fn receive_until(client: &mut Client, last: &Version) -> BTreeMap<Version, u64> {
    let begun = Instant::now();
    let mut found = BTreeMap::new();
    loop {
        let url = "http://localhost/000000000000/mail";
        let receive = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1});
        let got = client.call_queue("ReceiveMessage", &receive).unwrap().body;
        let messages = got["Messages"].as_array().cloned().unwrap_or_default();
        if messages.is_empty() && found.contains_key(last) {
            return found;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{} messages, but not the last",
            found.len()
        );
        for message in messages {
            let body: Value = serde_json::from_str(message["Body"].as_str().unwrap()).unwrap();
            let pk = body["keys"]["pk"].as_str().unwrap().to_owned();
            *found.entry((pk, body["new"]["n"].as_u64().unwrap())).or_default() += 1;
        }
    }
}

/// The command's output, once it has everything that the queue has.
fn logged_until(directory: &Path, sent: &BTreeMap<Version, u64>) -> Vec<Version> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        let lines: Vec<Version> = text.lines().map(logged).collect();
        let seen: BTreeSet<&Version> = lines.iter().collect();
        let missing = sent.keys().find(|version| !seen.contains(version));
        match missing {
            None => return lines,
            Some(version) => assert!(
                begun.elapsed() < PATIENCE,
                "{version:?} did not reach the command"
            ),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn logged(line: &str) -> Version {
    let record: Value = serde_json::from_str(line).unwrap();
    let input = &record["input"];
    (
        input["pk"].as_str().unwrap().to_owned(),
        input["n"].as_u64().unwrap(),
    )
}

/// Each item's versions arrive in order; a repetition starts somewhere before, and ends with the newest.
pub(super) fn check_order(logged: &[Version]) {
    let mut items: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (pk, n) in logged {
        items.entry(pk).or_default().push(*n);
    }
    for (pk, versions) in items {
        let mut first_seen: Vec<u64> = Vec::new();
        for n in &versions {
            if !first_seen.contains(n) {
                first_seen.push(*n);
            }
        }
        assert!(first_seen.is_sorted(), "{pk}: {versions:?}");
        assert_eq!(versions.last(), first_seen.last(), "{pk}: {versions:?}");
    }
}
