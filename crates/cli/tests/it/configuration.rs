//! Files, variables and the log.

use crate::running::{run, start, start_command, trestle};
use std::path::Path;

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).unwrap();
}

#[test]
fn trestle_toml_in_the_working_directory_is_read() {
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        "trestle.toml",
        "[server]\nport = 0\n[storage]\ndata = 'here'\n",
    );
    let server = start(directory.path(), &["serve"]);
    assert!(
        server.announcement.contains("data in here)"),
        "{}",
        server.announcement
    );
}

#[test]
fn a_named_file_is_read_and_a_missing_one_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        "my.toml",
        "[server]\nport = 0\n[storage]\nin_memory = true\n",
    );
    let server = start(directory.path(), &["serve", "--config", "my.toml"]);
    assert!(server.announcement.contains("in memory"));

    let missing = run(directory.path(), &["serve", "--config", "your.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("your.toml"));
}

#[test]
fn a_mistake_in_the_file_is_shown_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "trestle.toml", "[server]\nprot = 0\n");
    let refused = run(directory.path(), &["serve"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("trestle.toml") && message.contains("line 2"),
        "{message}"
    );
}

#[test]
fn a_variable_overrules_the_file_and_a_flag_the_variable() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "trestle.toml", "[storage]\ndata = 'file'\n");
    let with_variable = |args: &[&str]| {
        start_command(
            trestle(directory.path())
                .env("TRESTLE__STORAGE__DATA", "variable")
                .args(args),
        )
        .announcement
        .clone()
    };
    assert!(with_variable(&["serve", "--port", "0"]).contains("data in variable)"));
    assert!(with_variable(&["serve", "--port", "0", "--data", "flag"]).contains("data in flag)"));
}

#[test]
fn a_variable_that_means_nothing_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = trestle(directory.path())
        .env("TRESTLE__SERVER__PROT", "1")
        .arg("serve")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("TRESTLE__SERVER__PROT")
    );
}

#[test]
fn the_log_can_be_json_with_one_line_per_request() {
    let directory = tempfile::tempdir().unwrap();
    let args = [
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--log-format",
        "json",
        "--log-level",
        "debug",
    ];
    let server = start(directory.path(), &args);
    server.call("ListTables", "{}");
    server.call("Scan", "{}");
    let (_, log) = server.stop();
    assert!(
        log.lines()
            .all(|line| line.starts_with('{') && line.ends_with('}')),
        "{log}"
    );
    let lines_with = |text: &str| log.lines().filter(|line| line.contains(text)).collect::<Vec<_>>();
    let answered = lines_with(r#""operation":"ListTables""#);
    assert_eq!(answered.len(), 1, "{log}");
    assert!(answered[0].contains(r#""level":"DEBUG""#) && answered[0].contains("latency_us"));
    let refused = lines_with(r#""operation":"Scan""#);
    assert_eq!(refused.len(), 1, "{log}");
    assert!(refused[0].contains(r#""level":"WARN""#) && refused[0].contains("ValidationException"));
}

#[test]
fn a_word_that_is_no_log_level_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let args = ["serve", "--in-memory", "--port", "0", "--log-level", "loud"];
    let output = run(directory.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("`loud`") && message.contains("use error, warn, info"),
        "{message}"
    );
}
