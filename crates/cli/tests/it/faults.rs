//! Faults that a server injects: only if its start options allow it, and with a warning.

use crate::routes::admin;
use crate::running::{run, start};
use serde_json::json;

const SERVE: [&str; 4] = ["serve", "--in-memory", "--port", "0"];

#[test]
fn a_flag_injects_faults_with_a_warning_and_callers_may_replace_them() {
    let directory = tempfile::tempdir().unwrap();
    let rule = "unavailable,operation=ListTables";
    let server = start(
        directory.path(),
        &[&SERVE[..], &["--inject-fault", rule]].concat(),
    );
    assert!(server.call("ListTables", "{}").starts_with("HTTP/1.1 503"));
    let (status, listed) = admin(&server, "list-faults", json!({}));
    assert_eq!((status, &listed["rules"][0]["rule"]), (200, &json!(rule)));
    let (status, refused) = admin(&server, "set-faults", json!({ "rules": ["slow"] }));
    assert_eq!(status, 400);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("`slow` is not a fault"),
        "{refused}"
    );
    assert_eq!(admin(&server, "set-faults", json!({ "rules": [] })).0, 200);
    assert!(server.call("ListTables", "{}").starts_with("HTTP/1.1 200"));
    let (_, log) = server.stop();
    assert!(log.contains("fault injection is allowed"), "{log}");
    assert!(
        log.contains(&format!("faults are injected into requests: {rule}")),
        "{log}"
    );
}

#[test]
fn the_settings_file_allows_faults_and_names_them() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "[server]\nport = 0\n[storage]\nin_memory = true\n[faults]\nrules = ['internal,operation=ListTables']\n";
    std::fs::write(directory.path().join("trestle.toml"), settings).unwrap();
    let server = start(directory.path(), &["serve"]);
    assert!(server.call("ListTables", "{}").starts_with("HTTP/1.1 500"));
}

#[test]
fn a_server_that_was_not_told_so_takes_no_rules_and_names_the_flag() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &SERVE);
    for (call, body) in [
        ("set-faults", json!({ "rules": ["internal"] })),
        ("list-faults", json!({})),
    ] {
        let (status, refused) = admin(&server, call, body);
        assert_eq!(status, 404);
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .contains("--allow-fault-injection"),
            "{refused}"
        );
    }
    assert!(server.call("ListTables", "{}").starts_with("HTTP/1.1 200"));
    assert!(!server.stop().1.contains("fault injection"));
}

#[test]
fn a_rule_that_means_nothing_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let refused = run(
        directory.path(),
        &[&SERVE[..], &["--inject-fault", "throttle,share=3"]].concat(),
    );
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("`share=3`") && message.contains("from 0 (none) to 1 (all)"),
        "{message}"
    );
}
