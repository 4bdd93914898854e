//! Tests of the commands `trestle model apply`, `diff`, `list` and `remove` on a running server and on a
//! directory.

use crate::migrate::SHOP;
use crate::running::{Running, run, start, start_command, trestle};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

const NAMES: [&str; 5] = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];

fn model_file(name: &str) -> String {
    let models = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models"));
    models.join(format!("{name}.toml")).display().to_string()
}

/// The location of models: a directory, or a server that may have it open.
struct Place {
    directory: TempDir,
    server: Option<Running>,
}

impl Place {
    fn server() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
        Place {
            directory,
            server: Some(server),
        }
    }

    /// A directory created by a server that was stopped.
    fn directory() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path(), &["serve", "--data", "data", "--port", "0"]);
        server.stop();
        Place {
            directory,
            server: None,
        }
    }

    fn model(&self, args: &[&str]) -> Output {
        let endpoint = self
            .server
            .as_ref()
            .map(|server| format!("http://{}", server.address));
        let place = match &endpoint {
            Some(endpoint) => ["--endpoint", endpoint],
            None => ["--data", "data"],
        };
        let args: Vec<&str> = ["model"].iter().chain(args).chain(&place).copied().collect();
        run(self.directory.path(), &args)
    }

    /// Its output; it must have ended with `code`.
    fn said(&self, code: i32, args: &[&str]) -> String {
        let output = self.model(args);
        let said = String::from_utf8(output.stdout).unwrap();
        let complained = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}{complained}");
        said
    }

    fn json(&self, code: i32, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        serde_json::from_str(&self.said(code, &args)).unwrap()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn call(&self, operation: &str, body: &str) -> String {
        self.server.as_ref().unwrap().call(operation, body)
    }
}

fn all_five_are_applied_once(place: &Place) {
    for name in NAMES {
        let file = model_file(name);
        let planned = place.said(0, &["diff", &file]);
        assert!(planned.contains("to do: create table "), "{planned}");
        let applied = place.said(0, &["apply", &file]);
        assert!(
            applied.ends_with(&format!("model {name} is in effect, version 1\n")),
            "{applied}"
        );
    }
    for name in NAMES {
        let again = place.said(0, &["apply", &model_file(name)]);
        assert_eq!(
            again,
            format!("nothing to do: model {name} is in effect, version 1\n")
        );
    }
    let listed = place.json(0, &["list"]);
    let found: Vec<&str> = listed["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, NAMES);
}

#[test]
fn the_five_models_are_applied_to_a_running_server_and_the_second_run_changes_nothing() {
    all_five_are_applied_once(&Place::server());
}

#[test]
fn the_five_models_are_applied_to_a_directory_and_the_second_run_changes_nothing() {
    all_five_are_applied_once(&Place::directory());
}

/// The shop with an index by state.
fn with_index() -> String {
    SHOP.replace(
        "[entity.order]",
        "[table.shop.index.by_state]\nkey = [\"stateKey\"]\n\n[entity.order]",
    )
    .replace("{number:04}\" }", "{number:04}\", stateKey = \"{state}\" }")
}

fn put_order(place: &Place) -> String {
    place.call(
        "PutItem",
        r#"{"TableName": "shop", "Item": {"customer": {"S": "anna"}, "number": {"N": "7"}, "state": {"S": "open"}}}"#,
    )
}

fn shop_with_an_order() -> Place {
    let place = Place::server();
    place.file("shop.toml", SHOP);
    place.said(0, &["apply", "shop.toml"]);
    let answer = put_order(&place);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    place
}

#[test]
fn a_model_takes_effect_without_a_restart() {
    let place = shop_with_an_order();
    let found = place.call(
        "GetItem",
        r#"{"TableName": "shop", "Key": {"customer": {"S": "anna"}, "number": {"N": "7"}}}"#,
    );
    assert!(found.contains(r#""sk":{"S":"order#0007"}"#), "{found}");
    let said = place.said(0, &["remove", "shop"]);
    assert!(said.starts_with("model shop is gone"), "{said}");
    let answer = put_order(&place);
    assert!(answer.contains("Missing the key pk in the item"), "{answer}");
}

#[test]
fn rows_that_lack_an_index_key_are_filled_in_when_asked_for() {
    let place = shop_with_an_order();
    place.file("shop.toml", &with_index());
    let refused = place.said(8, &["apply", "shop.toml"]);
    assert!(refused.contains("1 of 1 row lacks an index key"), "{refused}");
    assert!(refused.contains("help: --fill fills them in"), "{refused}");
    let applied = place.said(0, &["apply", "shop.toml", "--fill"]);
    assert!(
        applied.contains("done: table shop: create index by_state"),
        "{applied}"
    );
    let found = place.call(
        "Query",
        r#"{"TableName": "shop", "IndexName": "by_state", "KeyConditionExpression": "stateKey = :s",
            "ExpressionAttributeValues": {":s": {"S": "open"}}}"#,
    );
    assert!(found.contains(r#""Count":1"#), "{found}");
    let listed = place.said(0, &["list"]);
    assert!(listed.starts_with("shop: version 2, applied "), "{listed}");
}

#[test]
fn an_index_that_the_model_has_no_more_stays_until_its_deletion_is_asked_for() {
    let place = Place::server();
    place.file("shop.toml", &with_index());
    place.said(0, &["apply", "shop.toml"]);
    place.file("shop.toml", SHOP);
    let planned = place.said(0, &["diff", "shop.toml"]);
    assert!(
        planned.contains("index by_state is not in the model and stays"),
        "{planned}"
    );
    let applied = place.said(0, &["apply", "shop.toml", "--delete-indexes"]);
    assert!(
        applied.contains("done: table shop: delete index by_state"),
        "{applied}"
    );
}

#[test]
fn what_needs_a_migration_is_refused_with_its_rows_and_nothing_changes() {
    let place = shop_with_an_order();
    place.file("shop.toml", &SHOP.replace("order#", "purchase#"));
    let refused = place.said(8, &["apply", "shop.toml"]);
    assert!(refused.contains("needs a migration"), "{refused}");
    assert!(
        refused.contains(r#"{"pk":{"S":"customer#anna"},"sk":{"S":"order#0007"}}"#),
        "{refused}"
    );
    let report = place.json(8, &["diff", "shop.toml"]);
    assert_eq!(report["outcome"], "refused");
    assert_eq!(report["rows"][0]["misfits"][0]["rows"], 1);
    assert_eq!(place.json(0, &["list"])["models"][0]["version"], 1);

    place.file(
        "shop.toml",
        &SHOP.replace("\"sk\"", "\"sort\"").replace(" sk =", " sort ="),
    );
    let refused = place.said(8, &["apply", "shop.toml"]);
    assert!(refused.contains("a table's key cannot change"), "{refused}");
}

#[test]
fn the_text_of_a_model_comes_back_as_it_was_applied() {
    let place = Place::server();
    place.file("shop.toml", SHOP);
    place.said(0, &["apply", "shop.toml"]);
    assert_eq!(place.said(0, &["list", "shop"]).trim(), SHOP.trim());
    assert_eq!(place.json(0, &["list", "shop"])["text"], SHOP);
    assert_eq!(place.json(0, &["remove", "shop"])["removed"], "shop");
    assert_eq!(
        place.said(0, &["list"]),
        "no models; `trestle model apply FILE` applies one\n"
    );
}

#[test]
fn a_model_that_is_not_there_is_answered_with_those_that_are() {
    let place = Place::server();
    place.file("shop.toml", SHOP);
    place.said(0, &["apply", "shop.toml"]);
    for command in ["list", "remove"] {
        let output = place.model(&[command, "nothing"]);
        assert_eq!(output.status.code(), Some(1));
        let complained = String::from_utf8(output.stderr).unwrap();
        assert!(
            complained.contains("there is no model nothing; there is shop"),
            "{complained}"
        );
    }
}

#[test]
fn a_faulty_model_is_refused_before_anybody_is_asked() {
    let place = Place::server();
    place.file("shop.toml", &SHOP.replace("{customer}", "{client}"));
    let said = place.said(7, &["apply", "shop.toml"]);
    assert!(said.contains("shop.toml:9:"), "{said}");
    assert_eq!(place.json(0, &["list"])["models"], serde_json::json!([]));
}

#[test]
fn a_server_that_wants_signatures_says_so_to_those_without_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = trestle(directory.path());
    command.args(["serve", "--in-memory", "--port", "0"]);
    command.env("TRESTLE__AUTH__ACCESS_KEY", "anna");
    command.env("TRESTLE__AUTH__SECRET_KEY", "secret");
    let server = start_command(&mut command);
    let endpoint = format!("http://{}", server.address);
    let ask = |words: &[&str], more: &[&str]| {
        let mut command = trestle(directory.path());
        command
            .env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY");
        command
            .arg("model")
            .args(words)
            .args(["--endpoint", &endpoint])
            .args(more);
        command.output().unwrap()
    };
    let refused = ask(&["list"], &[]);
    assert_eq!(refused.status.code(), Some(1));
    let complained = String::from_utf8(refused.stderr).unwrap();
    assert!(
        complained.contains(
            "Request is missing Authentication Token; the server wants signed requests: give an access key"
        ),
        "{complained}"
    );
    let keys = ["--access-key", "anna", "--secret-key", "secret"];
    assert!(ask(&["list"], &keys).status.success());
    // A call of DynamoDB's protocol is accepted and fails only because of the table.
    let missing = ask(&["infer", "Landing"], &keys);
    let complained = String::from_utf8(missing.stderr).unwrap();
    assert!(complained.contains("Landing"), "{complained}");
    assert!(!complained.contains("Sign"), "{complained}");
}

#[test]
fn without_a_server_the_way_to_a_directory_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(
        directory.path(),
        &["model", "list", "--endpoint", "http://127.0.0.1:1"],
    );
    assert_eq!(output.status.code(), Some(1));
    let complained = String::from_utf8(output.stderr).unwrap();
    assert!(
        complained.contains("no server at http://127.0.0.1:1"),
        "{complained}"
    );
    assert!(complained.contains("use --data"), "{complained}");
}
