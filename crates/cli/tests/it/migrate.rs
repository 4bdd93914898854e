//! Tests of the command `trestle migrate` on a running server and on a directory.

use crate::routes::{saved, until};
use crate::running::{Running, run, start};
use serde_json::Value;
use std::process::Output;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Orders of customers in one table.
pub(crate) const SHOP: &str = r#"
model = "shop"

[table.shop]
key = ["pk", "sk"]

[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:04}" }

[entity.order.attributes]
customer = "string"
number = "integer"
state = { type = "string", optional = true }
"#;

fn new_layout() -> String {
    SHOP.replace("customer#{customer}", "shop/{customer}")
        .replace("order#", "o/")
}

/// A server on a directory, or the directory alone.
struct Place {
    directory: TempDir,
    server: Option<Running>,
}

impl Place {
    /// A running shop with orders in the former layout.
    fn with_orders(orders: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path(), &["serve", "--data", "data", "--port", "0"]);
        let place = Place {
            directory,
            server: Some(server),
        };
        place.file("shop.toml", SHOP);
        place.file("new.toml", &new_layout());
        place.said(0, &["model", "apply", "shop.toml"]);
        for number in 1..=orders {
            let item = format!(r#"{{"customer": {{"S": "ann"}}, "number": {{"N": "{number}"}}}}"#);
            let answer = place.call("PutItem", &format!(r#"{{"TableName": "shop", "Item": {item}}}"#));
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        place
    }

    fn without_server(mut self) -> Self {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        self
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let endpoint = self
            .server
            .as_ref()
            .map(|server| format!("http://{}", server.address));
        let place = match &endpoint {
            Some(endpoint) => ["--endpoint", endpoint],
            None => ["--data", "data"],
        };
        let args: Vec<&str> = args.iter().chain(&place).copied().collect();
        run(self.directory.path(), &args)
    }

    /// Its output on both streams; it must have ended with `code`.
    fn heard(&self, code: i32, args: &[&str]) -> (String, String) {
        let output = self.run(args);
        let said = String::from_utf8(output.stdout).unwrap();
        let complained = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}{complained}");
        (said, complained)
    }

    fn said(&self, code: i32, args: &[&str]) -> String {
        self.heard(code, args).0
    }

    fn status(&self) -> Value {
        let said = self.said(0, &["migrate", "status", "--json"]);
        let all: Value = serde_json::from_str(&said).unwrap();
        all["migrations"][0].clone()
    }

    fn call(&self, operation: &str, body: &str) -> String {
        self.server.as_ref().unwrap().call(operation, body)
    }

    fn order(&self, key: &str) -> String {
        self.call(
            "GetItem",
            &format!(r#"{{"TableName": "shop", "Key": {{{key}}}}}"#),
        )
    }

    fn metrics(&self) -> String {
        self.server.as_ref().unwrap().get("/metrics")
    }
}

const FORMER_KEY: &str = r#""pk": {"S": "customer#ann"}, "sk": {"S": "order#0007"}"#;
const IDENTITY: &str = r#""customer": {"S": "ann"}, "number": {"N": "7"}"#;
const OWN_KEY: &str = r#""sk":{"S":"o/0007"}"#;

#[test]
fn a_server_moves_its_rows_while_it_answers() {
    let place = Place::with_orders(40);
    let planned = place.said(0, &["migrate", "plan", "new.toml"]);
    assert!(
        planned.contains("entity order, table shop: 40 rows move"),
        "{planned}"
    );
    assert!(planned.contains("to do: table shop: move 40 rows"), "{planned}");
    assert_eq!(place.status()["state"], "planned");

    let started = place.said(0, &["migrate", "start", "--paused"]);
    assert!(
        started
            .contains("done: store the model as version 2 and enforce it\nto do: table shop: move 40 rows"),
        "{started}"
    );
    assert_eq!(place.status()["state"], "dual");
    for key in [IDENTITY, FORMER_KEY] {
        let found = place.order(key);
        assert!(found.contains(OWN_KEY), "{found}");
    }
    let metrics = place.metrics();
    assert!(
        metrics.contains(r#"trestle_migration_state{model="shop",state="dual"} 1"#),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"trestle_migration_double_reads_total{model="shop"} 2"#),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"trestle_storage_double_reads_total{operation="GetItem"} 2"#),
        "{metrics}"
    );

    let (said, _) = place.heard(0, &["migrate", "resume", "--rate", "unlimited", "--watch"]);
    assert!(said.contains("shop: version 1 to 2, verified since"), "{said}");
    assert!(
        said.contains("[##############################] 100.0 %"),
        "{said}"
    );
    assert!(said.contains("next: `trestle migrate finish shop`"), "{said}");
    let metrics = place.metrics();
    assert!(
        metrics.contains(r#"trestle_migration_rows_moved_total{model="shop"} 40"#),
        "{metrics}"
    );
    assert!(place.order(FORMER_KEY).contains(OWN_KEY));
    let finished = place.said(0, &["migrate", "finish"]);
    assert!(finished.contains("version 1 to 2, done since"), "{finished}");
    assert!(!place.order(FORMER_KEY).contains(OWN_KEY), "its key is history");
}

#[test]
fn a_server_goes_on_after_kill_9_and_says_so_in_its_log() {
    let mut place = Place::with_orders(60);
    place.said(0, &["migrate", "start", "new.toml", "--rate", "10", "--finish"]);
    let server = place.server.take().unwrap();
    // Killed, not stopped.
    drop(server);
    let server = start(
        place.directory.path(),
        &["serve", "--data", "data", "--port", "0"],
    );
    place.server = Some(server);
    let state = place.status()["state"].as_str().unwrap().to_owned();
    assert!(["dual", "sweeping"].contains(&state.as_str()), "{state}");
    assert!(place.order(IDENTITY).contains(OWN_KEY));
    let resumed = place.said(0, &["migrate", "resume", "--rate", "unlimited"]);
    assert!(resumed.contains("  next: "), "{resumed}");
    let patience = Instant::now() + Duration::from_secs(20);
    while place.status()["state"] != "done" {
        assert!(Instant::now() < patience, "{}", place.status());
    }
    let (_, log) = place.server.take().unwrap().stop();
    assert!(log.contains("migration of model shop is done; "), "{log}");
    let verified = run(place.directory.path(), &["verify", "data"]);
    assert!(verified.status.success());
}

#[test]
fn a_directory_is_swept_in_the_foreground_and_rolled_back() {
    let place = Place::with_orders(30).without_server();
    let (said, told) = place.heard(0, &["migrate", "start", "new.toml", "--rate", "unlimited"]);
    assert!(
        said.contains("to do: table shop: move 30 rows to their new keys"),
        "{said}"
    );
    assert!(said.contains("30 rows moved, about 0 to move"), "{said}");
    assert!(told.contains("%  verifying, 30 rows moved"), "{told}");
    assert!(told.contains("%  verified, 30 rows moved"), "{told}");
    assert_eq!(place.status()["state"], "verified");

    let back = place.said(0, &["migrate", "rollback"]);
    assert!(
        back.contains("model shop is in effect as it was before, version 3; its rows move back"),
        "{back}"
    );
    assert_eq!(place.status()["state"], "rolled-back");
    let same = place.said(0, &["model", "apply", "shop.toml"]);
    assert_eq!(same, "nothing to do: model shop is in effect, version 3\n");
}

#[test]
fn what_is_refused_says_why_and_ends_with_its_code() {
    let place = Place::with_orders(3);
    let applied = place.said(8, &["model", "apply", "new.toml"]);
    assert!(applied.contains("`trestle migrate plan FILE`"), "{applied}");
    let (_, none) = place.heard(1, &["migrate", "pause"]);
    assert!(none.contains("`trestle migrate plan FILE` plans one"), "{none}");
    assert_eq!(
        place.said(0, &["migrate", "status"]),
        "no migrations; `trestle migrate plan FILE` plans one\n"
    );
    let (_, same) = place.heard(8, &["migrate", "plan", "shop.toml"]);
    assert!(same.contains("no row has to move"), "{same}");
    place.file("wrong.toml", &new_layout().replace("{customer}", "{client}"));
    place.said(7, &["migrate", "plan", "wrong.toml"]);
    let (_, wrong) = place.heard(1, &["migrate", "start", "new.toml", "--rate", "fast"]);
    assert!(wrong.contains("write a number of rows per second"), "{wrong}");

    place.file(
        "lost.toml",
        &SHOP.replace("pk = \"customer#{customer}\"", "pk = \"all\""),
    );
    let (lost, complained) = place.heard(8, &["migrate", "start", "lost.toml"]);
    assert!(lost.contains("obstacle: entity `order`"), "{lost}");
    assert!(
        complained.contains("was refused; nothing was changed"),
        "{complained}"
    );

    place.said(0, &["migrate", "start", "new.toml", "--paused"]);
    place.file(
        "more.toml",
        &new_layout().replace("optional = true", "optional = true, length = \"1..9\""),
    );
    let (_, meanwhile) = place.heard(8, &["model", "apply", "more.toml"]);
    assert!(
        meanwhile.contains("the rows of model shop are on the move (dual)"),
        "{meanwhile}"
    );
    assert!(meanwhile.contains("`trestle migrate resume shop`"), "{meanwhile}");
    let (_, removed) = place.heard(8, &["model", "remove", "shop"]);
    assert!(removed.contains("on the move"), "{removed}");
    let (_, early) = place.heard(8, &["migrate", "finish"]);
    assert!(early.contains("is dual, so it cannot be finished"), "{early}");
}

#[test]
fn every_answer_is_json_when_asked_for() {
    let place = Place::with_orders(3);
    let json = |args: &[&str]| -> Vec<Value> {
        let args: Vec<&str> = ["migrate"]
            .iter()
            .chain(args)
            .chain(&["--json"])
            .copied()
            .collect();
        let said = place.said(0, &args);
        said.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let plan = json(&["plan", "new.toml", "--dry-run"]);
    assert_eq!(plan[0]["moves"][0]["rows"], 3);
    assert_eq!(plan[0]["outcome"], "planned");
    assert_eq!(plan[0]["can_be_rolled_back"], true);
    let started = json(&["start", "new.toml", "--paused", "--rate", "5"]);
    assert_eq!(started[0]["version"], 2);
    assert_eq!(started[1]["state"], "dual");
    assert_eq!(started[1]["rate"], 5);
    assert_eq!(json(&["pause"])[0]["paused"], true);
    let resumed = json(&["resume", "--rate", "unlimited", "--watch"]);
    assert_eq!(
        (&resumed[0]["state"], &resumed[0]["rate"]),
        (&"verified".into(), &Value::Null)
    );
    let watched = json(&["status", "shop", "--watch"]);
    assert_eq!(watched[0]["migrations"][0]["rows_moved"], 3);
    let back = json(&["rollback", "--watch"]);
    assert_eq!(
        (&back[0]["back"], &back[1]["state"]),
        (&true.into(), &"rolled-back".into())
    );
}

#[test]
fn routes_deliver_what_was_written_in_both_layouts_and_no_moves() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(
        directory.path(),
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    let place = Place {
        directory,
        server: Some(server),
    };
    let with_route = |text: &str| {
        let streamed = text.replace(
            "[table.shop]\n",
            "[table.shop]\nstream = \"new-and-old-images\"\n",
        );
        let route = r#"
[route.orders]
entity = "order"
input = '{"is": <entity>, "event": <event>, "number": <new.number>}'
target = { command = ["sh", "-c", "cat >> saved"] }
"#;
        streamed + route
    };
    place.file("shop.toml", &with_route(SHOP));
    place.file("new.toml", &with_route(&new_layout()));
    place.said(0, &["model", "apply", "shop.toml"]);
    for number in 1..=30 {
        let item = format!(r#"{{"customer": {{"S": "ann"}}, "number": {{"N": "{number}"}}}}"#);
        place.call("PutItem", &format!(r#"{{"TableName": "shop", "Item": {item}}}"#));
    }
    place.said(
        0,
        &["migrate", "start", "new.toml", "--rate", "unlimited", "--finish"],
    );
    for number in 1..=30 {
        let update = format!(
            r#"{{"TableName": "shop", "Key": {{"customer": {{"S": "ann"}}, "number": {{"N": "{number}"}}}},
            "UpdateExpression": "SET paid = :s", "ExpressionAttributeValues": {{":s": {{"BOOL": true}}}}}}"#
        );
        let answer = place.call("UpdateItem", &update);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let saved = || saved(place.directory.path());
    let delivered = |event: &str| {
        saved()
            .matches(&format!(r#"{{"event":"{event}","is":"order""#))
            .count()
    };
    until("all changes", || {
        (delivered("insert"), delivered("modify")) == (30, 30)
    });
    until("the end of the migration", || place.status()["state"] == "done");
    // The last write shows that no other happened in between.
    place.call(
        "PutItem",
        r#"{"TableName": "shop", "Item": {"customer": {"S": "ann"}, "number": {"N": "99"}}}"#,
    );
    until("the last change", || saved().contains(r#""number":99"#));
    assert_eq!(saved().matches("\"event\"").count(), 61, "{}", saved());
}
