//! Input from clients cannot make log lines long or insert forged ones.

use crate::running::{Running, start};
use std::time::Duration;

/// A value is cut at 2,000 characters; a line has a few of them.
const LINE_BYTES_MAX: usize = 5_000;

/// The log of a server after refused requests, a hundred times each.
fn log_of_refusals(format: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let server = start(
        directory.path(),
        &["serve", "--in-memory", "--port", "0", "--log-format", format],
    );
    for _ in 0..100 {
        server.call("DescribeTable", r#"{"TableName":"a\n2026-11-16 forged"}"#);
        server.begin("no\tsuch.target", "{}");
    }
    refused_statement(&server);
    // A line of the next second says how many were left out.
    std::thread::sleep(Duration::from_millis(1_100));
    server.call("DescribeTable", r#"{"TableName":"a\n2026-11-16 forged"}"#);
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    log
}

fn refused_statement(server: &Running) {
    let statement = format!(r#"{{"Statement":"SELECT {}"}}"#, "x".repeat(1_000_000));
    assert!(server.call("ExecuteStatement", &statement).contains("400 Bad"));
}

fn assert_bounded(log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    let longest = lines.iter().map(|line| line.len()).max().unwrap_or_default();
    assert!(longest < LINE_BYTES_MAX, "a line of {longest} bytes");
    assert!(lines.len() < 30, "{} lines for 201 refusals: {log}", lines.len());
    assert!(log.contains("left_out"), "{log}");
}

#[test]
fn a_line_of_text_is_of_the_server_alone() {
    let log = log_of_refusals("text");
    assert!(log.contains(r"a\n2026-11-16 forged"), "{log}");
    let forged = log.lines().find(|line| line.starts_with("2026-11-16 forged"));
    assert_eq!(forged, None);
    assert_bounded(&log);
}

#[test]
fn a_line_of_json_is_an_object_of_bounded_length() {
    let log = log_of_refusals("json");
    for line in log.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(object["timestamp"].is_string(), "{line}");
        assert!(object["level"].is_string(), "{line}");
        assert!(object["message"].is_string(), "{line}");
        assert!(object["target"].is_string(), "{line}");
    }
    assert_bounded(&log);
}
