//! The program itself: killed during a reindex, and its last messages.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use reindexer::Source;
use serde_json::{Value, json};

use crate::demo::id;

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(180);

/// The program, ended with the test.
struct Program {
    child: Child,
    url: String,
    client: reqwest::Client,
}

impl Program {
    fn serve(data: &std::path::Path) -> Self {
        Self::serve_with(data, &[])
    }

    fn serve_with(data: &std::path::Path, flags: &[&str]) -> Self {
        // An error means that one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut command = Command::new(env!("CARGO_BIN_EXE_reindexer"));
        let command = command
            .args(["serve", "--port", "0", "--lease", "1", "--data"])
            .arg(data)
            .args(flags);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://"), "{line}");
        let client = reqwest::Client::new();
        Self { child, url, client }
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = self
            .client
            .request(method.parse().unwrap(), format!("{}{path}", self.url))
            .json(body);
        let answer = request.send().await.unwrap();
        assert!(
            answer.status().is_success(),
            "{method} {path}: {}",
            answer.text().await.unwrap()
        );
        serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default()
    }

    /// How many rows of a run are sent.
    async fn sent(&self, run: &str) -> u64 {
        let run = self.call("GET", run, &Value::Null).await;
        run["sending"]["counts"]["done"].as_u64().unwrap_or(0)
    }

    /// Waits until a condition holds.
    async fn until(&self, what: &str, is_true: impl AsyncFn() -> bool) {
        let begun = Instant::now();
        while !is_true().await {
            assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills it immediately.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn point_11_a_reindex_goes_on_after_kills_and_no_row_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 1_900; // Sixteen segments.
    // Slow enough that each kill comes before the end.
    let slowly = ["--read-units", "10"];
    let mut program = Program::serve_with(folder.path(), &slowly);
    let load = async |number: usize| {
        let path = format!("/sources/miro/{}", id(Source::Miro, number));
        program
            .call("PUT", &path, &json!({ "image_title": format!("Plate {number}") }))
            .await
    };
    stream::iter(0..rows)
        .map(load)
        .buffer_unordered(64)
        .collect::<Vec<_>>()
        .await;
    program
        .call("PUT", "/pipelines/new", &json!({ "transformer": 2 }))
        .await;
    let asked = json!({ "source": "miro", "destination": "catalogue" });
    let started = program.call("POST", "/reindexes", &asked).await;
    let run = format!("/reindexes/{}", started["runs"][0].as_str().unwrap());
    for kill in 1..=4 {
        let wanted = kill * rows as u64 / 6;
        let is_far = async || program.sent(&run).await >= wanted;
        program.until("rows to be sent", is_far).await;
        let sent = program.sent(&run).await;
        assert!(sent < rows as u64, "kill {kill} came too late");
        program.kill();
        program = Program::serve_with(folder.path(), &slowly);
    }
    loop {
        let status = program.call("GET", "/pipelines/new/status", &Value::Null).await;
        let queues = status["queues"].as_object().unwrap();
        let is_empty = |counts: &Value| counts.as_object().unwrap().values().all(|count| count == 0);
        let is_dead = |name: &str| name.ends_with("-dead");
        let is_busy = queues
            .iter()
            .any(|(name, counts)| !is_dead(name) && !is_empty(counts));
        let miro = &status["sources"]["miro"];
        if !is_busy {
            assert_eq!(
                (&miro["rows"], &miro["gaps"]),
                (&json!(rows), &json!(0)),
                "{status:#}"
            );
            assert!(queues.values().all(is_empty), "{status:#}");
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let run = program.call("GET", &run, &Value::Null).await;
    let (items, done) = (&run["sending"]["work_items"], &run["sending"]["work_items_done"]);
    assert_eq!((items, done), (&json!(16), &json!(16)));
    assert_eq!(run["sending"]["counts"]["done"], json!(rows));
    program.call("POST", "/pipelines/new/serve", &Value::Null).await;
    let found = program.call("GET", "/search?query=plate", &Value::Null).await;
    assert_eq!(found["total"], json!(rows), "no work is in the index twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn point_4_a_kill_among_the_rows_of_a_shard_leaves_only_those_that_were_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let slowly = ["--write-units", "5"];
    let mut program = Program::serve_with(folder.path(), &slowly);
    let rows = 40;
    for number in 0..rows {
        let path = format!("/sources/miro/{}", id(Source::Miro, number));
        let plate = json!({ "image_title": "Plate" });
        program.call("PUT", &path, &plate).await;
    }
    program
        .call("PUT", "/pipelines/one", &json!({ "transformer": 2 }))
        .await;
    let asked =
        json!({ "source": "miro", "destination": "catalogue", "design": "shards", "desiredVersion": 7 });
    let started = program.call("POST", "/reindexes", &asked).await;
    let run = format!("/reindexes/{}", started["runs"][0].as_str().unwrap());
    let written = async |program: &Program| {
        let run = program.call("GET", &run, &Value::Null).await;
        run["atVersion"][1].as_u64().unwrap()
    };
    program
        .until("rows to be written", async || written(&program).await >= 10)
        .await;
    let before = written(&program).await;
    assert!(before < rows as u64, "the kill came too late");
    program.kill();
    program = Program::serve_with(folder.path(), &slowly);
    assert!(written(&program).await >= before, "what was written stays");
    let is_complete = async || written(&program).await == rows as u64;
    program.until("the rest to be written", is_complete).await;
    let is_at_rest = async || {
        let status = program.call("GET", "/pipelines/one/status", &Value::Null).await;
        let total = |counts: &Value| {
            counts
                .as_object()
                .unwrap()
                .values()
                .filter_map(Value::as_u64)
                .sum::<u64>()
        };
        let queues = status["queues"].as_object().unwrap();
        let dead: u64 = queues
            .iter()
            .filter(|queue| queue.0.ends_with("-dead"))
            .map(|queue| total(queue.1))
            .sum();
        assert_eq!(dead, 0, "{status:#}");
        queues.values().all(|counts| total(counts) == 0)
    };
    program.until("the queues to be empty", is_at_rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_make_no_dead_letter_of_a_run_that_has_the_table() {
    let folder = tempfile::tempdir().unwrap();
    // Each of its sixteen segments takes a unit, so that the run is longer than all kills.
    let slowly = ["--read-units", "0.05"];
    let mut program = Program::serve_with(folder.path(), &slowly);
    for number in 0..20 {
        let path = format!("/sources/miro/{}", id(Source::Miro, number));
        let plate = json!({ "image_title": "Plate" });
        program.call("PUT", &path, &plate).await;
    }
    program
        .call("PUT", "/pipelines/new", &json!({ "transformer": 2 }))
        .await;
    let asked = json!({ "source": "miro", "destination": "catalogue" });
    let started = program.call("POST", "/reindexes", &asked).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        program.kill();
        program = Program::serve_with(folder.path(), &slowly);
    }
    let run = format!("/reindexes/{}", started["runs"][0].as_str().unwrap());
    let run = program.call("GET", &run, &Value::Null).await;
    assert_eq!(run["sending"]["state"], json!("running"), "{run:#}");
    let status = program.call("GET", "/pipelines/new/status", &Value::Null).await;
    let dead = &status["queues"]["reindex-worker-jobs-dead"];
    assert_eq!(dead["visible"], json!(0), "{status:#}");
}

#[test]
fn the_demo_ends_well_and_keeps_nothing() {
    // Examples are built beside the program.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_reindexer"));
    let demo = Command::new(program.with_file_name("examples").join("demo"))
        .args(["--once", "--copies", "3"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&demo.stdout);
    assert!(
        demo.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&demo.stderr)
    );
    assert!(said.contains("Nothing is missing."), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_starts_a_reindex_on_a_server_and_asks_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::serve(folder.path());
    let script = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reindexer"));
        let done = command
            .args(arguments)
            .args(["--url", &program.url])
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8(said).unwrap())
    };
    let (done, said) = script(&["start", "--src", "sierra"]);
    assert!(!done && said.contains("nothing listens to catalogue"), "{said}");
    let (done, said) = script(&["start", "--src", "sierra", "--force"]);
    assert!(done && said.contains("what is sent there is lost"), "{said}");
    program
        .call("PUT", "/pipelines/one", &json!({ "transformer": 2 }))
        .await;
    let ids = folder.path().join("ids");
    std::fs::write(&ids, "1234567\n\n12345678\n").unwrap();
    let (done, said) = script(&["start", "--src", "sierra", "--input-file", ids.to_str().unwrap()]);
    assert!(!done && said.contains("no Sierra id"), "{said}");
    let (done, said) = script(&["start", "--src", "notmiro", "--max-records", "5"]);
    assert!(done && said.contains("tei--catalogue"), "{said}");
    let (done, said) = script(&["status", "one"]);
    assert!(done && said.contains("\"transformed\": 0"), "{said}");
    assert_eq!(script(&["status", "one", "--gaps"]), (true, "[]\n".to_owned()));
    let (done, said) = script(&["status", "one", "--resend"]);
    assert!(done && said.contains("\"sent\": 0"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn point_10_the_script_names_the_gaps_of_a_pipeline_and_sends_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::serve(folder.path());
    let ids: Vec<String> = (0..12).map(|number| id(Source::Miro, number)).collect();
    for id in &ids {
        let plate = json!({ "image_title": "Plate" });
        program.call("PUT", &format!("/sources/miro/{id}"), &plate).await;
    }
    program
        .call("PUT", "/pipelines/late", &json!({ "transformer": 2 }))
        .await;
    let status = |flag: &str| -> Value {
        let done = Command::new(env!("CARGO_BIN_EXE_reindexer"))
            .args(["status", "late", flag, "--url", &program.url])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let gaps = || -> Vec<String> {
        let gaps = status("--gaps");
        let id = |gap: &Value| gap["id"].as_str().unwrap().to_owned();
        gaps.as_array().unwrap().iter().map(id).collect()
    };
    let mut found = gaps();
    found.sort();
    assert_eq!(found, ids);
    assert_eq!(status("--resend")["sent"], json!(12));
    program
        .until("the gaps to be closed", async || gaps().is_empty())
        .await;
    assert_eq!(status("--resend")["sent"], json!(0));
}
