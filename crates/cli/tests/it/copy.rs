//! Tests of the command `trestle copy`: its output, its exit codes, and the models.

use crate::routes::admin;
use crate::running::{Running, run, start};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const MODEL: &str = r#"
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.customer]
table = "shop"
key = { pk = "customer#{customer}", sk = "customer" }
attributes = { customer = "string", email = "string", orders = { type = "integer", default = 0 } }

[entity.customer.unique.email]
key = { pk = "emails", sk = "{email}" }

[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:04}" }
attributes = { customer = "string", number = "integer" }

[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
"#;

/// Two servers; the first has a shop.
pub(crate) struct Shops {
    pub(crate) directory: TempDir,
    pub(crate) first: Running,
    pub(crate) second: Running,
}

pub(crate) fn shops() -> Shops {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shop.toml"), MODEL).unwrap();
    let serve = ["serve", "--data", "first", "--port", "0", "--model", "shop.toml"];
    let first = start(directory.path(), &serve);
    let second = start(directory.path(), &["serve", "--data", "second", "--port", "0"]);
    put(
        &first,
        &json!({"kind": {"S": "customer"}, "customer": {"S": "ann"}, "email": {"S": "a@x"}}),
    );
    for number in 1..=20 {
        put(&first, &order("ann", number));
    }
    Shops {
        directory,
        first,
        second,
    }
}

pub(crate) fn order(customer: &str, number: u64) -> Value {
    json!({"kind": {"S": "order"}, "customer": {"S": customer}, "number": {"N": number.to_string()}})
}

pub(crate) fn put(server: &Running, item: &Value) {
    let answer = call(server, "PutItem", json!({"TableName": "shop", "Item": item}));
    assert!(answer.get("__type").is_none(), "{answer}");
}

pub(crate) fn call(server: &Running, operation: &str, body: Value) -> Value {
    let answer = server.call(operation, &body.to_string());
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

pub(crate) fn count(server: &Running) -> Value {
    call(server, "Scan", json!({"TableName": "shop", "Select": "COUNT"}))["Count"].clone()
}

pub(crate) fn orders_of(server: &Running, customer: &str) -> Value {
    let key = json!({"pk": {"S": format!("customer#{customer}")}, "sk": {"S": "customer"}});
    call(server, "GetItem", json!({"TableName": "shop", "Key": key}))["Item"]["orders"]["N"].clone()
}

pub(crate) fn url(server: &Running) -> String {
    format!("http://{}", server.address)
}

/// Runs the command: returns its exit code and its output.
pub(crate) fn copy(directory: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["copy"];
    all.extend(args);
    let done = run(directory, &all);
    let said = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn a_server_becomes_another_one_with_its_model_and_what_is_kept_for_it() {
    let shops = shops();
    let (from, to) = (url(&shops.first), url(&shops.second));
    let place = shops.directory.path();
    let (code, said) = copy(place, &[&from, &to, "--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("table shop: about 22 rows; it gets a stream"),
        "{said}"
    );
    assert!(said.contains("model shop: takes effect at the target"), "{said}");
    assert!(!place.join("trestle-copy.json").exists(), "{said}");
    let (code, said) = copy(place, &[&from, &to, "--cut-over"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("table shop: 22 rows are the same on both sides"),
        "{said}"
    );
    assert!(
        said.contains("the target has taken over; writing was paused for"),
        "{said}"
    );
    assert_eq!(count(&shops.second), count(&shops.first));
    // The model is in force, and continues with its counts.
    put(&shops.second, &order("ann", 21));
    assert_eq!(orders_of(&shops.second, "ann"), json!("21"));
    let taken = json!({"kind": {"S": "customer"}, "customer": {"S": "eve"}, "email": {"S": "a@x"}});
    let refused = call(
        &shops.second,
        "PutItem",
        json!({"TableName": "shop", "Item": taken}),
    );
    assert!(refused.get("__type").is_some(), "{refused}");
    // Writes at the source stay paused until they are resumed.
    let refused = call(
        &shops.first,
        "PutItem",
        json!({"TableName": "shop", "Item": order("ann", 22)}),
    );
    assert!(
        refused["message"].as_str().unwrap().contains("writing is paused"),
        "{refused}"
    );
    let paused = |flags: &[&str]| copy(place, &[&["paused-tables", "--endpoint", &from], flags].concat());
    // The table with the model's counts is paused, too.
    let until_told = "until `trestle copy resume-writes`\n";
    let both = format!("_trestle.counts  {until_told}shop  {until_told}");
    assert_eq!(paused(&[]), (Some(0), both));
    let (code, said) = copy(place, &["resume-writes", "--endpoint", &from]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("shop"), "{said}");
    assert_eq!(paused(&[]), (Some(0), "no table is paused\n".to_owned()));
    assert_eq!(paused(&["--json"]), (Some(0), "{\"tables\":[]}\n".to_owned()));
    put(&shops.first, &order("ann", 22));
    let (code, said) = copy(place, &["cut-over"]);
    assert_eq!(
        (code, said.trim()),
        (Some(0), "the target has taken over already")
    );
}

#[test]
fn rows_move_to_other_keys_at_the_target_if_a_model_says_so() {
    let shops = shops();
    let place = shops.directory.path();
    let other = MODEL.replace("order#{number:04}", "o#{number:04}");
    std::fs::write(place.join("other.toml"), other).unwrap();
    let (from, to) = (url(&shops.first), url(&shops.second));
    let (code, said) = copy(place, &[&from, &to, "--cut-over", "--model", "other.toml"]);
    assert_eq!(code, Some(0), "{said}");
    let key = json!({"pk": {"S": "customer#ann"}, "sk": {"S": "o#0007"}});
    let found = call(&shops.second, "GetItem", json!({"TableName": "shop", "Key": key}));
    assert_eq!(found["Item"]["number"]["N"], json!("7"), "{found}");
}

#[test]
fn a_directory_takes_the_model_along_and_back() {
    let shops = shops();
    let place = shops.directory.path();
    let first = url(&shops.first);
    let done = run(place, &["copy", &first, "third", "--cut-over", "--json"]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(last["report"]["end"], json!("done"), "{said}");
    assert_eq!(last["report"]["verified"][0]["differing"], json!(0), "{said}");
    let verified = run(place, &["verify", "third"]);
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
    let (code, said) = copy(place, &["third", &url(&shops.second), "--state", "back.json"]);
    assert_eq!(code, Some(0), "{said}");
    put(&shops.second, &order("ann", 21));
    assert_eq!(orders_of(&shops.second, "ann"), json!("21"));
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_changed() {
    let shops = shops();
    let place = shops.directory.path();
    let (from, to) = (url(&shops.first), url(&shops.second));
    let (code, said) = copy(place, &[&from, &to, "--table", "none"]);
    assert_eq!(code, Some(8), "{said}");
    assert!(said.contains("there is no table none at"), "{said}");
    let applied = run(place, &["model", "apply", "shop.toml", "--endpoint", &to]);
    assert!(applied.status.success());
    let (code, said) = copy(place, &[&from, &to, "--state", "other.json"]);
    assert_eq!(code, Some(8), "{said}");
    assert!(
        said.contains("derived twice") && said.contains("trestle model remove shop"),
        "{said}"
    );
    let (code, said) = copy(place, &[&from, &from]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = copy(place, &["first", &to]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("name the URL of the server"), "{said}");
    let (code, said) = copy(place, &["cut-over", "--state", "nothing.json"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = copy(place, &["http://127.0.0.1:9", &to]);
    assert_eq!(code, Some(1), "{said}");
    let (code, _) = copy(place, &[&from]);
    assert_eq!(code, Some(2));
    put(&shops.first, &order("ann", 30));
}

#[test]
fn the_calls_that_a_copy_makes_take_nothing_else() {
    let shops = shops();
    let delete = json!({"operation": "DeleteTable", "request": {"TableName": "_trestle.counts"}});
    let (status, refused) = admin(&shops.first, "write-kept-rows", delete);
    assert_eq!(status, 400, "{refused}");
    let queues = json!({"operation": "BatchWriteItem", "request": {"RequestItems": {"_trestle.queues": []}}});
    let (status, refused) = admin(&shops.first, "write-kept-rows", queues);
    assert_eq!(status, 400, "{refused}");
    let (status, refused) = admin(
        &shops.first,
        "pause-writes",
        json!({"tables": ["none"], "seconds": 1}),
    );
    assert_eq!(status, 404, "{refused}");
    let (status, refused) = admin(&shops.first, "pause-writes", json!({"tables": [], "seconds": -1}));
    assert_eq!(status, 400, "{refused}");
    let (status, paused) = admin(
        &shops.first,
        "pause-writes",
        json!({"tables": ["shop"], "seconds": 3600}),
    );
    assert_eq!(
        (status, &paused["tables"][0]["table"]),
        (200, &json!("shop")),
        "{paused}"
    );
    let refused = call(
        &shops.first,
        "PutItem",
        json!({"TableName": "shop", "Item": order("ann", 9)}),
    );
    assert!(
        refused["__type"]
            .as_str()
            .unwrap()
            .ends_with("ThrottlingException"),
        "{refused}"
    );
    assert_eq!(
        admin(&shops.first, "list-paused-tables", json!({})),
        (200, paused)
    );
    let (status, paused) = admin(&shops.first, "resume-writes", json!({"tables": ["shop"]}));
    assert_eq!((status, &paused), (200, &json!({"tables": []})));
    assert_eq!(
        admin(&shops.first, "list-paused-tables", json!({})),
        (200, paused)
    );
}

#[test]
fn a_gateway_is_no_side_of_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let endpoint = start(
        place,
        &["serve", "--in-memory", "--behind-gateways", "--port", "0"],
    );
    let behind = url(&endpoint);
    let gateway = start(place, &["serve", "--backend", &behind, "--port", "0"]);
    for sides in [
        [url(&gateway), "./new".to_owned()],
        [behind.clone(), url(&gateway)],
    ] {
        let (code, said) = copy(place, &[&sides[0], &sides[1], "--cut-over"]);
        assert_eq!(code, Some(2), "{said}");
        let way_out = format!("is a gateway in front of {behind}: name {behind} instead");
        assert!(said.contains(&way_out), "{said}");
    }
}
