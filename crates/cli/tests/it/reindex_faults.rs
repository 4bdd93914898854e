//! The status of a reindex at an endpoint that throttles and fails.

use crate::reindex::{catalogue, err, reindex, status};
use crate::routes::admin;
use crate::running::Running;
use serde_json::{Value, json};

const FAULTS: [&str; 3] = [
    "throttle,operation=UpdateItem,table=works,share=0.3,seed=7",
    "throttle,operation=Scan,table=works,times=2",
    "unavailable,operation=Scan,table=works,times=2",
];

/// How often each rule was injected.
fn injected(server: &Running) -> Vec<u64> {
    let (_, listed) = admin(server, "list-faults", json!({}));
    let rules = listed["rules"].as_array().unwrap();
    rules
        .iter()
        .map(|rule| rule["injected"].as_u64().unwrap())
        .collect()
}

/// Reindexes the table of a catalogue at its endpoint; returns the counts in the status.
fn counts(directory: &std::path::Path, server: &Running, name: &str, version: &str) -> Value {
    let endpoint = format!("http://127.0.0.1:{}", server.port());
    let start = [
        "start",
        "works",
        "--name",
        name,
        "--version",
        version,
        "--attempts",
        "40",
        "--json",
    ];
    let done = reindex(directory, &[&start[..], &["--endpoint", &endpoint]].concat());
    assert!(done.status.success(), "{}", err(&done));
    status(&done)["counts"].clone()
}

#[test]
fn what_the_client_tries_again_by_itself_is_counted_too() {
    let (directory, server) = catalogue(crate::reindex::MODEL, &["--allow-fault-injection"]);
    let quiet = counts(directory.path(), &server, "one", "7");
    assert_eq!(
        (&quiet["throttled"], &quiet["retries"]),
        (&json!(0), &json!(0)),
        "{quiet}"
    );
    assert_eq!(admin(&server, "set-faults", json!({ "rules": FAULTS })).0, 200);
    let loud = counts(directory.path(), &server, "two", "8");
    assert_eq!(loud["done"], json!(120), "{loud}");
    let injected = injected(&server);
    assert!(injected[0] > 20, "{injected:?}");
    assert_eq!(injected[1..], [2, 2]);
    let all: u64 = injected.iter().sum();
    assert_eq!(
        (&loud["throttled"], &loud["retries"]),
        (&json!(all), &json!(all)),
        "{loud}"
    );
}
