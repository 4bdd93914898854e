//! `trestle model infer` and `import`: from existing rows to a model in effect.

use crate::running::{Running, run, start};
use serde_json::{Value, json};
use std::process::Output;
use tempfile::TempDir;

struct Lending {
    directory: TempDir,
    server: Running,
}

fn lending_file() -> &'static str {
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../discover/tests/it/data/lending.json"
    )
}

impl Lending {
    /// The table of the file, with its rows, and no model.
    fn with_rows() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path(), &["serve", "--data", "data", "--port", "0"]);
        let lending = Lending { directory, server };
        lending.create_table();
        let file: Value = serde_json::from_str(&std::fs::read_to_string(lending_file()).unwrap()).unwrap();
        for row in file["DataModel"][0]["TableData"].as_array().unwrap() {
            lending.call("PutItem", &json!({ "TableName": "Lending", "Item": row }));
        }
        lending
    }

    fn create_table(&self) {
        let string = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
        let key = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
        self.call(
            "CreateTable",
            &json!({
                "TableName": "Lending",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [string("pk"), string("sk"), string("brnch"), string("state")],
                "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
                "GlobalSecondaryIndexes": [{
                    "IndexName": "copies_in_branch",
                    "KeySchema": [key("brnch", "HASH"), key("state", "RANGE")],
                    "Projection": { "ProjectionType": "ALL" },
                }],
            }),
        );
    }

    fn call(&self, operation: &str, body: &Value) -> String {
        let answer = self.server.call(operation, &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    fn model(&self, args: &[&str]) -> Output {
        let endpoint = format!("http://{}", self.server.address);
        let place = ["--endpoint", &endpoint];
        let args: Vec<&str> = ["model"].iter().chain(args).chain(&place).copied().collect();
        run(self.directory.path(), &args)
    }

    fn check(&self, file: &str) -> Output {
        run(self.directory.path(), &["model", "check", file])
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complained(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_model_is_inferred_from_rows_passes_its_check_and_is_applied_to_them() {
    let lending = Lending::with_rows();
    let output = lending.model(&["infer", "Lending", "--out", "lending.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", complained(&output));
    let notes = complained(&output);
    assert!(notes.starts_with("table Lending: 6 rows; "), "{notes}");
    assert!(notes.contains("perhaps another layout of"), "{notes}");
    assert!(notes.contains("`trestle model check lending.toml`"), "{notes}");
    let checked = lending.check("lending.toml");
    assert!(checked.status.success(), "{}", said(&checked));
    let applied = lending.model(&["apply", "lending.toml", "--fill"]);
    assert!(
        applied.status.success(),
        "{}{}",
        said(&applied),
        complained(&applied)
    );
    let found = lending.call(
        "GetItem",
        &json!({ "TableName": "Lending", "Key": {
            "brnch": { "S": "south" }, "isbn": { "S": "9780201633610" }, "cpyNr": { "N": "1" } } }),
    );
    assert!(found.contains("Patterns"), "{found}");
}

#[test]
fn a_table_is_inferred_from_a_directory_as_from_the_server_that_had_it_open() {
    let lending = Lending::with_rows();
    let served = lending.model(&["infer", "Lending", "--json"]);
    let Lending { directory, server } = lending;
    server.stop();
    let read = run(
        directory.path(),
        &["model", "infer", "Lending", "--json", "--data", "data"],
    );
    assert!(read.status.success(), "{}", complained(&read));
    assert_eq!(said(&read), said(&served));
    let object: Value = serde_json::from_str(&said(&read)).unwrap();
    assert!(object["text"].as_str().unwrap().contains("[entity."), "{object}");
    assert!(
        object["notes"].as_array().is_some_and(|notes| !notes.is_empty()),
        "{object}"
    );
}

#[test]
fn what_keeps_a_table_from_being_inferred_is_said_with_a_way_out() {
    let lending = Lending::with_rows();
    let missing = lending.model(&["infer", "Landing"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        complained(&missing).contains("there is no table Landing; there is Lending"),
        "{}",
        complained(&missing)
    );
    let part = lending.model(&["infer", "Lending", "--rows", "2"]);
    assert!(
        complained(&part).contains("read 2 of about 6 rows; --rows sets another number"),
        "{}",
        complained(&part)
    );
    std::fs::write(lending.directory.path().join("there.toml"), "").unwrap();
    let there = lending.model(&["infer", "Lending", "--out", "there.toml"]);
    assert_eq!(there.status.code(), Some(2));
    assert!(complained(&there).contains("there.toml exists already"));
}

#[test]
fn a_workbench_file_is_imported_and_passes_its_check() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(
        directory.path(),
        &["model", "import", lending_file(), "--out", "lending.toml"],
    );
    assert!(output.status.success(), "{}", complained(&output));
    assert!(complained(&output).contains("no entity is called `copies_by_state`"));
    let checked = run(directory.path(), &["model", "check", "lending.toml"]);
    assert!(
        said(&checked).contains("model Lending is sound: 2 tables, 4 entities"),
        "{}",
        said(&checked)
    );
}

#[test]
fn what_cannot_be_imported_is_answered_with_the_formats_that_can() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("stack.json"), r#"{"Resources": {}}"#).unwrap();
    let other = run(directory.path(), &["model", "import", "stack.json"]);
    assert_eq!(other.status.code(), Some(7));
    assert!(
        complained(&other).contains("has no `DataModel`; --from can be nosql-workbench"),
        "{}",
        complained(&other)
    );
    let unknown = run(
        directory.path(),
        &["model", "import", "stack.json", "--from", "cloudformation"],
    );
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        complained(&unknown).contains("this format is not known; there is nosql-workbench"),
        "{}",
        complained(&unknown)
    );
}
