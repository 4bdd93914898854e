//! Tests of the command `trestle import cassandra`.

use crate::running::{run, start, trestle};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use tempfile::TempDir;

/// The files of the tests of the import itself.
const SCHEMA: &str = include_str!("../../../cassandra/tests/data/orders/schema.cql");
const MODEL: &str = include_str!("../../../cassandra/tests/data/orders/model.toml");
const MAPPING: &str = include_str!("../../../cassandra/tests/data/orders/mapping.toml");

fn folder(orders: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("schema.cql", SCHEMA),
        ("model.toml", MODEL),
        ("mapping.toml", MAPPING),
        ("orders.csv", orders),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// A data directory with the model, created by `model apply`.
fn with_model(directory: &Path) {
    let applied = run(directory, &["model", "apply", "model.toml", "--data", "data"]);
    assert_eq!(applied.status.code(), Some(0), "{}", errors(&applied));
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const TO_DATA: [&str; 5] = ["import", "cassandra", "mapping.toml", "--data", "data"];
const ORDERS: &str = "customer,number,note\nann,1,a\nann,2,\nbob,1,\"x, y\"\n";

#[test]
fn a_directory_takes_an_export_and_a_second_run_writes_nothing() {
    let directory = folder(ORDERS);
    let nowhere = run(directory.path(), &TO_DATA);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        errors(&nowhere).contains("trestle model apply FILE --data data"),
        "{}",
        errors(&nowhere)
    );
    assert!(!directory.path().join("data").exists());
    with_model(directory.path());
    let first = run(directory.path(), &TO_DATA);
    let text = String::from_utf8(first.stdout.clone()).unwrap();
    assert_eq!(first.status.code(), Some(0), "{}", errors(&first));
    assert!(
        text.contains("order from ks.orders: 3 rows, 3 inserted"),
        "{text}"
    );
    assert!(text.contains("3 rows compared, 3 the same"), "{text}");
    let again = run(directory.path(), &[&TO_DATA[..], &["--json"]].concat());
    let told = lines(&again);
    assert_eq!(told[0]["imported"][0]["unchanged"], 3);
    assert_eq!(told[1]["verified"][0]["same"], 3);
    assert_eq!(
        told[1]["verified"][0]["checksum_in_source"],
        told[1]["verified"][0]["checksum_in_database"]
    );
    let sound = run(directory.path(), &["verify", "data"]);
    assert_eq!(sound.status.code(), Some(0), "{}", errors(&sound));
}

#[test]
fn a_dry_run_needs_no_database_and_reports_each_row_that_does_not_fit() {
    let directory = folder("customer,number,note\nann,1,a\nann,x,b\n,3,c\n");
    let dry = [
        "import",
        "cassandra",
        "mapping.toml",
        "--dry-run",
        "--model",
        "model.toml",
    ];
    let output = run(
        directory.path(),
        &[&dry[..], &["--json", "--report", "report.json"]].concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    let told = lines(&output);
    assert_eq!(
        (&told[0]["unfit"]["line"], &told[0]["unfit"]["column"]),
        (&3.into(), &"number".into())
    );
    assert_eq!(
        (&told[1]["unfit"]["line"], &told[1]["unfit"]["column"]),
        (&4.into(), &"customer".into())
    );
    assert_eq!(told[2]["checked"][0]["unfit"], 2);
    let report = std::fs::read_to_string(directory.path().join("report.json")).unwrap();
    assert_eq!(report.lines().count(), 2);
    assert!(!directory.path().join("data").exists());
    // A real run refuses to begin; with the flag it skips them.
    with_model(directory.path());
    let refused = run(directory.path(), &TO_DATA);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        errors(&refused).contains("2 rows do not fit"),
        "{}",
        errors(&refused)
    );
    let skipped = run(
        directory.path(),
        &[&TO_DATA[..], &["--skip-unfit", "--json"]].concat(),
    );
    assert_eq!(skipped.status.code(), Some(0), "{}", errors(&skipped));
    let told = lines(&skipped);
    let imported = told.iter().find(|line| line["imported"].is_array()).unwrap();
    assert_eq!(imported["imported"][0]["inserted"], 1);
}

#[test]
fn a_running_server_takes_an_export_and_keeps_rows_that_differ() {
    let directory = folder(ORDERS);
    let serve = ["serve", "--in-memory", "--port", "0", "--model", "model.toml"];
    let server = start(directory.path(), &serve);
    let put = r#"{"TableName": "orders", "Item": {"kind": {"S": "order"}, "customer": {"S": "ann"}, "number": {"N": "2"}, "note": {"S": "own"}}}"#;
    assert!(server.call("PutItem", put).starts_with("HTTP/1.1 200"));
    let endpoint = format!("http://{}", server.address);
    let import = ["import", "cassandra", "mapping.toml", "--endpoint", &endpoint];
    let output = run(directory.path(), &import);
    assert_eq!(output.status.code(), Some(1));
    let told = errors(&output);
    assert!(
        told.contains("orders.csv:3: order") && told.contains("--overwrite"),
        "{told}"
    );
    let verified = run(directory.path(), &[&import[..], &["--verify", "--json"]].concat());
    assert_eq!(verified.status.code(), Some(1));
    assert_eq!(lines(&verified).last().unwrap()["verified"][0]["different"], 1);
    let overwritten = run(directory.path(), &[&import[..], &["--overwrite"]].concat());
    assert_eq!(overwritten.status.code(), Some(0), "{}", errors(&overwritten));
    // The server enforces its own model.
    let twice = run(
        directory.path(),
        &[&import[..], &["--model", "model.toml"]].concat(),
    );
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn a_server_without_the_model_takes_rows_whose_keys_were_made_before() {
    let directory = folder(ORDERS);
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let create = r#"{"TableName": "orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions":
        [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}"#;
    assert!(server.call("CreateTable", create).starts_with("HTTP/1.1 200"));
    let endpoint = format!("http://{}", server.address);
    let import = ["import", "cassandra", "mapping.toml", "--endpoint", &endpoint];
    let unknown = run(directory.path(), &import);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(errors(&unknown).contains("model apply"), "{}", errors(&unknown));
    let output = run(
        directory.path(),
        &[&import[..], &["--model", "model.toml"]].concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let got = server.call(
        "GetItem",
        r#"{"TableName": "orders", "Key": {"pk": {"S": "bob"}, "sk": {"S": "order#000001"}}}"#,
    );
    assert!(got.contains("x, y"), "{got}");
}

/// Starts an import and kills it when it reports that it has written rows.
fn kill_while_it_writes(directory: &Path) {
    let mut child = trestle(directory)
        .args(TO_DATA)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = told.map(Result::unwrap);
    assert!(
        told.any(|line| line.contains("rows imported")),
        "it wrote nothing"
    );
    child.kill().unwrap();
    assert!(
        !child.wait().unwrap().success(),
        "it had ended before it was killed"
    );
}

#[test]
fn an_import_survives_kill_9() {
    let mut orders = "customer,number,note\n".to_owned();
    for number in 0..60_000 {
        orders += &format!("c{},{number},\"note, {number}\"\n", number % 131);
    }
    let directory = folder(&orders);
    with_model(directory.path());
    for _ in 0..3 {
        kill_while_it_writes(directory.path());
    }
    let output = run(directory.path(), &[&TO_DATA[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let told = lines(&output);
    assert_eq!(told[0]["resumed"], true);
    assert_eq!(told[0]["imported"][0]["rows"], 60_000);
    assert_eq!(told[1]["verified"][0]["same"], 60_000);
}

#[test]
fn a_schema_proposes_a_model_that_passes_the_check_and_a_mapping_that_imports() {
    let directory = folder(ORDERS);
    let propose = [
        "import",
        "cassandra",
        "--schema",
        "schema.cql",
        "--out",
        "proposed",
    ];
    let output = run(directory.path(), &propose);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(errors(&output).contains("{number:010}"), "{}", errors(&output));
    let checked = run(directory.path(), &["model", "check", "proposed/model.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", errors(&checked));
    let export = "customer,number,note,owner\nann,1,a,o\nann,2,,o\n";
    std::fs::write(directory.path().join("proposed/orders.csv"), export).unwrap();
    let dry = [
        "import",
        "cassandra",
        "proposed/mapping.toml",
        "--dry-run",
        "--model",
        "proposed/model.toml",
    ];
    let dry = run(directory.path(), &dry);
    assert_eq!(dry.status.code(), Some(0), "{}", errors(&dry));
    // Nothing is overwritten.
    assert_eq!(run(directory.path(), &propose).status.code(), Some(2));
    std::fs::write(
        directory.path().join("schema.cql"),
        "CREATE TABLE t (\n  a text,\n  b no,\n",
    )
    .unwrap();
    let wrong = run(
        directory.path(),
        &["import", "cassandra", "--schema", "schema.cql"],
    );
    assert_eq!(wrong.status.code(), Some(7));
    assert!(errors(&wrong).contains("schema.cql:3:5:"), "{}", errors(&wrong));
}

#[test]
#[cfg(not(feature = "cassandra-live"))]
fn without_the_driver_a_live_cluster_is_refused_with_the_way_to_build_it() {
    let directory = folder(ORDERS);
    let live = run(
        directory.path(),
        &[&TO_DATA[..], &["--contact-point", "127.0.0.1"]].concat(),
    );
    assert_eq!(live.status.code(), Some(2));
    assert!(
        errors(&live).contains("--features cassandra-live"),
        "{}",
        errors(&live)
    );
}

#[test]
#[cfg(feature = "cassandra-live")]
fn a_cluster_that_does_not_answer_is_named() {
    let directory = folder(ORDERS);
    // The discard port: nothing listens there.
    let live = run(
        directory.path(),
        &[&TO_DATA[..], &["--contact-point", "127.0.0.1:9"]].concat(),
    );
    assert_eq!(live.status.code(), Some(1));
    assert!(
        errors(&live).contains("cannot connect to 127.0.0.1:9"),
        "{}",
        errors(&live)
    );
}
