//! `trestle endpoint`: an endpoint is probed and checked, and nothing remains there.

use crate::running::{Running, run, start, trestle};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn url(server: &Running) -> String {
    format!("http://{}", server.address)
}

fn serve(home: &Path, flags: &[&str]) -> Running {
    let mut args = vec!["serve", "--in-memory", "--port", "0"];
    args.extend(flags);
    start(home, &args)
}

/// The exit code of the check, and its output.
fn check(home: &Path, url: &str) -> (Option<i32>, Value) {
    let output = run(home, &["endpoint", "check", "--endpoint", url, "--json"]);
    (output.status.code(), report(&output))
}

fn steps(report: &Value, outcome: &str) -> Vec<String> {
    let steps = report["steps"].as_array().unwrap().iter();
    let steps = steps.filter(|step| step["outcome"] == outcome);
    steps
        .map(|step| step["step"].as_str().unwrap().to_owned())
        .collect()
}

fn assert_no_table(server: &Running) {
    let tables = server.call("ListTables", "{}");
    assert!(tables.ends_with(r#"{"TableNames":[]}"#), "{tables}");
}

#[test]
fn a_server_passes_every_step_and_nothing_is_left() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(home.path(), &[]);
    let (code, report) = check(home.path(), &url(&server));
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(steps(&report, "passed").len(), 19, "{report:#}");
    assert_no_table(&server);
}

#[test]
fn an_endpoint_without_transactions_passes_what_needs_none() {
    let home = tempfile::tempdir().unwrap();
    let lacks = "unknown,operation=TransactWriteItems,operation=TransactGetItems";
    let server = serve(home.path(), &["--inject-fault", lacks]);
    let (code, report) = check(home.path(), &url(&server));
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(
        steps(&report, "skipped"),
        ["client transactions", "PartiQL transactions", "routes"],
        "{report:#}"
    );
    assert_no_table(&server);
}

#[test]
fn a_check_that_fails_says_so_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(home.path(), &["--inject-fault", "unknown,operation=UpdateItem"]);
    let (code, report) = check(home.path(), &url(&server));
    assert_eq!(
        (code, &report["passed"]),
        (Some(5), &Value::Bool(false)),
        "{report:#}"
    );
    assert!(!steps(&report, "failed").is_empty(), "{report:#}");
    assert_no_table(&server);
}

#[test]
fn a_check_that_is_stopped_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(home.path(), &[]);
    let mut checking = trestle(home.path())
        .args(["endpoint", "check", "--endpoint", &url(&server)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while server.call("ListTables", "{}").ends_with(r#"{"TableNames":[]}"#) {
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(
            checking.try_wait().unwrap().is_none(),
            "it has ended before a table was made"
        );
    }
    let id = checking.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(checking.wait().unwrap().code(), Some(1));
    assert_no_table(&server);
}

#[test]
fn an_endpoint_elsewhere_is_touched_with_consent_only() {
    let home = tempfile::tempdir().unwrap();
    let output = run(
        home.path(),
        &["endpoint", "check", "--endpoint", "http://192.0.2.1:8000"],
    );
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("--yes") && said.contains("trestle-check-"),
        "{said}"
    );
}

#[test]
fn what_a_probe_found_is_shown_without_probing_again() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(home.path(), &["--behind-gateways"]);
    let probe = |more: &[&str]| {
        let url = url(&server);
        let mut args = vec!["endpoint", "probe", "--endpoint", &url];
        args.extend(more);
        run(home.path(), &args)
    };
    assert_eq!(
        probe(&["--stored"]).status.code(),
        Some(1),
        "nothing is stored yet"
    );
    let found = probe(&["--json"]);
    assert_eq!(found.status.code(), Some(0));
    let stored = probe(&["--stored", "--json"]);
    assert_eq!(stored.stdout, found.stdout);
    let stored: Value = serde_json::from_slice(&stored.stdout).unwrap();
    assert_eq!(stored["transaction_items"], 100, "{stored}");
    assert!(stored["probed"].as_str().unwrap().ends_with('Z'), "{stored}");
}

/// What a command says about the endpoint that a variable names.
fn about(home: &Path, variable: &str, command: &[&str]) -> Output {
    let url = std::env::var(variable).unwrap();
    trestle(home)
        .env("AWS_ACCESS_KEY_ID", "any")
        .env("AWS_SECRET_ACCESS_KEY", "any")
        .arg("endpoint")
        .args(command)
        .args(["--endpoint", &url])
        .output()
        .unwrap()
}

/// The report of a command that is asked for JSON.
fn report(output: &Output) -> Value {
    let report = serde_json::from_slice(&output.stdout);
    report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// What a probe does not find.
fn lacks(probed: &Value) -> Vec<&str> {
    let found = probed.as_object().unwrap().iter();
    found
        .filter(|(_, found)| **found == Value::Bool(false))
        .map(|(name, _)| name.as_str())
        .collect()
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn an_endpoint_of_others_passes() {
    let home = tempfile::tempdir().unwrap();
    let output = about(home.path(), "TRESTLE_TEST_ENDPOINT", &["check"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{said}");
}

// What these two do otherwise than DynamoDB is in docs/remote/gateway.md, "Servers that have been tried".

#[test]
#[ignore = "needs moto: ./test endpoints"]
fn moto_is_probed_and_passes_what_needs_no_transactions_side_by_side() {
    let home = tempfile::tempdir().unwrap();
    let probed = report(&about(home.path(), "TRESTLE_TEST_MOTO", &["probe", "--json"]));
    assert_eq!(
        lacks(&probed),
        ["exact_event_names", "transaction_tokens"],
        "{probed:#}"
    );
    let checked = about(home.path(), "TRESTLE_TEST_MOTO", &["check", "--json"]);
    let checked = report(&checked);
    let passed = steps(&checked, "passed");
    for step in [
        "capabilities",
        "two gateways with a model",
        "heads",
        "unique values",
        "inverses",
        "entries",
        "counters",
        "copies",
    ] {
        assert!(passed.iter().any(|passed| passed == step), "{step}: {checked:#}");
    }
    println!("failed at moto: {:?}", steps(&checked, "failed"));
}

#[test]
#[ignore = "needs Dynoxide: ./test endpoints"]
fn dynoxide_is_probed_and_passes_all_but_what_follows_its_stream() {
    let home = tempfile::tempdir().unwrap();
    let probed = report(&about(home.path(), "TRESTLE_TEST_DYNOXIDE", &["probe", "--json"]));
    assert_eq!(
        lacks(&probed),
        ["exact_event_names", "multi_attribute_keys"],
        "{probed:#}"
    );
    let checked = about(home.path(), "TRESTLE_TEST_DYNOXIDE", &["check", "--json"]);
    let checked = report(&checked);
    assert_eq!(
        steps(&checked, "failed"),
        ["writes past the gateways"],
        "{checked:#}"
    );
    assert_eq!(steps(&checked, "passed").len(), 15, "{checked:#}");
}
