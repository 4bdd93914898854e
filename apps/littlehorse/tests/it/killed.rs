//! Real processes and directories: the previous version, the present one, and workers of both, killed at any
//! moment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trestle::migrate::{MigrationState, MigrationStep};
use trestle::{Durability, Embedded, FjallStore, Options, Store, StoreSettings, VirtualClock};

use crate::crashes::check;
use crate::history::{self, answers, assert_same};
use crate::migrating::{status, sweep_all, sweep_page};
use crate::support::{MODEL, START, World, canary, order, unswept};

const OLD: &str = env!("CARGO_BIN_EXE_littlehorse-v1");
const NEW: &str = env!("CARGO_BIN_EXE_littlehorse");
/// Runs of the canary, which workers bring to their end.
const CANARIES: usize = 40;
/// Runs of `order`, which then wait: rows enough that the sweep takes a while.
const ORDERS: usize = 120;
/// How long everything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed when the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already. This is kill -9, without a signal to end before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn worker(program: &str, url: &str) -> Process {
    let started = Command::new(program)
        .args(["worker", "--tenant", "acme", "--url", url])
        .stderr(Stdio::null())
        .spawn();
    Process(started.unwrap())
}

/// Starts a server on a directory, and waits until it answers.
fn server(program: &str, data: &Path, port: u16) -> (Process, String) {
    let mut command = Command::new(program);
    command
        .args(["serve", "--port", &port.to_string(), "--data"])
        .arg(data);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(url.starts_with("http://"), "{program} did not start: {line}");
    (Process(child), url)
}

/// A client of the servers, which come and go at one address.
struct Client {
    client: reqwest::Client,
    url: String,
    begun: Instant,
}

impl Client {
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self
            .ask("POST", &format!("/tenants/acme/{path}"), Some(body))
            .await;
        assert!(status < 300, "{path}: {status} {answer}");
        answer
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        let (status, answer) = self.ask("GET", &format!("/tenants/acme/{path}"), None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer["items"].as_array().unwrap().clone()
    }

    async fn begin(&self, workflow: &str, ids: impl Iterator<Item = usize>) {
        for at in ids {
            let run = json!({ "wfSpecName": workflow, "wfRunId": format!("{workflow}-{at}") });
            self.post("wf-runs", run).await;
        }
    }

    async fn migration(&self) -> Value {
        self.ask("GET", "/migration", None).await.1
    }

    /// Polls until a condition holds.
    async fn until(&self, mut so: impl AsyncFnMut() -> Result<(), String>) {
        while let Err(yet) = so().await {
            assert!(self.begun.elapsed() < PATIENCE, "{yet}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn until_state(&self, state: &str) {
        self.until(async || {
            let migration = self.migration().await;
            (migration["state"] == state)
                .then_some(())
                .ok_or(migration.to_string())
        })
        .await;
    }

    /// Every run exists, at its end or where it waits, with exactly the rows that it must have.
    async fn check_runs(&self) {
        for (workflow, count, expected) in [("canary", CANARIES, (3, 1)), ("order", ORDERS, (3, 1))] {
            for at in 0..count {
                let run = format!("wf-runs/{workflow}-{at}");
                let nodes = self.items(&format!("{run}/node-runs")).await;
                let tasks = self.items(&format!("{run}/task-runs")).await;
                assert_eq!((nodes.len(), tasks.len()), expected, "{run}");
                assert_eq!(tasks[0]["status"], "SUCCESS", "{run}");
            }
        }
        assert_eq!(self.completed().await.len(), CANARIES);
    }

    async fn completed(&self) -> Vec<Value> {
        self.items("search/wf-runs?status=COMPLETED&limit=1000").await
    }
}

/// The state that a process leaves if it is killed at this moment.
fn as_it_is(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            as_it_is(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn store_in(place: &Path) -> Arc<dyn Store> {
    let settings = StoreSettings {
        durability: Durability::Buffered,
        ..StoreSettings::default()
    };
    Arc::new(FjallStore::open(place, settings).unwrap())
}

/// The present version on a copy of a directory, without anything that works in the background.
fn opened(copy: &Path, clock: &Arc<VirtualClock>) -> World {
    let embedded = Embedded::on(store_in(copy), clock.clone(), unswept()).unwrap();
    World::still(clock.clone(), embedded)
}

/// The state in a copy of a killed server's directory: its migration, and how many runs were in progress.
/// Their rows agree.
async fn left_by(data: &Path, moment: &str) -> (MigrationState, usize) {
    let copy = tempfile::tempdir().unwrap();
    as_it_is(data, copy.path());
    let world = opened(copy.path(), &Arc::new(VirtualClock::starting_at(START)));
    let running = world
        .get("/tenants/acme/search/wf-runs?status=RUNNING&limit=1000")
        .await;
    for at in (0..ORDERS).step_by(10) {
        check(&world, &format!("order-{at}"), moment).await;
    }
    (status(&world).state, running["items"].as_array().unwrap().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn point_14_runs_in_flight_survive_the_upgrade_with_workers_of_both_versions_and_kill_9_at_any_moment()
{
    let _ = rustls::crypto::ring::default_provider().install_default();
    let place = tempfile::tempdir().unwrap();
    let (old, url) = server(OLD, place.path(), 0);
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let client = Client {
        client: reqwest::Client::new(),
        url,
        begun: Instant::now(),
    };
    for mut spec in [canary(), order()] {
        spec["nodes"][0]["run"]["task"]["retries"] = json!(20);
        spec["nodes"][0]["run"]["task"]["timeoutSeconds"] = json!(2);
        client.post("wf-specs", spec).await;
    }
    // A worker takes a task and never reports.
    client.begin("canary", 0..1).await;
    let lost = client
        .post(
            "tasks/poll",
            json!({ "taskDefName": "greet", "workerId": "lost" }),
        )
        .await;
    assert_eq!(lost["wfRunId"], "canary-0");
    client.begin("order", 0..ORDERS).await;
    let mut workers = [worker(OLD, &client.url), worker(NEW, &client.url)];
    client.begin("canary", 1..10).await;
    drop(old);
    let mut left = Vec::new();
    for round in 0..4 {
        let (server, again) = server(NEW, place.path(), port);
        assert_eq!(again, client.url);
        let begun = 10 + round * (CANARIES - 10) / 4..10 + (round + 1) * (CANARIES - 10) / 4;
        client.begin("canary", begun).await;
        // Killed somewhat later in each round, while rows move; once they all have, at any moment.
        client
            .until(async || {
                let migration = client.migration().await;
                let moved = migration["rows_moved"].as_u64().unwrap_or_default();
                let is_sweeping = ["dual", "sweeping"].contains(&migration["state"].as_str().unwrap());
                (!is_sweeping || moved >= 100 * round as u64)
                    .then_some(())
                    .ok_or(migration.to_string())
            })
            .await;
        drop(server);
        left.push(left_by(place.path(), &format!("round {round}")).await);
        workers[round % 2] = worker([OLD, NEW][round % 2], &client.url);
    }
    let unfinished = left.iter().filter(|(state, running)| {
        [MigrationState::Dual, MigrationState::Sweeping].contains(state) && *running > ORDERS
    });
    assert!(unfinished.count() > 1, "{left:?}");
    assert!(
        left.iter().any(|(state, _)| *state == MigrationState::Sweeping),
        "{left:?}"
    );
    let (new, _) = server(NEW, place.path(), port);
    client.until_state("verified").await;
    client
        .until(async || {
            let waiting = client
                .items("search/node-runs?status=RUNNING&type=EXTERNAL_EVENT&limit=1000")
                .await;
            let done = (client.completed().await.len(), waiting.len());
            (done == (CANARIES, ORDERS))
                .then_some(())
                .ok_or(format!("{done:?} runs are done or wait"))
        })
        .await;
    client.check_runs().await;
    let lost = client
        .ask("GET", "/tenants/acme/wf-runs/canary-0/task-runs/0-1", None)
        .await
        .1;
    assert!(
        lost["attempt"].as_u64() > Some(0),
        "another worker took it over: {lost}"
    );
    drop((new, workers));
    there_and_back(place.path(), port, &client).await;
}

/// The previous version does not start on migrated data; it does after a rollback; and the second attempt
/// succeeds.
async fn there_and_back(data: &Path, port: u16, client: &Client) {
    let refused = Command::new(OLD)
        .args(["serve", "--port", "0", "--data"])
        .arg(data)
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("littlehorse") && said.contains("trestle migrate"),
        "{said}"
    );
    let embedded = Embedded::open(data, Options::default()).unwrap();
    let rolled_back = embedded
        .models()
        .roll_back_migration(Some(MODEL), &mut trestle::models::Unwatched);
    assert!(rolled_back.unwrap().is_none_or(|plan| !plan.is_refused()));
    let status = embedded.models().sweep(Some(MODEL), &mut |_| true).unwrap();
    assert_eq!(status.state, MigrationState::RolledBack);
    drop(embedded);
    let (old, _) = server(OLD, data, port);
    client.check_runs().await;
    drop(old);
    let (_new, _) = server(NEW, data, port);
    client.until_state("verified").await;
    client.check_runs().await;
}

/// The next process answers as before, and finishes the migration that the killed one began; returns how far
/// that was.
async fn go_on(again: &World, before: &BTreeMap<String, Value>) -> MigrationState {
    let was = status(again);
    let moment = format!("killed at {} {:.2}", was.state, was.done);
    assert_same(before, &answers(again, 100).await, &moment);
    if was.state != MigrationState::Verified {
        assert_eq!(sweep_all(again).state, MigrationState::Verified, "{moment}");
    }
    assert_same(before, &answers(again, 100).await, &moment);
    again.migration().step(MigrationStep::Finish);
    was.state
}

#[tokio::test]
async fn point_14_a_process_that_is_killed_at_any_page_of_the_sweep_goes_on_when_it_is_started_again() {
    let place = tempfile::tempdir().unwrap();
    let running = place.path().join("running");
    let old = World::old_on(store_in(&running)).await;
    history::begin(&old).await;
    let before = answers(&old, 100).await;
    let (clock, embedded) = old.upgrade().await.stop().await;
    let moving = World::still(clock.clone(), embedded);
    let mut left = BTreeSet::new();
    for page in 0.. {
        let now = status(&moving).state;
        // The first page, some in the middle, and the last.
        if page % 5 == 0 || now == MigrationState::Verified {
            let copy = place.path().join(format!("killed-{page}"));
            as_it_is(&running, &copy);
            left.insert(go_on(&opened(&copy, &clock), &before).await.to_string());
        }
        if now == MigrationState::Verified {
            break;
        }
        sweep_page(&moving);
    }
    let expected = ["dual", "sweeping", "verified"].map(str::to_owned);
    assert!(expected.iter().all(|state| left.contains(state)), "{left:?}");
}
