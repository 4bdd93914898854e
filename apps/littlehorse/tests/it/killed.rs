//! Real processes: the version before, the present one, and workers of both, killed at any moment.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trestle::migrate::MigrationState;
use trestle::{Embedded, Options};

use crate::support::canary;

const OLD: &str = env!("CARGO_BIN_EXE_littlehorse-v1");
const NEW: &str = env!("CARGO_BIN_EXE_littlehorse");
const RUNS: usize = 60;
/// How long everything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that dies with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
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
    command.args(["serve", "--port", &port.to_string(), "--data"]).arg(data);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(url.starts_with("http://"), "{program} did not start: {line}");
    (Process(child), url)
}

/// A request that is repeated until a server answers it.
async fn ask(client: &reqwest::Client, method: &str, url: String, body: Option<Value>) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let request = client.request(method, url);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

async fn begin(client: &reqwest::Client, url: &str, from: usize, to: usize) {
    for at in from..to {
        let run = json!({ "wfSpecName": "canary", "wfRunId": format!("run-{at}") });
        let (status, answer) = ask(client, "POST", format!("{url}/tenants/acme/wf-runs"), Some(run)).await;
        assert!(status == 201 || status == 409, "{status} {answer}");
    }
}

async fn completed(client: &reqwest::Client, url: &str) -> Vec<Value> {
    let path = format!("{url}/tenants/acme/search/wf-runs?status=COMPLETED&wfSpecName=canary&limit=1000");
    ask(client, "GET", path, None).await.1["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn point_14_runs_in_flight_survive_the_upgrade_with_workers_of_both_versions_and_kill_9_at_any_moment()
{
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (place, client, begun) = (tempfile::tempdir().unwrap(), reqwest::Client::new(), Instant::now());
    let (old, url) = server(OLD, place.path(), 0);
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let mut spec = canary();
    spec["nodes"][0]["run"]["task"]["retries"] = json!(20);
    spec["nodes"][0]["run"]["task"]["timeoutSeconds"] = json!(2);
    ask(&client, "POST", format!("{url}/tenants/acme/wf-specs"), Some(spec)).await;
    begin(&client, &url, 0, RUNS / 2).await;
    let _workers = (worker(OLD, &url), worker(NEW, &url));
    begin(&client, &url, RUNS / 2, RUNS / 2 + 10).await;
    // kill -9: nothing tells it to end.
    drop(old);
    for round in 0..4 {
        let (server, again) = server(NEW, place.path(), port);
        assert_eq!(again, url);
        begin(&client, &url, RUNS / 2 + 10, RUNS / 2 + 10 + round * (RUNS / 2 - 10) / 3).await;
        tokio::time::sleep(Duration::from_millis(100 * round as u64)).await;
        drop(server);
    }
    let (new, _) = server(NEW, place.path(), port);
    loop {
        let done = completed(&client, &url).await;
        let migration = ask(&client, "GET", format!("{url}/migration"), None).await.1;
        if done.len() == RUNS && migration["state"] == "verified" {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{} of {RUNS} runs are done, {migration}", done.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for at in 0..RUNS {
        let run = format!("{url}/tenants/acme/wf-runs/run-{at}");
        let nodes = ask(&client, "GET", format!("{run}/node-runs"), None).await.1;
        let tasks = ask(&client, "GET", format!("{run}/task-runs"), None).await.1;
        assert_eq!(
            (nodes["items"].as_array().unwrap().len(), tasks["items"].as_array().unwrap().len()),
            (3, 1),
            "{run}"
        );
        assert_eq!(tasks["items"][0]["status"], "SUCCESS", "{run}");
    }
    drop(new);
    // The version before does not start on what was migrated, and says why.
    let refused =
        Command::new(OLD).args(["serve", "--port", "0", "--data"]).arg(place.path()).output().unwrap();
    assert!(!refused.status.success());
    let embedded = Embedded::open(place.path(), Options::default()).unwrap();
    let rolled_back =
        embedded.models().roll_back_migration(Some("littlehorse"), &mut trestle::models::Nobody);
    assert!(rolled_back.unwrap().is_none_or(|plan| !plan.is_refused()));
    let status = embedded.models().sweep(Some("littlehorse"), &mut |_| true).unwrap();
    assert_eq!(status.state, MigrationState::RolledBack);
    drop(embedded);
    let (_old, url) = server(OLD, place.path(), 0);
    assert_eq!(completed(&client, &url).await.len(), RUNS, "back in the legacy layout");
}
