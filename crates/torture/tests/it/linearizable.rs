//! Many clients on a few items: one order explains what all of them saw.

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::{Client, RawResponse};
use trestle_torture::linearizability::{Action, Operation, is_linearizable};
use trestle_torture::server::Server;
use trestle_torture::workload::succeed;

const CLIENTS: u64 = 8;
const KEYS: usize = 3;
const TABLE: &str = "registers";

#[test]
fn histories_of_single_items_are_linearizable() {
    for round in 0..rounds("LINEARIZABILITY_ROUNDS", 1) {
        let (dir, seed) = (TempDir::new().unwrap(), seed().wrapping_add(round));
        let server = Server::on(dir.path());
        create_table(&mut server.connect());
        let histories = record(&server, seed, false);
        for (key, history) in histories.iter().enumerate() {
            println!("{} operations on item {key}", history.len());
            assert!(history.len() > 20, "too few to mean anything");
            assert!(is_linearizable(history), "item {key}: {history:?}");
        }
    }
}

/// The same with a SIGKILL in the middle: unanswered operations happened or not, but the others did.
#[test]
fn histories_across_a_kill_are_linearizable() {
    for round in 0..rounds("LINEARIZABILITY_ROUNDS", 1) {
        let (dir, seed) = (TempDir::new().unwrap(), seed().wrapping_add(round));
        let server = Server::on(dir.path());
        create_table(&mut server.connect());
        let mut histories = record(&server, seed, true);
        server.kill();
        let server = Server::on(dir.path());
        let mut client = server.connect();
        for (key, history) in histories.iter_mut().enumerate() {
            let action = Action::Get(read(&mut client, key).unwrap());
            history.push(Operation {
                called: u64::MAX - 1,
                returned: Some(u64::MAX),
                action,
            });
            assert!(is_linearizable(history), "item {key}: {history:?}");
        }
    }
}

fn create_table(client: &mut Client) {
    let table = json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    succeed(client, "CreateTable", &table);
}

/// Runs all clients; returns the operations of each item. With `kill` the server is killed.
fn record(server: &Server, seed: u64, kill: bool) -> Vec<Vec<Operation>> {
    let (start, values) = (Instant::now(), AtomicU64::new(1));
    let end = start + Duration::from_millis(1000);
    let (address, values) = (server.address.as_str(), &values);
    let recorded: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS)
            .map(|id| {
                let random = fastrand::Rng::with_seed(seed.wrapping_add(id));
                scope.spawn(move || client(address, random, values, start, end))
            })
            .collect();
        if kill {
            std::thread::sleep(Duration::from_millis(500));
            let killed = std::process::Command::new("kill")
                .args(["-KILL", &server.id().to_string()])
                .status();
            assert!(killed.unwrap().success());
        }
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let of_key = |key| {
        recorded
            .iter()
            .filter(|(of, _)| *of == key)
            .map(|(_, operation)| *operation)
            .collect()
    };
    (0..KEYS).map(of_key).collect()
}

fn client(
    address: &str,
    mut random: fastrand::Rng,
    values: &AtomicU64,
    start: Instant,
    end: Instant,
) -> Vec<(usize, Operation)> {
    let mut client = Client::connect(address).unwrap();
    let (mut history, mut last_seen) = (Vec::new(), [1; KEYS]);
    let now = || start.elapsed().as_nanos() as u64;
    while Instant::now() < end {
        let key = random.usize(0..KEYS);
        let new = values.fetch_add(1, Ordering::SeqCst);
        let called = now();
        let (planned, outcome) = act(&mut client, key, last_seen[key], new, random.u8(0..10));
        let (action, returned) = match outcome {
            Ok(action) => (action, Some(now())),
            Err(_) => (planned, None),
        };
        history.push((
            key,
            Operation {
                called,
                returned,
                action,
            },
        ));
        match action {
            _ if returned.is_none() => return history,
            Action::Get(Some(seen)) => last_seen[key] = seen,
            Action::Put(value) => last_seen[key] = value,
            _ => {}
        }
    }
    history
}

/// An operation, and its outcome.
fn act(
    client: &mut Client,
    key: usize,
    expected: u64,
    new: u64,
    choice: u8,
) -> (Action, std::io::Result<Action>) {
    match choice {
        0..4 => (Action::Get(None), read(client, key).map(Action::Get)),
        4..6 => {
            let body = json!({"TableName": TABLE, "Item": {"pk": {"N": key.to_string()}, "v": number(new)}});
            let put = Action::Put(new);
            (
                put,
                client.call("PutItem", &body).map(|answer| done(&answer, put)),
            )
        }
        6 => {
            let body = json!({"TableName": TABLE, "Key": {"pk": {"N": key.to_string()}}});
            let answer = client.call("DeleteItem", &body);
            (Action::Delete, answer.map(|answer| done(&answer, Action::Delete)))
        }
        _ => {
            let body = json!({
                "TableName": TABLE,
                "Key": {"pk": {"N": key.to_string()}},
                "UpdateExpression": "SET v = :new",
                "ConditionExpression": "v = :expected",
                "ExpressionAttributeValues": {":new": number(new), ":expected": number(expected)},
            });
            let swap = |done| Action::Swap { expected, new, done };
            let answer = client.call("UpdateItem", &body);
            let outcome = answer.map(|answer| match answer.error() {
                "ConditionalCheckFailedException" => swap(false),
                _ => done(&answer, swap(true)),
            });
            (swap(true), outcome)
        }
    }
}

fn done(answer: &RawResponse, action: Action) -> Action {
    assert_eq!(answer.status, 200, "{}", answer.body);
    action
}

fn number(value: u64) -> Value {
    json!({"N": value.to_string()})
}

fn read(client: &mut Client, key: usize) -> std::io::Result<Option<u64>> {
    let body = json!({"TableName": TABLE, "Key": {"pk": {"N": key.to_string()}}, "ConsistentRead": true});
    let answer = client.call("GetItem", &body)?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let value = answer.body["Item"]["v"]["N"].as_str();
    Ok(value.map(|value| value.parse().unwrap()))
}
