//! Routes of an endpoint with several gateways: one of them runs the routes, and another continues when it
//! ends.

use crate::routes::{ROUTES, TABLE, admin, saved, until};
use crate::running::{Running, start};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

const KEYS: usize = 5;

fn endpoint(home: &Path) -> Running {
    let endpoint = start(
        home,
        &["serve", "--in-memory", "--behind-gateways", "--port", "0"],
    );
    let made = endpoint.call("CreateTable", TABLE);
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    endpoint
}

fn gateway(home: &Path, endpoint: &Running, flags: &[&str]) -> Running {
    let url = format!("http://{}", endpoint.address);
    let mut args = vec!["serve", "--backend", &url, "--port", "0"];
    args.extend(flags);
    start(home, &args)
}

fn state(gateway: &Running) -> String {
    let (status, list) = admin(gateway, "list-routes", json!({}));
    assert_eq!(status, 200, "{list}");
    list["routes"][0]["state"].as_str().unwrap_or("none").to_owned()
}

fn update(gateway: &Running, key: usize, expression: &str, values: &Value) {
    let request = json!({
        "TableName": "things", "Key": {"pk": {"S": format!("key {key}")}},
        "UpdateExpression": expression, "ExpressionAttributeValues": values,
    });
    let answer = gateway.call("UpdateItem", &request.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn write(gateway: &Running, number: usize) {
    let value = json!({":n": {"N": number.to_string()}});
    update(gateway, number % KEYS, "SET n = :n", &value);
}

/// The deliveries: the numbers of each key in their order.
fn arrived(home: &Path) -> BTreeMap<String, Vec<u64>> {
    let mut arrived: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in saved(home).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let new = &line["input"]["new"];
        let numbers = arrived.entry(new["pk"].as_str().unwrap().to_owned()).or_default();
        numbers.push(new["n"].as_u64().unwrap());
    }
    arrived
}

fn count(home: &Path) -> usize {
    let distinct = |numbers: &Vec<u64>| numbers.iter().collect::<HashSet<_>>().len();
    arrived(home).values().map(distinct).sum()
}

/// Two gateways: the first runs the routes, and some changes have arrived.
fn two_at_work(home: &Path, endpoint: &Running) -> (Running, Running) {
    std::fs::write(home.join("routes.toml"), ROUTES).unwrap();
    let first = gateway(home, endpoint, &["--routes", "routes.toml"]);
    let second = gateway(home, endpoint, &["--allow-command-routes"]);
    until("the first runs them", || state(&first) == "running");
    until("the second knows it", || state(&second) == "at-another-gateway");
    for number in 0..60 {
        write(if number % 2 == 0 { &first } else { &second }, number);
    }
    until("some have arrived", || count(home) >= 30);
    for number in 60..100 {
        write(&second, number);
    }
    (first, second)
}

/// The first has ended: all changes are delivered by the second.
fn second_goes_on(home: &Path, second: &Running) {
    let since = Instant::now();
    for number in 100..200 {
        write(second, number);
    }
    while count(home) < 200 {
        assert!(since.elapsed() < Duration::from_secs(40), "{:?}", arrived(home));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(state(second), "running");
}

/// Nothing is missing. Deliveries under way at the end of a gateway may be repeated, but never overtaken.
fn assert_in_order(home: &Path, count: usize) {
    for (key, numbers) in arrived(home) {
        let mut seen = HashSet::new();
        let first: Vec<u64> = numbers
            .iter()
            .copied()
            .filter(|number| seen.insert(*number))
            .collect();
        assert!(
            first.is_sorted() && first.len() == count / KEYS,
            "{key}: {numbers:?}"
        );
    }
}

#[test]
fn a_killed_gateway_is_taken_over_nothing_is_lost_and_items_stay_in_order() {
    let home = tempfile::tempdir().unwrap();
    let endpoint = endpoint(home.path());
    let (first, second) = two_at_work(home.path(), &endpoint);
    // While it delivers.
    drop(first);
    second_goes_on(home.path(), &second);
    assert_in_order(home.path(), 200);
}

#[test]
fn a_gateway_that_stood_still_and_goes_on_leaves_the_routes_to_the_other() {
    let home = tempfile::tempdir().unwrap();
    let endpoint = endpoint(home.path());
    let (first, second) = two_at_work(home.path(), &endpoint);
    signal(&first, "-STOP");
    second_goes_on(home.path(), &second);
    let before = saved(home.path());
    signal(&first, "-CONT");
    until("the first knows it", || state(&first) == "at-another-gateway");
    for number in 200..220 {
        write(&first, number);
    }
    until("all have arrived", || count(home.path()) == 220);
    assert_in_order(home.path(), 220);
    // The late gateway repeated no delivery, except the batch that it was about to deliver.
    let more = saved(home.path()).lines().count() - before.lines().count();
    assert!(more <= 20 + 100, "{more}");
    assert_eq!(state(&second), "running");
}

fn signal(gateway: &Running, signal: &str) {
    let id = gateway.process_id().to_string();
    let sent = std::process::Command::new("kill")
        .args([signal, &id])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn the_routes_of_a_model_come_and_go_with_it_at_all_gateways() {
    let home = tempfile::tempdir().unwrap();
    let endpoint = start(
        home.path(),
        &["serve", "--in-memory", "--behind-gateways", "--port", "0"],
    );
    let model = r#"
model = "shop"
[table.things]
key = ["pk"]
stream = "new-and-old-images"
[entity.user]
table = "things"
key = { pk = "USER#{id}" }
attributes = { id = "string", n = "integer" }
[route.welcome]
entity = "user"
event = "insert"
target = { command = ["sh", "-c", "cat >> saved"] }
"#;
    let first = gateway(home.path(), &endpoint, &["--allow-command-routes"]);
    let second = gateway(home.path(), &endpoint, &["--allow-command-routes"]);
    let (status, answer) = admin(&second, "apply-model", json!({"text": model}));
    assert_eq!(status, 200, "{answer}");
    let runs = || {
        [&first, &second]
            .map(state)
            .iter()
            .filter(|state| *state == "running")
            .count()
    };
    until("one of them runs it", || runs() == 1);
    let put = r#"{"TableName":"things","Item":{"id":{"S":"ann"},"n":{"N":"7"}}}"#;
    let answer = first.call("PutItem", put);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    until("it has arrived", || {
        saved(home.path()).contains("\"entity\":\"user\"")
    });
    let (status, answer) = admin(&first, "remove-model", json!({"name": "shop"}));
    assert_eq!(status, 200, "{answer}");
    until("it is gone", || [&first, &second].map(state) == ["none", "none"]);
}

#[test]
fn calls_go_to_any_gateway_and_one_that_stops_is_followed_at_once() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("routes.toml"), ROUTES).unwrap();
    std::fs::write(home.path().join("closed"), "").unwrap();
    let endpoint = endpoint(home.path());
    let first = gateway(
        home.path(),
        &endpoint,
        &["--routes", "routes.toml", "--allow-command-routes"],
    );
    let second = gateway(home.path(), &endpoint, &["--allow-command-routes"]);
    until("the first runs them", || state(&first) == "running");
    write(&second, 1);
    // A refused change becomes a dead letter, which every gateway shows.
    let letters = |gateway: &Running| {
        let (status, list) = admin(gateway, "list-dead-letters", json!({}));
        assert_eq!(status, 200, "{list}");
        list["dead_letters"].as_array().unwrap().len()
    };
    until("both show the dead letter", || {
        letters(&first) == 1 && letters(&second) == 1
    });
    assert!(
        first
            .get("/metrics")
            .contains("trestle_route_dead_letters{route=\"saved\"} 1")
    );
    assert!(!second.get("/metrics").contains("trestle_route_"));
    let (_, list) = admin(&second, "list-routes", json!({}));
    assert_eq!(
        (&list["routes"][0]["state"], &list["routes"][0]["dead"]),
        (&json!("at-another-gateway"), &json!(1))
    );

    // A replay at the other gateway takes the routes over.
    std::fs::remove_file(home.path().join("closed")).unwrap();
    let (status, replayed) = admin(&second, "replay-dead-letters", json!({"all": true}));
    assert_eq!((status, &replayed["delivered"]), (200, &json!(1)), "{replayed}");
    assert_eq!(count(home.path()), 1);
    assert_eq!(state(&second), "running");
    until("the first knows it", || state(&first) == "at-another-gateway");

    // When a reindex raises the version of a row, this is no change by the application.
    update(&first, 1, "SET reindexVersion = :v", &json!({":v": {"N": "2"}}));
    update(&first, 1, "SET reindexVersion = :v", &json!({":v": {"N": "3"}}));
    write(&first, 6);
    until("the change has arrived", || count(home.path()) == 2);
    let versions = |line: &str| serde_json::from_str::<Value>(line).unwrap()["input"]["changed"].clone();
    let changed: Vec<Value> = saved(home.path()).lines().map(versions).collect();
    assert!(changed.ends_with(&[json!(["n"])]), "{changed:?}");
    assert_eq!(changed.len(), 2, "touches are passed: {changed:?}");

    // A gateway that stops gives the routes up, and the other continues at once.
    let stopped = Instant::now();
    let (code, log) = second.stop();
    assert_eq!(code, Some(0), "{log}");
    until("the first runs them again", || state(&first) == "running");
    assert!(
        stopped.elapsed() < Duration::from_secs(10),
        "{:?}",
        stopped.elapsed()
    );
    write(&first, 11);
    until("the next has arrived", || count(home.path()) == 3);

    // Routes are paused by a file with that setting, and continue at their positions.
    let paused = ROUTES.replace("target =", "enabled = false\ntarget =");
    let (status, answer) = admin(&first, "apply-routes", json!({"text": paused}));
    assert_eq!(
        (status, &answer["routes"][0]["state"]),
        (200, &json!("disabled")),
        "{answer}"
    );
    write(&first, 16);
    let (status, answer) = admin(&first, "apply-routes", json!({"text": ROUTES}));
    assert_eq!(status, 200, "{answer}");
    until("what was written meanwhile has arrived", || {
        count(home.path()) == 4
    });
}
