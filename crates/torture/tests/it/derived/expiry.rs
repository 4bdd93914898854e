//! Rows with every effect expire while the server is down: derived rows are removed with them at the next
//! start.

use super::check;
use super::version::Version;
use crate::rounds;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use trestle_torture::audit::{all, verify};
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};
use trestle_torture::workload::succeed;

/// The more models there are, the longer it takes until they are all in force.
const MODELS: usize = 13;
/// How many rows of each kind a round writes, all into the table of one model.
const ROWS: u64 = 60;
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn rows_that_expire_while_the_server_is_down_take_everything_derived_with_them() {
    let rounds = rounds("EXPIRY_ROUNDS", 3);
    let (dir, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let versions: Vec<Version> = (0..MODELS)
        .map(|number| Version::whole(&format!("m{number:02}")))
        .collect();
    let server = Server::on(dir.path());
    for version in &versions {
        version.apply(scratch.path(), &server.address);
    }
    drop(server);
    for round in 1..=rounds {
        let version = &versions[round as usize % MODELS];
        let server = before_expiry(dir.path());
        write(&mut server.connect(), version, round);
        if round % 2 == 0 {
            server.terminate();
        } else {
            server.kill();
        }
        let server = Server::on(dir.path());
        let mut client = server.connect();
        wait_until_expired(&mut client, version);
        check(&mut client, version);
        server.kill();
        verify(dir.path()).unwrap();
        println!("expired: round {round}, {}", version.model);
    }
}

/// A server whose clock is an hour behind.
fn before_expiry(directory: &Path) -> Server {
    let server = Server::start(serve(directory).arg("--virtual-clock"));
    let answer = server.connect().set_clock(now() - 3600).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    server
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Rows that all expire before now, and some that stay.
fn write(client: &mut Client, version: &Version, round: u64) {
    let put = |client: &mut Client, kind: &str, attributes: Value, expires: bool| {
        let mut item = attributes;
        item["kind"] = json!({"S": kind});
        if expires {
            item["expires"] = json!({"N": (now() - 1800).to_string()});
        }
        succeed(
            client,
            "PutItem",
            &json!({"TableName": version.table(), "Item": item}),
        );
    };
    put(
        client,
        "person",
        json!({"person": {"S": "stays"}, "name": {"S": format!("round {round}")}}),
        false,
    );
    for row in 0..ROWS {
        let (group, stays) = (row % 7, row % 10 == 0);
        put(
            client,
            "doc",
            json!({
                "name": {"S": format!("d{group}")}, "version": {"N": row.to_string()}, "rank": {"N": row.to_string()},
                "body": {"S": format!("b{row}")}, "words": {"L": [{"S": format!("w{group}")}, {"N": "7"}]},
            }),
            !stays,
        );
        let shop = format!("s{group}");
        put(
            client,
            "order",
            json!({"id": {"S": format!("o{row}")}, "shop": {"S": shop}, "event": {"S": format!("e{row}")}}),
            !stays,
        );
        let person = format!("p{row}");
        put(
            client,
            "person",
            json!({"person": {"S": person}, "clubs": {"SS": [format!("c{group}")]}}),
            !stays,
        );
        put(
            client,
            "follows",
            json!({"from": {"S": person}, "to": {"S": "stays"}}),
            !stays,
        );
        put(
            client,
            "seat",
            json!({"seat": {"S": person}, "person": {"S": "stays"}}),
            !stays,
        );
        put(
            client,
            "badge",
            json!({"badge": {"S": person}, "person": {"S": "stays"}}),
            !stays,
        );
    }
}

/// Waits until no row is left that should have expired.
fn wait_until_expired(client: &mut Client, version: &Version) {
    let deadline = Instant::now() + PATIENCE;
    let scan = json!({
        "TableName": version.table(), "ConsistentRead": true, "FilterExpression": "attribute_exists(expires)",
    });
    loop {
        let left = all(client, "Scan", &scan);
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{} rows do not expire: {}",
            left.len(),
            left[0]
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
