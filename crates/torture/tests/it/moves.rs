//! Many rows moved under sixteen clients, with kill -9 meanwhile: nothing is lost, duplicated or stale. Every
//! client has its own rows, so that it knows what each read must find.
//!
//! A few rows by default. With a million rows, in ten minutes or so, and with figures:
//!
//! ```sh
//! MOVE_ROWS=1000000 cargo test --release -p trestle-torture --test it many_rows -- --nocapture
//! ```

mod client;
mod rows;

use crate::{rounds, seed};
use client::{Latencies, Owner};
use rows::{CLIENTS, Layout, TABLE};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit::verify;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, binary};

/// The pause between checks of the migration.
const GLANCE: Duration = Duration::from_millis(5);
/// A migration that takes longer is a failure.
const PATIENCE: Duration = Duration::from_secs(3600);

#[test]
fn many_rows_move_under_many_clients_and_none_is_lost_or_twice_or_stale() {
    let (rows, kills) = (rounds("MOVE_ROWS", 2_000), rounds("MOVE_KILLS", 3));
    let mut random = fastrand::Rng::with_seed(seed());
    let dir = TempDir::new().unwrap();
    let mut owners: Vec<Owner> = (0..CLIENTS)
        .map(|at| Owner::new(at, rows, random.fork()))
        .collect();
    let began = Instant::now();
    let server = Server::on(dir.path());
    migrate(&server, dir.path(), &["model", "apply"], Layout::Former);
    load(&server, &mut owners);
    println!("{rows} rows loaded in {:.0} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    migrate(
        &server,
        dir.path(),
        &["migrate", "start", "--rate", "unlimited"],
        Layout::Present,
    );
    let mut server = Some(server);
    for kill in 1..=kills + 1 {
        let running = server.take().unwrap_or_else(|| Server::on(dir.path()));
        let until = kill as f64 / (kills + 1) as f64;
        server = live(running, &mut owners, until);
    }
    let server = server.unwrap();
    report(&server, &owners, began.elapsed(), kills);
    check(&server, &owners, rows);
    server.terminate();
    verify(dir.path()).unwrap();
}

/// Runs a command that takes a model.
fn migrate(server: &Server, directory: &Path, command: &[&str], layout: Layout) {
    // Beside the data, not in it.
    let file = directory.with_extension("toml");
    std::fs::write(&file, layout.model()).unwrap();
    let mut run = Command::new(binary());
    run.args(command)
        .args(["--endpoint", &format!("http://{}", server.address)]);
    let done = run.arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn load(server: &Server, owners: &mut [Owner]) {
    std::thread::scope(|scope| {
        for owner in owners {
            scope.spawn(move || owner.load(&mut server.connect()));
        }
    });
}

/// Lets the clients work until so much of the table is swept, and kills the server; or until all rows have
/// moved, and returns it.
fn live(server: Server, owners: &mut [Owner], until: f64) -> Option<Server> {
    let (address, is_over) = (server.address.clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for owner in owners {
            let (address, is_over) = (&address, &is_over);
            scope.spawn(move || owner.live(address, is_over));
        }
        // Killed while requests are under way, not after the last of them.
        let left = match watch(&mut server.connect(), until) {
            true => Some(server),
            false => {
                server.kill();
                None
            }
        };
        is_over.store(true, Ordering::SeqCst);
        left
    })
}

/// Waits until so much is swept; returns whether all rows have moved and were checked again.
fn watch(client: &mut Client, until: f64) -> bool {
    let began = Instant::now();
    loop {
        let status = status(client);
        match status["state"].as_str() {
            Some("verified") if until >= 1.0 => return true,
            Some("dual" | "sweeping") if until >= 1.0 || done(&status) < until => {}
            Some("verifying") if until >= 1.0 => {}
            Some("sweeping" | "verifying" | "verified") => return false,
            _ => panic!("{status}"),
        }
        assert!(began.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(GLANCE);
    }
}

fn status(client: &mut Client) -> Value {
    let mut answer = client.administer("list-migrations", &json!({})).unwrap();
    answer.body["migrations"][0].take()
}

fn done(status: &Value) -> f64 {
    status["done"].as_f64().unwrap_or_else(|| panic!("{status}"))
}

/// Every row exists once, as its owner knows it, in the table and in its index, and under no former key.
fn check(server: &Server, owners: &[Owner], rows: u64) {
    let mut client = server.connect();
    let before = status(&mut client)["double_reads"].clone();
    for scan in [
        json!({"TableName": TABLE}),
        json!({"TableName": TABLE, "IndexName": "by_state"}),
    ] {
        let mut seen = vec![false; rows as usize];
        each(&mut client, scan, |item| {
            let row = rows::number(item);
            let is_twice = std::mem::replace(&mut seen[row as usize], true);
            assert!(!is_twice, "row {row} is there twice");
            owners[rows::owner(row) as usize].assert_is(row, Some(item));
            assert_eq!(item["pk"]["S"], Layout::Present.partition(row), "{item}");
        });
        let absent = seen.iter().zip(0..).filter(|(seen, _)| !**seen);
        absent.for_each(|(_, row)| owners[rows::owner(row) as usize].assert_is(row, None));
    }
    assert_eq!(status(&mut client)["double_reads"], before, "all rows have moved");
}

/// Passes every item of a scan to a function, a page at a time.
fn each(client: &mut Client, mut scan: Value, mut tell: impl FnMut(&Value)) {
    loop {
        let mut page = client.call("Scan", &scan).unwrap();
        assert_eq!(page.status, 200, "{}", page.body);
        page.body["Items"].as_array().unwrap().iter().for_each(&mut tell);
        match page.body["LastEvaluatedKey"].take() {
            Value::Null => return,
            key => scan["ExclusiveStartKey"] = key,
        }
    }
}

fn report(server: &Server, owners: &[Owner], took: Duration, kills: u64) {
    let moved = status(&mut server.connect())["rows_moved"].clone();
    let seconds = took.as_secs_f64();
    println!("{moved} rows moved by the sweep in {seconds:.0} s beside {CLIENTS} clients, {kills} kills");
    let mut all = Latencies::default();
    owners.iter().for_each(|owner| all.add(&owner.latencies));
    all.print(seconds);
}
