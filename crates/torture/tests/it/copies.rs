//! Many rows copied to another server under writers, with kill -9 of the copy, its source and its target:
//! when the target takes over, it has everything that was acknowledged, and nothing else.
//!
//! A few rows by default. With a million rows, in a few minutes, and with figures:
//!
//! ```sh
//! COPY_ROWS=1000000 COPY_KILLS=0 cargo test --release -p trestle-torture --test it copied -- --nocapture
//! ```

use crate::{Sets, rounds, seed};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::copier::{Copier, copy, report, url};
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve_at};
use trestle_torture::workload::succeed;
use trestle_torture::{audit, server};

const TABLE: &str = "orders";
const WRITERS: u64 = 4;
/// Of all writers together, in a second.
const WRITES_PER_SECOND: u64 = 200;
/// A row is as long as those of a small application.
const NOTE: &str = "a note of some length, as applications have them in their rows";

#[test]
fn many_rows_are_copied_under_writers_and_none_is_lost_or_stale_or_comes_back() {
    let (rows, kills) = (rounds("COPY_ROWS", 4_000), rounds("COPY_KILLS", 6));
    let mut random = fastrand::Rng::with_seed(seed());
    let dir = TempDir::new().unwrap();
    let place = |name: &str| dir.path().join(name);
    let mut source = Some(Server::on(&place("source")));
    let mut target = Some(Server::on(&place("target")));
    let (from, to) = (address(&source), address(&target));
    load(source.as_ref().unwrap(), rows);
    let state = place("state.json");
    let writers: Vec<Mutex<Writer>> = (0..WRITERS)
        .map(|at| Mutex::new(Writer::new(at, rows, random.fork())))
        .collect();
    let (place_to_write, is_over) = (Mutex::new(from.clone()), AtomicBool::new(false));
    let paused_ms = std::thread::scope(|scope| {
        let _stop = Sets(&is_over);
        for writer in &writers {
            let (place_to_write, is_over) = (&place_to_write, &is_over);
            scope.spawn(move || writer.lock().unwrap().live(place_to_write, is_over));
        }
        let began = Instant::now();
        let (from_url, to_url) = (format!("http://{from}"), format!("http://{to}"));
        let mut copier = Copier::start(&from_url, &to_url, &state);
        for kill in 0..kills {
            let until = rows * (kill + 1) / (kills + 1);
            copier.wait_until(|copier| copier.rows() >= until || copier.phase() == "following");
            match kill % 3 {
                0 => {
                    copier.kill();
                    copier = Copier::start(&from_url, &to_url, &state);
                }
                1 => restart(&mut source, &place("source")),
                _ => restart(&mut target, &place("target")),
            }
        }
        copier.wait_until(|copier| copier.phase() == "following");
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{rows} rows copied in {seconds:.1} s: {:.0} a second",
            rows as f64 / seconds
        );
        let paused_ms = copier.cut_over();
        *place_to_write.lock().unwrap() = to.clone();
        // Writers continue there for a moment.
        std::thread::sleep(Duration::from_secs(1));
        paused_ms
    });
    let writers: Vec<Writer> = writers
        .into_iter()
        .map(|writer| writer.into_inner().unwrap())
        .collect();
    let written: u64 = writers.iter().map(|writer| writer.written).sum();
    let longest = writers.iter().map(|writer| writer.longest).max().unwrap();
    println!(
        "writing was paused for {paused_ms} ms; {written} writes, none for {longest:?} at most, {kills} kills"
    );
    assert!(paused_ms < 2_000, "paused for {paused_ms} ms");
    check(target.as_ref().unwrap(), &writers, rows);
    refused(source.as_ref().unwrap());
    for server in [source.take(), target.take()].into_iter().flatten() {
        server.terminate();
    }
    audit::verify(&place("target")).unwrap();
}

/// A copy into a directory and back to a server, without other writers.
#[test]
fn a_directory_becomes_a_server_and_a_server_a_directory() {
    let dir = TempDir::new().unwrap();
    let place = |name: &str| dir.path().join(name);
    let rows = rounds("COPY_ROWS", 4_000);
    let source = Server::on(&place("first"));
    load(&source, rows);
    source.terminate();
    let second = Server::on(&place("second"));
    let first = place("first");
    let done = copy(first.to_str().unwrap(), &url(&second), &place("one.json"))
        .output()
        .unwrap();
    let there = report(&done).unwrap();
    assert_eq!(
        (&there["rows"], &there["end"]),
        (&json!(rows), &json!("done")),
        "{there}"
    );
    println!("directory to server: {} rows a second", there["rows_per_second"]);
    let third = place("third");
    let mut back = copy(&url(&second), third.to_str().unwrap(), &place("two.json"));
    let back = report(&back.arg("--cut-over").output().unwrap()).unwrap();
    assert_eq!(back["rows"], json!(rows), "{back}");
    println!("server to directory: {} rows a second", back["rows_per_second"]);
    second.terminate();
    audit::verify(&third).unwrap();
    let third = Server::on(&third);
    check(&third, &[], rows);
}

fn address(server: &Option<Server>) -> String {
    server.as_ref().unwrap().address.clone()
}

/// Kills a server and starts it again where it was.
fn restart(server: &mut Option<Server>, directory: &std::path::Path) {
    let running = server.take().unwrap();
    let port: u16 = running.address.rsplit(':').next().unwrap().parse().unwrap();
    running.kill();
    *server = Some(Server::start(&mut serve_at(directory, port)));
}

fn row(number: u64, version: u64) -> Value {
    json!({
        "pk": {"S": format!("row-{number:09}")}, "version": {"N": version.to_string()}, "note": {"S": NOTE},
        "tags": {"SS": ["a", "b"]}, "price": {"N": "12.5"}, "open": {"BOOL": true},
    })
}

fn load(server: &Server, rows: u64) {
    let mut client = server.connect();
    let create = json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    });
    succeed(&mut client, "CreateTable", &create);
    std::thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || {
                let mut client = server.connect();
                let mine: Vec<u64> = (0..rows).filter(|number| number % 4 == part).collect();
                for numbers in mine.chunks(25) {
                    let puts = numbers
                        .iter()
                        .map(|number| json!({"PutRequest": {"Item": row(*number, 0)}}));
                    let puts: Vec<Value> = puts.collect();
                    succeed(
                        &mut client,
                        "BatchWriteItem",
                        &json!({"RequestItems": {TABLE: puts}}),
                    );
                }
            });
        }
    });
}

/// The possible contents of a row: a version, or none if it was deleted.
type Version = Option<u64>;

/// Writes its own rows, and knows the possible contents of each.
struct Writer {
    at: u64,
    rows: u64,
    random: fastrand::Rng,
    /// The possible contents of a written row: the last write if it was answered, otherwise the last ones.
    known: HashMap<u64, Vec<Version>>,
    version: u64,
    written: u64,
    /// The longest time without an acknowledged write.
    longest: Duration,
}

impl Writer {
    fn new(at: u64, rows: u64, random: fastrand::Rng) -> Self {
        Writer {
            at,
            rows,
            random,
            known: HashMap::new(),
            version: 0,
            written: 0,
            longest: Duration::ZERO,
        }
    }

    /// Writes at its rate, wherever rows are written.
    fn live(&mut self, place: &Mutex<String>, is_over: &AtomicBool) {
        let pause = Duration::from_micros(1_000_000 * WRITERS / WRITES_PER_SECOND);
        let mut connected: Option<(String, Client)> = None;
        let mut last = Instant::now();
        while !is_over.load(Ordering::SeqCst) {
            let began = Instant::now();
            let address = place.lock().unwrap().clone();
            if connected.as_ref().is_none_or(|(to, _)| *to != address) {
                connected = Client::connect(&address).ok().map(|client| (address, client));
            }
            match &mut connected {
                None => {}
                Some((_, client)) => match self.write(client) {
                    Some(true) => {
                        self.longest = self.longest.max(last.elapsed());
                        last = Instant::now();
                    }
                    Some(false) => {}
                    None => connected = None,
                },
            }
            std::thread::sleep(pause.saturating_sub(began.elapsed()));
        }
    }

    /// Writes a row: returns whether it was carried out; `None` if the server is gone.
    fn write(&mut self, client: &mut Client) -> Option<bool> {
        // Some rows are new, and many are written often.
        let all = self.rows + self.rows / 10;
        let number = self.random.u64(0..all / WRITERS) * WRITERS + self.at;
        self.version += 1;
        let (version, answer) = match self.random.u8(0..4) {
            0 => {
                let key = json!({"pk": {"S": format!("row-{number:09}")}});
                let delete = json!({"TableName": TABLE, "Key": key});
                (None, client.call("DeleteItem", &delete))
            }
            _ => {
                let put = json!({"TableName": TABLE, "Item": row(number, self.version)});
                (Some(self.version), client.call("PutItem", &put))
            }
        };
        let first: Version = (number < self.rows).then_some(0);
        let known = self.known.entry(number).or_insert_with(|| vec![first]);
        let Ok(answer) = answer else {
            known.push(version);
            return None;
        };
        match answer.status {
            200 => {
                *known = vec![version];
                self.written += 1;
                Some(true)
            }
            // While writing is paused, and afterwards at the source.
            _ if answer.message().contains("is read-only") => Some(false),
            _ => panic!("{}", answer.body),
        }
    }
}

/// The target has for each row one of its possible versions, and no other rows.
fn check(server: &Server, writers: &[Writer], rows: u64) {
    let scan = json!({"TableName": TABLE, "ConsistentRead": true});
    let found = audit::all(&mut server.connect(), "Scan", &scan);
    let mut versions: HashMap<u64, u64> = HashMap::new();
    for item in found {
        let number = item["pk"]["S"].as_str().unwrap()[4..].parse().unwrap();
        let version: u64 = item["version"]["N"].as_str().unwrap().parse().unwrap();
        assert_eq!(item, row(number, version));
        versions.insert(number, version);
    }
    let known = writers.iter().flat_map(|writer| &writer.known);
    for (number, allowed) in known {
        let version = versions.remove(number);
        assert!(
            allowed.contains(&version),
            "row {number} is {version:?}, and may be {allowed:?}"
        );
    }
    let is_known = |number: &u64| writers.iter().any(|writer| writer.known.contains_key(number));
    for number in (0..rows).filter(|number| !is_known(number)) {
        assert_eq!(versions.remove(&number), Some(0), "row {number}");
    }
    assert!(versions.is_empty(), "rows that were never written: {versions:?}");
}

/// The source is read and not written.
fn refused(source: &Server) {
    let put = json!({"TableName": TABLE, "Item": row(0, 0)});
    let answer = source.call("PutItem", &put);
    assert_eq!(answer.error(), "ValidationException", "{}", answer.body);
    let mut resume = std::process::Command::new(server::binary());
    let done = resume
        .args(["copy", "resume-writes", "--endpoint", &url(source)])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(source.call("PutItem", &put).status, 200);
}
