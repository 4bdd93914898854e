//! The program itself: its messages when it cannot start, how it ends, and the result of the demonstration.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, ended with the test.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_littlehorse"));
        let command = command.args(arguments).env_remove("RUST_LOG");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Its address, as soon as it serves.
    fn address(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        match line.trim().split_once("http://") {
            Some((_, address)) => address.to_owned(),
            None => panic!("{}", self.complaint()),
        }
    }

    /// Waits for its end, which is soon.
    fn end(&mut self) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(ended) = self.child.try_wait().unwrap() {
                return Some(ended);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Waits for it to fail; returns its error message.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(1), "{text}");
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_the_way_out() {
    let mut first = Program::start(&["demo", "--port", "0"]);
    let address = first.address();
    let (_, port) = address.split_once(':').unwrap();
    let said = Program::start(&["demo", "--port", port]).complaint();
    assert!(
        said.contains(&format!("cannot listen on port {port}: Address already in use")),
        "{said}"
    );
    assert!(said.contains("--port chooses another"), "{said}");
}

#[test]
fn a_data_directory_that_cannot_be_used_is_named_with_the_way_out() {
    let file = env!("CARGO_BIN_EXE_littlehorse");
    let said = Program::start(&["serve", "--data", file, "--port", "0"]).complaint();
    assert!(said.contains(file), "{said}");
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(foreign.path().join("diary"), "not a table").unwrap();
    let data = foreign.path().to_str().unwrap();
    let said = Program::start(&["serve", "--data", data, "--port", "0"]).complaint();
    assert!(
        said.contains(data) && said.contains("choose an empty or a new directory"),
        "{said}"
    );
    let taken = tempfile::tempdir().unwrap();
    let data = taken.path().to_str().unwrap();
    let mut first = Program::start(&["serve", "--data", data, "--port", "0"]);
    first.address();
    let said = Program::start(&["serve", "--data", data, "--port", "0"]).complaint();
    assert!(
        said.contains(&format!("is in use by process {}", first.child.id())),
        "{said}"
    );
}

#[test]
fn an_interrupt_ends_it_although_a_client_never_finishes_its_request() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().to_str().unwrap();
    let mut program = Program::start(&["serve", "--data", data, "--port", "0"]);
    let mut client = TcpStream::connect(program.address()).unwrap();
    let begun = "POST /tenants/acme/wf-specs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let asks = format!("{begun}content-length: 99\r\nexpect: 100-continue\r\n\r\n");
    client.write_all(asks.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&client).read_line(&mut answer).unwrap();
    assert!(answer.contains("100 Continue"), "{answer}");
    let interrupt = format!("kill -INT {}", program.child.id());
    let sent = Command::new("sh").args(["-c", &interrupt]).status().unwrap();
    assert!(sent.success());
    assert_eq!(program.end().and_then(|ended| ended.code()), Some(0));
}

/// Polls the demonstration until a run has a status.
async fn until(client: &reqwest::Client, url: &str, status: &str) -> Value {
    let begun = Instant::now();
    loop {
        let run: Value = client.get(url).send().await.unwrap().json().await.unwrap();
        if run["status"] == status {
            return run;
        }
        assert!(begun.elapsed() < PATIENCE, "{url}: {run}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_demonstration_works_by_itself_and_its_orders_can_be_brought_to_their_end() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut program = Program::start(&["demo", "--port", "0"]);
    let base = format!("http://{}/tenants/default", program.address());
    let client = reqwest::Client::new();
    let post = async |path: &str, body: Value| {
        let answer = client
            .post(format!("{base}/{path}"))
            .json(&body)
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{path}: {:?}", answer.text().await);
    };
    let run = |id: &str| format!("{base}/wf-runs/{id}");
    until(&client, &run("greet-ada"), "COMPLETED").await;
    let nodes = format!("{}/node-runs/0", run("order-1"));
    until(&client, &format!("{nodes}/1"), "COMPLETED").await;
    post(
        "external-events",
        json!({ "eventName": "payment", "correlationKey": "o-1", "content": "12 EUR" }),
    )
    .await;
    until(&client, &format!("{nodes}/2"), "COMPLETED").await;
    post(
        "wf-runs/order-1",
        json!({ "completeUserTask": { "guid": "0-3", "results": "yes" } }),
    )
    .await;
    // It cools off for five seconds, while the greeting that cannot succeed is tried again twice.
    until(&client, &run("order-1"), "COMPLETED").await;
    until(&client, &run("order-2"), "RUNNING").await;
    let failed = until(&client, &run("greet-nobody"), "ERROR").await;
    assert!(failed["error"].as_str().unwrap().contains("nobody"), "{failed}");
    let thrown = format!("{}/workflow-events/order-done/0", run("order-1"));
    let thrown: Value = client.get(thrown).send().await.unwrap().json().await.unwrap();
    assert_eq!(thrown["content"], "12 EUR", "{thrown}");
}
