//! `trestle verify` with models and `trestle model repair`, on a directory and on a running server.

use crate::running::{run, start};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use trestle_api::PutItem;
use trestle_engine::{Engine, Options, StoreSettings};
use trestle_item::Item;

const MODEL: &str = r#"
    model = "pages"
    [table.pages]
    key = ["pk", "sk"]
    [entity.visit]
    table = "pages"
    key = { pk = "page#{page}", sk = "visit#{id}" }
    attributes = { page = "string", id = "string" }
    [entity.visit.counter.visits]
    entity = "page"
    attribute = "visits"
    [entity.page]
    table = "pages"
    key = { pk = "page#{page}", sk = "page" }
    attributes = { page = "string", visits = { type = "integer", default = 0 } }
"#;

/// Its output on both streams; it must have ended with `code`.
fn said(output: &Output, code: i32) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// Writes a wrong count without the model.
fn damage(home: &Path, visits: i64) {
    let mut item = Item::from([("pk", "page#a"), ("sk", "page"), ("page", "a")]);
    item.insert("visits", visits);
    put_unchecked(home, item);
}

fn open(home: &Path) -> Engine {
    Engine::open(&home.join("data"), StoreSettings::default(), Options::default()).unwrap()
}

fn empty_database(home: &Path) {
    drop(open(home));
}

fn put_unchecked(home: &Path, item: Item) {
    let engine = open(home);
    let put = PutItem {
        table_name: "pages".to_owned(),
        item,
        ..PutItem::default()
    };
    engine.run(put).unwrap();
}

#[test]
fn a_wrong_count_is_named_and_mended_on_a_directory_and_on_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    std::fs::write(home.join("pages.toml"), MODEL).unwrap();
    let serve = ["serve", "--data", "data", "--port", "0"];
    let server = start(home, &serve);
    let endpoint = format!("http://{}", server.address);
    said(
        &run(home, &["model", "apply", "pages.toml", "--endpoint", &endpoint]),
        0,
    );
    for id in 1..=3 {
        let key = format!(r#""pk":{{"S":"page#a"}},"sk":{{"S":"visit#{id}"}}"#);
        let row =
            format!(r#"{{"TableName":"pages","Item":{{{key},"page":{{"S":"a"}},"id":{{"S":"{id}"}}}}}}"#);
        server.call("PutItem", &row);
    }
    server.stop();
    let clean = said(&run(home, &["verify", "data"]), 0);
    assert!(
        clean.contains("everything agrees") && clean.contains("1 model with 4 rows"),
        "{clean}"
    );

    damage(home, 7);
    let wrong = said(&run(home, &["verify", "data"]), 5);
    assert!(
        wrong.contains("visits has counted 7, wanted: visits has counted 3"),
        "{wrong}"
    );
    assert!(
        wrong.contains(r#"row {"pk":{"S":"page#a"},"sk":{"S":"page"}}"#),
        "{wrong}"
    );
    assert!(
        wrong.contains("1 disagreement in data; `trestle model repair --data data`"),
        "{wrong}"
    );
    said(&run(home, &["verify", "data", "--no-models"]), 0);
    let json = run(home, &["verify", "data", "--json"]);
    let lines: Vec<Value> = String::from_utf8(json.stdout.clone())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["disagreement"]["kind"], "counter");
    assert_eq!(lines[1]["summary"]["disagreements"], 1);
    assert_eq!(lines[1]["summary"]["models"][0]["wrong"]["counter"], 1);

    let listed = said(&run(home, &["model", "repair", "--dry-run", "--data", "data"]), 5);
    assert!(listed.contains("visits has counted 7"), "{listed}");
    assert!(
        listed.contains("1 derived fact disagrees with its rows"),
        "{listed}"
    );
    let mended = said(&run(home, &["model", "repair", "--data", "data"]), 0);
    assert!(mended.contains("mended: counter 1"), "{mended}");
    said(&run(home, &["verify", "data"]), 0);

    damage(home, 0);
    let server = start(home, &serve);
    let endpoint = format!("http://{}", server.address);
    let repair = ["model", "repair", "pages", "--json", "--endpoint", &endpoint];
    let report: Value = serde_json::from_str(&said(&run(home, &repair), 0)).unwrap();
    assert_eq!(report["models"][0]["mended"]["counter"], 1, "{report}");
    let unknown = ["model", "repair", "others", "--endpoint", &endpoint];
    assert!(said(&run(home, &unknown), 1).contains("there is no model others"));
    server.stop();
    said(&run(home, &["verify", "data"]), 0);
}

#[test]
fn a_row_that_no_repair_can_mend_is_left_to_be_corrected() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    std::fs::write(home.join("pages.toml"), MODEL).unwrap();
    empty_database(home);
    let apply = ["model", "apply", "pages.toml", "--data", "data"];
    said(&run(home, &apply), 0);
    put_unchecked(home, Item::from([("pk", "page#a"), ("sk", "strange")]));
    let wrong = said(&run(home, &["verify", "data"]), 5);
    assert!(
        wrong.contains("1 disagreement in data; no repair can tell"),
        "{wrong}"
    );
    assert!(!wrong.contains("trestle model repair"), "{wrong}");
}

#[test]
fn a_repair_without_a_model_says_that_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    empty_database(home);
    let repaired = said(&run(home, &["model", "repair", "--data", "data"]), 0);
    assert_eq!(repaired, "no model is stored\n");
}
