//! Mixed load for a given time: writers, readers, a queue, and an occasional kill. Nothing acknowledged is
//! lost, reads never fail while the server is up, and memory stays within bounds.

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::{Client, RawResponse};
use trestle_torture::memory::most_resident_while;
use trestle_torture::server::Server;
use trestle_torture::workload::{self, INDEX, TABLE, Weight, Worker};
use trestle_torture::{audit, server};

const WRITERS: usize = 4;
const RESIDENT_BYTES_MAX: u64 = 700 << 20;
/// How long the server runs between two kills, in milliseconds, unless the whole time is shorter.
const RUN_MS: std::ops::Range<u64> = 2_000..15_000;

#[test]
fn mixed_load_with_kills_loses_nothing() {
    let (seconds, seed) = (rounds("SOAK_SECONDS", 6), seed());
    let (dir, mut random) = (TempDir::new().unwrap(), fastrand::Rng::with_seed(seed));
    let mut workers = workload::workers(WRITERS, Weight::Light, seed);
    let mut sent = Messages::default();
    create(dir.path());
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        let time = Duration::from_millis(random.u64(RUN_MS)).min(left);
        let most = run(dir.path(), &mut workers, &mut sent, time);
        assert!(most < RESIDENT_BYTES_MAX, "the server took {most} bytes");
        let server = Server::on(dir.path());
        let found = audit::check_items(&mut server.connect(), &workers, u64::MAX);
        let (items, _) = found.unwrap_or_else(|fault| panic!("{fault}"));
        let messages = sent.check(&server);
        let acknowledged: usize = workers.iter().map(Worker::acknowledged).sum();
        println!(
            "{:.0} s: {acknowledged} writes acknowledged, {} items, {messages} messages, {} MB",
            time.as_secs_f64(),
            items.len(),
            most >> 20
        );
        assert!(acknowledged > 0, "nothing was written");
        audit::reconcile(&mut workers, &items);
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
}

fn create(directory: &Path) {
    let server = Server::on(directory);
    workload::create_table(&mut server.connect());
    let made = server
        .connect()
        .call_queue("CreateQueue", &json!({"QueueName": "soak"}));
    assert_eq!(made.unwrap().status, 200);
}

/// Runs everything against a server that is killed at the end. Returns the most memory that it used.
fn run(directory: &Path, workers: &mut [Worker], sent: &mut Messages, time: Duration) -> u64 {
    let server = Server::start(&mut server::serve(directory));
    let (address, process) = (server.address.clone(), server.id());
    let end = Instant::now() + time;
    let is_over = || Instant::now() >= end;
    let (most, ()) = most_resident_while(process, || {
        std::thread::scope(|scope| {
            scope.spawn(|| read_until(&address, &is_over));
            scope.spawn(|| sent.send_until(&address, &is_over));
            scope.spawn(|| {
                std::thread::sleep(end.saturating_duration_since(Instant::now()));
                server.kill();
            });
            workload::run(workers, &address, &|| false, &|| 0);
        });
    });
    most
}

/// Reads in every way. An answer must be a success; no answer means that the server was killed.
fn read_until(address: &str, is_over: &dyn Fn() -> bool) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    let key = json!({"pk": {"S": "w0-0"}});
    let group = json!({":g": {"S": "g1"}});
    let reads = [
        ("GetItem", json!({"TableName": TABLE, "Key": key})),
        (
            "Query",
            json!({"TableName": TABLE, "IndexName": INDEX, "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": group}),
        ),
        ("Scan", json!({"TableName": TABLE, "Limit": 50})),
        ("BatchGetItem", json!({"RequestItems": {TABLE: {"Keys": [key]}}})),
        (
            "ExecuteStatement",
            json!({"Statement": format!("SELECT pk FROM \"{TABLE}\" WHERE pk = 'w1-1'")}),
        ),
        ("DescribeTable", json!({"TableName": TABLE})),
    ];
    for (operation, body) in reads.iter().cycle() {
        match client.call(operation, body) {
            Ok(answer) => assert_eq!(answer.status, 200, "{operation}: {}", answer.body),
            Err(_) if is_over() => return,
            Err(error) => panic!("{operation}: {error}"),
        }
    }
}

/// What was sent to the queue.
#[derive(Default)]
struct Messages {
    next: u64,
    /// Acknowledged, and not yet received by a check.
    acknowledged: BTreeSet<u64>,
}

impl Messages {
    fn send_until(&mut self, address: &str, is_over: &dyn Fn() -> bool) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        let url = format!("http://{address}/000000000000/soak");
        loop {
            let number = self.next;
            self.next += 1;
            let body = json!({"QueueUrl": url, "MessageBody": number.to_string()});
            match client.call_queue("SendMessage", &body) {
                Ok(answer) => assert_eq!(answer.status, 200, "{}", answer.body),
                Err(_) if is_over() => return,
                Err(error) => panic!("SendMessage: {error}"),
            }
            self.acknowledged.insert(number);
        }
    }

    /// Receives and deletes every message: all that were acknowledged are there. Returns how many those were.
    fn check(&mut self, server: &Server) -> usize {
        let mut client = server.connect();
        let url = format!("http://{}/000000000000/soak", server.address);
        let mut missing = std::mem::take(&mut self.acknowledged);
        let count = missing.len();
        loop {
            let body = json!({"QueueUrl": url, "MaxNumberOfMessages": 10});
            let answer = succeed(client.call_queue("ReceiveMessage", &body));
            let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
            if messages.is_empty() {
                break;
            }
            let entries = (0..).zip(&messages).map(|(id, message): (u32, _)| {
                let number: u64 = message["Body"].as_str().unwrap().parse().unwrap();
                missing.remove(&number);
                json!({"Id": id.to_string(), "ReceiptHandle": message["ReceiptHandle"]})
            });
            let body = json!({"QueueUrl": url, "Entries": entries.collect::<Vec<_>>()});
            succeed(client.call_queue("DeleteMessageBatch", &body));
        }
        assert!(
            missing.is_empty(),
            "{} of {count} messages are lost: {missing:?}",
            missing.len()
        );
        count
    }
}

fn succeed(answer: std::io::Result<RawResponse>) -> Value {
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}
