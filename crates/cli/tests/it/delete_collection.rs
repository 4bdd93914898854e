//! Tests of the command `trestle delete-collection` and of the administration call.

use crate::routes::admin;
use crate::running::{Running, run, start, trestle};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const MODEL: &str = r#"
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.customer]
table = "shop"
key = { pk = "customer#{customer}", sk = "customer" }
attributes = { customer = "string", email = "string" }

[entity.customer.unique.email]
key = { pk = "emails", sk = "{email}" }

[entity.order]
table = "shop"
key = { pk = "customer#{customer}", sk = "order#{number:04}" }
attributes = { customer = "string", number = "integer" }

[access.customer_with_orders]
query = "shop"
where = { customer = "{customer}" }
returns = ["customer", "order"]

[access.orders_of_customer]
query = "shop"
where = { customer = "{customer}" }
returns = "order"
"#;

fn put(server: &Running, item: &Value) {
    let body = json!({"TableName": "shop", "Item": item}).to_string();
    let answer = server.call("PutItem", &body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// A shop with two customers, one of which has orders.
fn shop() -> (TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shop.toml"), MODEL).unwrap();
    let serve = ["serve", "--data", "data", "--port", "0", "--model", "shop.toml"];
    let server = start(directory.path(), &serve);
    for customer in ["wf", "wf-2"] {
        put(
            &server,
            &json!({"kind": {"S": "customer"}, "customer": {"S": customer}, "email": {"S": customer}}),
        );
    }
    for number in 1..=30 {
        put(
            &server,
            &json!({"kind": {"S": "order"}, "customer": {"S": "wf"}, "number": {"N": number.to_string()}}),
        );
    }
    (directory, server)
}

fn endpoint(server: &Running) -> String {
    format!("http://{}", server.address)
}

fn rows(server: &Running) -> Value {
    let answer = server.call("Scan", r#"{"TableName": "shop", "Select": "COUNT"}"#);
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    body["Count"].clone()
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn ended(directory: &Path, code: i32, args: &[&str]) -> (String, String) {
    let output = run(directory, args);
    let (said, complained) = text(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}{complained}");
    (said, complained)
}

const OF_WF: [&str; 4] = ["delete-collection", "shop", "--partition", "customer#wf"];

/// Deletes the rows of the customer `wf` on a server.
#[track_caller]
fn of_wf(home: &TempDir, server: &Running, code: i32, more: &[&str]) -> (String, String) {
    let endpoint = endpoint(server);
    let args: Vec<&str> = OF_WF
        .iter()
        .chain(more)
        .chain(&["--endpoint", &endpoint])
        .copied()
        .collect();
    ended(home.path(), code, &args)
}

#[test]
fn a_partition_is_counted_asked_about_and_deleted() {
    let (home, server) = shop();
    assert_eq!(of_wf(&home, &server, 0, &["--dry-run"]).0, "31 rows found\n");
    let (_, unasked) = of_wf(&home, &server, 2, &[]);
    assert!(unasked.contains("say --yes"), "{unasked}");
    assert_eq!(rows(&server), 34, "nothing was deleted so far");
    assert_eq!(
        of_wf(&home, &server, 0, &["--yes", "--rate", "1000"]).0,
        "31 rows deleted\n"
    );
    assert_eq!(rows(&server), 2, "the other customer and its address");
    assert_eq!(of_wf(&home, &server, 0, &["--yes"]).0, "0 rows deleted\n");
}

#[test]
fn after_the_server_was_killed_it_goes_on_where_it_was() {
    let (home, server) = shop();
    let steps = ["--yes", "--json", "--rows-per-step", "10", "--steps", "2"];
    let (said, _) = of_wf(&home, &server, 0, &steps);
    let first: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&first["deleted"], &first["done"]),
        (&json!(20), &json!(false)),
        "{said}"
    );
    // Dropping it kills the process.
    drop(server);
    let server = start(home.path(), &["serve", "--data", "data", "--port", "0"]);
    let next = first["next"].as_str().unwrap();
    assert_eq!(
        of_wf(&home, &server, 0, &["--yes", "--after", next]).0,
        "11 rows deleted\n"
    );
    assert_eq!(rows(&server), 2);
    server.stop();
    let verified = ended(home.path(), 0, &["verify", "data"]);
    assert!(verified.0.contains("agree"), "{}", verified.0);
}

#[test]
fn a_prefix_an_access_pattern_and_a_directory() {
    let (home, server) = shop();
    server.stop();
    let in_data = |code: i32, args: &[&str]| {
        let args: Vec<&str> = args.iter().chain(&["--data", "data"]).copied().collect();
        ended(home.path(), code, &args)
    };
    let prefixed: Vec<&str> = OF_WF
        .iter()
        .chain(&["--prefix", "order#000", "--yes"])
        .copied()
        .collect();
    assert_eq!(in_data(0, &prefixed).0, "9 rows deleted\n");
    let pattern = |access: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        let named = [
            "delete-collection",
            "--model",
            "shop.toml",
            "--access",
            access,
            "--yes",
        ];
        named.iter().chain(more).copied().collect()
    };
    let orders = pattern("orders_of_customer", &["--where", "customer=wf"]);
    assert_eq!(in_data(0, &orders).0, "21 rows deleted\n");
    let all = pattern("customer_with_orders", &["--where", "customer=wf"]);
    assert_eq!(in_data(0, &all).0, "1 row deleted\n");
    let (_, missing) = in_data(2, &pattern("orders_of_customer", &[]));
    assert!(missing.contains("customer is missing"), "{missing}");
    let (_, unknown) = in_data(2, &["delete-collection", "shap", "--partition", "x", "--yes"]);
    assert!(
        unknown.contains("there is no table shap; there is shop"),
        "{unknown}"
    );
    let own = [
        "delete-collection",
        "_trestle.queues",
        "--partition",
        "x",
        "--yes",
    ];
    let (_, refused) = in_data(2, &own);
    assert!(refused.contains("belongs to Trestle"), "{refused}");
}

#[test]
fn rows_that_are_kept_for_others_stay_and_fail_the_command() {
    let (home, server) = shop();
    let endpoint = endpoint(&server);
    let args = [
        "delete-collection",
        "shop",
        "--partition",
        "emails",
        "--yes",
        "--endpoint",
        &endpoint,
    ];
    let counted: Vec<&str> = args.iter().chain(&["--dry-run"]).copied().collect();
    let (said, _) = ended(home.path(), 0, &counted);
    assert_eq!(said, "2 rows found\n", "it does not promise that they go");
    let (said, complained) = ended(home.path(), 1, &args);
    assert!(said.starts_with("0 rows deleted\n  2 rows stay: "), "{said}");
    assert!(said.contains("\n    {\"pk\":{\"S\":\"emails\"}"), "{said}");
    assert!(complained.contains("2 rows stay"), "{complained}");
    let one: Vec<&str> = args.iter().chain(&["--prefix", "wf-"]).copied().collect();
    let (said, complained) = ended(home.path(), 1, &one);
    assert!(said.starts_with("0 rows deleted\n  1 row stays: "), "{said}");
    assert!(complained.contains("1 row stays"), "{complained}");
}

#[test]
fn a_bookmark_that_does_not_fit_is_refused_and_not_recommended() {
    let (home, server) = shop();
    let (_, refused) = of_wf(&home, &server, 2, &["--yes", "--after", "garbage"]);
    assert!(refused.contains("garbage"), "{refused}");
    assert!(refused.contains("leave it out"), "{refused}");
    assert!(!refused.contains("to continue"), "{refused}");
    let steps = ["--yes", "--json", "--rows-per-step", "10", "--steps", "1"];
    let (said, _) = of_wf(&home, &server, 0, &steps);
    let first: Value = serde_json::from_str(&said).unwrap();
    let next = first["next"].as_str().unwrap();
    let endpoint = endpoint(&server);
    let of_other = [
        "delete-collection",
        "shop",
        "--partition",
        "customer#wf-2",
        "--yes",
        "--after",
        next,
        "--endpoint",
        &endpoint,
    ];
    let (_, refused) = ended(home.path(), 1, &of_other);
    assert!(refused.contains("leave --after out"), "{refused}");
    assert!(!refused.contains("to continue"), "{refused}");
}

#[test]
fn a_command_line_without_rows_shows_both_ways_to_name_them() {
    let (_, said) = ended(Path::new("."), 2, &["delete-collection"]);
    for usage in ["<TABLE> --partition <VALUE>", "--model <FILE> --access <NAME>"] {
        assert!(said.contains(usage), "{said}");
    }
    assert!(!said.contains("--ca-file"), "{said}");
}

#[test]
fn rows_that_stay_for_one_reason_are_told_of_together() {
    let (home, server) = shop();
    for number in 1..=40 {
        let email = format!("{number}@shop");
        let customer = json!({"kind": {"S": "customer"}, "customer": {"S": &email}, "email": {"S": &email}});
        put(&server, &customer);
    }
    let endpoint = endpoint(&server);
    let args = ["delete-collection", "shop", "--partition", "emails", "--yes"];
    let there = ["--endpoint", &endpoint];
    let args: Vec<&str> = args.iter().chain(&there).copied().collect();
    let (said, _) = ended(home.path(), 1, &args);
    assert!(said.starts_with("0 rows deleted\n  42 rows stay: "), "{said}");
    assert!(said.ends_with("    and 39 more; --json shows all\n"), "{said}");
    assert_eq!(said.lines().count(), 6, "{said}");
    let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
    let (said, _) = ended(home.path(), 1, &args);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["left"].as_array().unwrap().len(), 42);
}

#[test]
fn the_call_makes_one_step() {
    let (_home, server) = shop();
    let call = |status: u16, body: Value| -> Value {
        let (found, answer) = admin(&server, "delete-collection", body);
        assert_eq!(found, status, "{answer}");
        answer
    };
    let named = json!({"table": "shop", "partition": "customer#wf", "prefix": "order#", "rows": 20});
    let first = call(200, named.clone());
    assert_eq!(
        (&first["deleted"], &first["done"]),
        (&json!(20), &json!(false)),
        "{first}"
    );
    let mut second = named;
    second["after"] = first["next"].clone();
    let second = call(200, second);
    assert_eq!(
        (&second["deleted"], &second["done"]),
        (&json!(10), &json!(true)),
        "{second}"
    );
    assert_eq!(second["next"], Value::Null);

    let modelled = json!({"model": "shop", "access": "customer_with_orders", "where": {"customer": "wf"}});
    let mut counted = modelled.clone();
    counted["dry_run"] = json!(true);
    assert_eq!(call(200, counted)["deleted"], 1);
    assert_eq!(call(200, modelled)["deleted"], 1);
    let left = call(200, json!({"table": "shop", "partition": "emails"}));
    assert_eq!(
        (&left["deleted"], &left["done"]),
        (&json!(0), &json!(true)),
        "{left}"
    );
    assert_eq!(left["left"][0]["key"]["sk"], json!({"S": "wf-2"}), "{left}");

    for (status, body, says) in [
        (400, json!({"table": "shop"}), "`table` and `partition`"),
        (
            400,
            json!({"table": "shop", "partition": "x", "model": "shop"}),
            "`table` and `partition`",
        ),
        (
            400,
            json!({"table": "shop", "partition": 7}),
            "Key pk is of type S",
        ),
        (
            400,
            json!({"table": "shop", "partition": "x", "rows": 0}),
            "1 to 10000 `rows`",
        ),
        (
            400,
            json!({"table": "_trestle.queues", "partition": "x"}),
            "belongs to Trestle",
        ),
        (
            400,
            json!({"model": "shop", "access": "nothing"}),
            "no access pattern nothing",
        ),
        (
            400,
            json!({"model": "shop", "access": "orders_of_customer", "where": {"customer": 7}}),
            "customer must be of type string, but is the number 7",
        ),
        (404, json!({"table": "nowhere", "partition": "x"}), ""),
        (404, json!({"model": "nothing", "access": "x"}), "nothing"),
    ] {
        let refused = call(status, body);
        assert!(refused["message"].as_str().unwrap().contains(says), "{refused}");
    }
}

#[test]
fn a_key_that_may_only_read_counts_and_deletes_nothing() {
    let (home, server) = shop();
    server.stop();
    let keys = "[auth]\naccess_key = \"ada\"\nsecret_key = \"hush\"\n\
                [[auth.keys]]\naccess_key = \"reader\"\nsecret_key = \"shy\"\nrole = \"read-only\"\n";
    std::fs::write(home.path().join("trestle.toml"), keys).unwrap();
    let server = start(home.path(), &["serve", "--data", "data", "--port", "0"]);
    let endpoint = endpoint(&server);
    let asked = |key: &str, secret: &str, more: &str| {
        let mut command = trestle(home.path());
        command.args(OF_WF).args(["--endpoint", &endpoint, more]);
        let output = command
            .args(["--access-key", key, "--secret-key", secret])
            .output();
        let output = output.unwrap();
        (output.status.code(), text(&output))
    };
    let (code, (_, refused)) = asked("reader", "shy", "--yes");
    assert_eq!(code, Some(1), "{refused}");
    assert!(
        refused.contains("AccessDenied") || refused.contains("read-only"),
        "{refused}"
    );
    let (_, (counted, _)) = asked("reader", "shy", "--dry-run");
    assert_eq!(counted, "31 rows found\n");
    let (_, (deleted, _)) = asked("ada", "hush", "--yes");
    assert_eq!(deleted, "31 rows deleted\n");
}
