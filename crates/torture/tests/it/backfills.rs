//! SIGKILL at random moments during a backfill of a table that is being written: the target receives the
//! newest state of every row last, and never an older state for the first time after a newer one.
//!
//! `BACKFILL_ROWS`, `BACKFILL_WRITERS` and `BACKFILL_ROUNDS` make it larger.

use crate::routes::{Version, check_order, create, logged, put};
use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

const PATIENCE: Duration = Duration::from_secs(600);

/// A line that was cut off when the server died is ignored: only complete ones are read.
const ROUTES: &str = r#"
[route.log]
table = "things"
input = '{"pk": <keys.pk>, "n": <new.n>}'
target = { command = ["sh", "-c", 'while read -r line; do echo "$line"; done >> "$LOG"'], environment = { LOG = { env = "LOG" } } }
batch_size = 200
parallelization_factor = 2
starting_position = "all-rows"
"#;

#[test]
fn a_backfill_under_writers_brings_the_newest_state_last_whenever_the_server_is_killed() {
    let (rows, writers) = (rounds("BACKFILL_ROWS", 4_000), rounds("BACKFILL_WRITERS", 4));
    let (rounds, mut random) = (rounds("BACKFILL_ROUNDS", 5), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let server = start(dir.path(), false);
    let mut client = server.connect();
    create(&mut client);
    fill(&mut client, rows);
    server.kill();
    std::fs::write(dir.path().join("routes.toml"), ROUTES).unwrap();
    for round in 1..=rounds {
        let server = start(dir.path(), true);
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(50..rows / 10));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            for writer in 0..writers {
                let address = &address;
                let random = fastrand::Rng::with_seed(random.u64(..));
                scope.spawn(move || write(address, random, (writer, writers), rows, round));
            }
        });
    }
    let server = start(dir.path(), true);
    let mut client = server.connect();
    let done = until_done(&mut client, rows);
    let newest = newest(&mut client);
    let logged = logged_until(dir.path(), &newest);
    check_order(&logged);
    println!(
        "killed {rounds} times: {rows} rows, {} lines logged, {done} rows walked",
        logged.len()
    );
    server.kill();
    audit::verify(&dir.path().join("data")).unwrap();
}

fn start(directory: &Path, with_routes: bool) -> Server {
    let mut command = serve(&directory.join("data"));
    if with_routes {
        command.arg("--routes").arg(directory.join("routes.toml"));
    }
    Server::start(command.env("LOG", directory.join("log")))
}

fn key(row: u64) -> String {
    format!("row-{row}")
}

/// The first version of every row.
fn fill(client: &mut Client, rows: u64) {
    let all: Vec<u64> = (0..rows).collect();
    for some in all.chunks(25) {
        let put = |row: &u64| json!({"PutRequest": {"Item": {"pk": {"S": key(*row)}, "n": {"N": "1"}}}});
        let puts: Vec<Value> = some.iter().map(put).collect();
        let answer = client.call("BatchWriteItem", &json!({"RequestItems": {"things": puts}}));
        let answer = answer.unwrap();
        assert!(
            answer.status == 200 && answer.body["UnprocessedItems"] == json!({}),
            "{}",
            answer.body
        );
    }
}

/// Writes newer and newer versions of its own rows until the server is gone.
fn write(address: &str, mut random: fastrand::Rng, (writer, writers): (u64, u64), rows: u64, round: u64) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    for number in 1.. {
        let row = random.u64(..rows / writers) * writers + writer;
        if put(&mut client, &(key(row), round * 1_000_000_000 + number)).is_none() {
            return;
        }
    }
}

/// Waits for the backfill and for waiting changes; returns how many rows were read.
fn until_done(client: &mut Client, rows: u64) -> u64 {
    let begun = Instant::now();
    loop {
        let answer = client.administer("list-routes", &json!({})).unwrap().body;
        let route = &answer["routes"][0];
        if route["backfill"]["state"] == "done" && route["lag_records"] == 0 && route["parked"] == 0 {
            let walked = route["backfill"]["rows"].as_u64().unwrap();
            assert!(walked >= rows && route["dead"] == 0, "{route}");
            return walked;
        }
        assert!(begun.elapsed() < PATIENCE, "{route}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The version of every row.
fn newest(client: &mut Client) -> BTreeMap<String, u64> {
    let mut newest = BTreeMap::new();
    let mut scan = json!({"TableName": "things"});
    loop {
        let page = client.call("Scan", &scan).unwrap().body;
        for item in page["Items"].as_array().unwrap() {
            let pk = item["pk"]["S"].as_str().unwrap().to_owned();
            newest.insert(pk, item["n"]["N"].as_str().unwrap().parse().unwrap());
        }
        if page["LastEvaluatedKey"].is_null() {
            return newest;
        }
        scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    }
}

/// The command's output, once it has the newest version of every row.
fn logged_until(directory: &Path, newest: &BTreeMap<String, u64>) -> Vec<Version> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        let lines: Vec<Version> = text.lines().map(logged).collect();
        let last: BTreeMap<&str, u64> = lines.iter().map(|(pk, n)| (pk.as_str(), *n)).collect();
        let missing = newest.iter().find(|(pk, n)| last.get(pk.as_str()) != Some(n));
        match missing {
            None => return lines,
            Some(row) => assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{row:?}: the target saw {:?} last",
                last.get(row.0.as_str())
            ),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
