//! `trestle serve --model FILE` on a database with a later version of the model.

use crate::migrate::SHOP;
use crate::running::{Running, run, start};
use std::path::Path;
use tempfile::TempDir;

/// A directory with orders of version 1 of the model, and the files `shop.toml` and `new.toml`, which has other keys.
fn with_orders() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("shop.toml", SHOP);
    write(
        "new.toml",
        &SHOP.replace("customer#{customer}", "shop/{customer}"),
    );
    write(
        "wider.toml",
        &SHOP.replace(
            "number = \"integer\"",
            "number = \"integer\"\nnote = { type = \"string\", optional = true }",
        ),
    );
    let server = serve(directory.path(), "shop.toml");
    for number in 1..=5 {
        let item = format!(r#"{{"customer": {{"S": "ann"}}, "number": {{"N": "{number}"}}}}"#);
        let answer = server.call("PutItem", &format!(r#"{{"TableName": "shop", "Item": {item}}}"#));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    server.stop();
    directory
}

fn serve(directory: &Path, model: &str) -> Running {
    start(
        directory,
        &["serve", "--data", "data", "--port", "0", "--model", model],
    )
}

/// Runs a command on the directory, which must succeed.
fn done(directory: &Path, args: &[&str]) {
    let args: Vec<&str> = args.iter().chain(&["--data", "data"]).copied().collect();
    let output = run(directory, &args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Serves with this file; returns the version in force, whether an order is found, and the log.
fn served(directory: &Path, model: &str) -> (String, String) {
    let server = serve(directory, model);
    let key = r#"{"TableName": "shop", "Key": {"customer": {"S": "ann"}, "number": {"N": "3"}}}"#;
    let found = server.call("GetItem", key);
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(found.contains(r#""number":{"N":"3"}"#), "{found}");
    (found, log)
}

/// The commands that lead to the version with other keys, with the resulting states.
const STARTED: [&[&str]; 2] = [
    &["migrate", "start", "new.toml", "--rate", "unlimited"],
    &["migrate", "start", "new.toml", "--rate", "unlimited", "--finish"],
];

#[test]
fn the_file_of_the_version_in_force_has_nothing_to_do() {
    let directory = with_orders();
    for started in STARTED {
        let directory = if started == STARTED[0] {
            &directory
        } else {
            &with_orders()
        };
        done(directory.path(), started);
        let (found, log) = served(directory.path(), "new.toml");
        assert!(found.contains("shop/ann"), "{found}");
        assert!(!log.contains("WARN"), "{log}");
        assert!(log.contains("model shop, version 2, is in effect"), "{log}");
    }
}

#[test]
fn the_file_of_an_earlier_version_does_not_keep_the_server_from_starting() {
    for started in STARTED {
        let directory = with_orders();
        done(directory.path(), started);
        let (found, log) = served(directory.path(), "shop.toml");
        assert!(found.contains("shop/ann"), "{found}");
        let said = "shop.toml is version 1 of model shop; version 2 is in force and stays so";
        assert!(log.contains("WARN") && log.contains(said), "{log}");
        assert!(log.contains("model shop, version 2, is in effect"), "{log}");
    }
}

#[test]
fn an_earlier_version_is_not_applied_by_the_way() {
    let directory = with_orders();
    done(directory.path(), &["model", "apply", "wider.toml"]);
    let (_, log) = served(directory.path(), "shop.toml");
    assert!(
        log.contains("`trestle model apply shop.toml` applies it again"),
        "{log}"
    );
    assert!(log.contains("model shop, version 2, is in effect"), "{log}");
    done(directory.path(), &["model", "apply", "shop.toml"]);
    let (_, log) = served(directory.path(), "shop.toml");
    assert!(
        log.contains("model shop, version 3, is in effect") && !log.contains("WARN"),
        "{log}"
    );
}

#[test]
fn a_planned_version_waits_until_it_is_started() {
    let directory = with_orders();
    done(directory.path(), &["migrate", "plan", "new.toml"]);
    let (found, log) = served(directory.path(), "new.toml");
    assert!(found.contains("customer#ann"), "{found}");
    assert!(
        log.contains("WARN") && log.contains("`trestle migrate start` begins it"),
        "{log}"
    );
    assert!(log.contains("model shop, version 1, is in effect"), "{log}");
    done(directory.path(), &["migrate", "start", "--finish"]);
    let (found, _) = served(directory.path(), "new.toml");
    assert!(found.contains("shop/ann"), "{found}");
}

#[test]
fn other_keys_without_a_plan_are_refused_with_the_next_step() {
    let directory = with_orders();
    let args = ["serve", "--data", "data", "--port", "0", "--model", "new.toml"];
    let output = run(directory.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("`trestle migrate plan new.toml`"), "{said}");
    assert!(said.contains("without `--model new.toml`"), "{said}");
    let (found, _) = served(directory.path(), "shop.toml");
    assert!(found.contains("customer#ann"), "nothing was changed: {found}");
}

#[test]
fn a_third_version_during_a_migration_is_refused_with_the_next_step() {
    let directory = with_orders();
    done(directory.path(), STARTED[0]);
    let args = ["serve", "--data", "data", "--port", "0", "--model", "wider.toml"];
    let output = run(directory.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("trestle migrate finish shop"), "{said}");
    assert!(said.contains("without `--model wider.toml`"), "{said}");
}
