//! Routes on a running server: from a file, from a model, applied while it runs; dead letters, metrics and restarts.

use crate::running::{Running, rest, run, start};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const TABLE: &str = r#"{"TableName":"things","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST",
    "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;

/// Appends its input to a file, unless a file exists that makes it refuse or ask for a later attempt.
pub(crate) const ROUTES: &str = r#"
[route.saved]
table = "things"
pattern = { keys = { pk = [{ anything-but = "quiet" }] } }
target = { command = ["sh", "-c", "test ! -e away || exit 75; test ! -e closed && cat >> saved"] }
maximum_retry_attempts = 0
"#;

pub(crate) fn put(server: &Running, pk: &str) {
    let answer = server.call(
        "PutItem",
        &format!(r#"{{"TableName":"things","Item":{{"pk":{{"S":"{pk}"}}}}}}"#),
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// An administration call: its status and answer.
pub(crate) fn admin(server: &Running, name: &str, body: Value) -> (u16, Value) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST /_trestle/{name} HTTP/1.1\r\nHost: localhost\r\nX-Trestle-Admin: 1\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "still waiting for: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn saved(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("saved")).unwrap_or_default()
}

pub(crate) fn status(server: &Running, of: &str) -> u64 {
    let (_, status) = admin(server, "list-routes", json!({}));
    status["routes"][0][of].as_u64().unwrap()
}

#[test]
fn a_route_file_is_applied_remembered_and_its_dead_letters_are_replayed() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    std::fs::write(directory.join("routes.toml"), ROUTES).unwrap();
    let serve = ["serve", "--data", "data", "--port", "0"];
    let server = start(directory, &[&serve[..], &["--routes", "routes.toml"]].concat());
    server.call("CreateTable", TABLE);
    put(&server, "quiet");
    put(&server, "one");
    until("the first change", || saved(directory).contains("\"one\""));
    assert!(!saved(directory).contains("quiet"), "{}", saved(directory));

    std::fs::write(directory.join("closed"), "").unwrap();
    put(&server, "two");
    until("the dead letter", || status(&server, "dead") == 1);
    let metrics = server.get("/metrics");
    assert!(
        metrics.contains("trestle_route_dead_letters{route=\"saved\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("trestle_route_delivered_total{route=\"saved\"} 1"),
        "{metrics}"
    );
    let (code, _) = server.stop();
    assert_eq!(code, Some(0));

    // It continues with its stored routes; commands need the file again, or a setting.
    std::fs::remove_file(directory.join("closed")).unwrap();
    let server = start(directory, &[&serve[..], &["--allow-command-routes"]].concat());
    let (_, listed) = admin(&server, "list-dead-letters", json!({"route": "saved"}));
    let letter = &listed["dead_letters"][0];
    assert_eq!(
        (&letter["attempts"], &letter["change"]["keys"]["pk"]),
        (&1.into(), &"two".into())
    );
    let shown = admin(&server, "read-dead-letter", json!({"id": letter["id"]}));
    assert_eq!(shown, (200, letter.clone()));
    let (code, _) = admin(&server, "read-dead-letter", json!({"id": "saved#1"}));
    assert_eq!(code, 404);
    let replayed = admin(&server, "replay-dead-letters", json!({"route": "saved"}));
    assert_eq!(
        replayed,
        (
            200,
            json!({"delivered": 1, "failed": 0, "unanswered": 0, "left": 0})
        )
    );
    assert!(saved(directory).contains("\"two\""));
    assert_eq!(status(&server, "dead"), 0);
    put(&server, "three");
    until("the next change", || saved(directory).contains("\"three\""));
    assert_eq!(
        admin(&server, "read-routes", json!({})).1,
        json!({"text": ROUTES})
    );
}

/// Asks for a later attempt while there is a file named `closed`.
const PATIENT: &str = r#"
[route.saved]
table = "things"
target = { command = ["sh", "-c", "test ! -e closed || exit 75; cat >> saved"] }
maximum_retry_attempts = 0
backoff = { first = "10ms", longest = "20ms" }
"#;

#[test]
fn a_route_on_hold_shows_in_status_and_metrics_and_once_in_the_log() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    std::fs::write(directory.join("routes.toml"), PATIENT).unwrap();
    std::fs::write(directory.join("closed"), "").unwrap();
    let server = start(
        directory,
        &["serve", "--in-memory", "--port", "0", "--routes", "routes.toml"],
    );
    server.call("CreateTable", TABLE);
    for n in 0..20 {
        put(&server, &format!("item-{n}"));
    }
    until("several probes", || status(&server, "retried") > 5);
    let (_, listed) = admin(&server, "list-routes", json!({}));
    let route = &listed["routes"][0];
    assert_eq!((&route["state"], &route["dead"]), (&json!("on-hold"), &json!(0)));
    assert_eq!(route["on_hold"]["reason"], "asked to come back later");
    assert!(route["on_hold"]["since_ms"].as_u64() <= route["on_hold"]["next_probe_ms"].as_u64());
    let endpoint = format!("http://{}", server.address);
    let shown = run(directory, &["routes", "status", "--endpoint", &endpoint]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\nsaved is on hold since "), "{shown}");
    let metric = |value: u8| format!("trestle_route_on_hold{{route=\"saved\"}} {value}");
    assert!(server.get("/metrics").contains(&metric(1)));

    std::fs::remove_file(directory.join("closed")).unwrap();
    until("everything", || status(&server, "delivered") == 20);
    assert!(server.get("/metrics").contains(&metric(0)));
    let (_, log) = server.stop();
    for line in [
        "the route is on hold until its target answers",
        "the target answers again",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

#[test]
fn routes_are_applied_and_removed_while_the_server_runs_and_mistakes_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    let server = start(
        home.path(),
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    server.call("CreateTable", TABLE);
    let (code, _) = admin(&server, "apply-routes", json!({"text": ROUTES}));
    assert_eq!(code, 200);
    put(&server, "one");
    until("the first change", || saved(home.path()).contains("\"one\""));
    for (routes, says) in [
        (
            "[route.saved]\ntabel = \"things\"\n",
            "2:1: error: route `saved`: unknown field `tabel`",
        ),
        (
            "[route.x]\ntable = \"things\"\ntarget = { webhook = \"nowhere\" }\n",
            "3:10: error: route `x`: target: webhook",
        ),
        (
            "[route.x]\ntable = \"things\"\ntarget = { handler = \"h\" }\n",
            "a server has none",
        ),
    ] {
        let (code, why) = admin(&server, "apply-routes", json!({"text": routes}));
        assert_eq!((code, &why["code"]), (400, &"unsound".into()), "{why}");
        let problems = why["problems"].as_array().unwrap();
        let mut problems = problems.iter().map(|problem| problem.as_str().unwrap());
        assert!(problems.any(|problem| problem.contains(says)), "{why}");
    }
    put(&server, "two");
    until("the second change", || saved(home.path()).contains("\"two\""));
    let (code, _) = admin(&server, "apply-routes", json!({"text": "", "dry_run": true}));
    assert_eq!(code, 200);
    until("both to be counted", || status(&server, "delivered") == 2);
    let left = admin(&server, "apply-routes", json!({"text": ""}));
    assert_eq!(left, (200, json!({"routes": []})));
    assert_eq!(
        admin(&server, "drop-dead-letters", json!({})).0,
        400,
        "everything only by that word"
    );
    assert_eq!(
        admin(&server, "drop-dead-letters", json!({"all": true})),
        (200, json!({"dropped": 0}))
    );
}

#[test]
fn a_models_routes_come_and_go_with_it_and_know_its_entities() {
    let home = tempfile::tempdir().unwrap();
    let server = start(
        home.path(),
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    let model = r#"
model = "shop"
[table.things]
key = ["pk"]
stream = "new-and-old-images"
[entity.user]
table = "things"
key = { pk = "USER#{id}" }
attributes = { id = "string" }
[entity.order]
table = "things"
key = { pk = "ORDER#{id}" }
attributes = { id = "string" }
[route.orders]
entity = "order"
input = '{"order": <new.id>, "is": <entity>}'
target = { command = ["sh", "-c", "cat >> saved"] }
"#;
    let wrong = model.replace("entity = \"order\"", "entity = \"ordr\"");
    let (code, why) = admin(&server, "apply-model", json!({"text": wrong}));
    assert!(
        code == 400 && why.to_string().contains("there is no entity `ordr`"),
        "{code} {why}"
    );
    assert_eq!(admin(&server, "apply-model", json!({"text": model})).0, 200);
    for item in [
        r#"{"pk":{"S":"USER#1"},"id":{"S":"1"}}"#,
        r#"{"pk":{"S":"ORDER#7"},"id":{"S":"7"}}"#,
    ] {
        let answer = server.call("PutItem", &format!(r#"{{"TableName":"things","Item":{item}}}"#));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    until("the order", || {
        saved(home.path()).contains(r#"{"is":"order","order":"7"}"#)
    });
    assert!(!saved(home.path()).contains("user"));
    assert_eq!(admin(&server, "remove-model", json!({"name": "shop"})).0, 200);
    assert_eq!(admin(&server, "list-routes", json!({})).1, json!({"routes": []}));
}

const HOOK: &str = "[route.hook]\ntable = \"things\"\ntarget = { webhook = \"http://127.0.0.1:9/\" }\n";

#[test]
fn a_caller_cannot_make_the_server_run_a_command_read_a_secret_or_call_its_own_network() {
    let home = tempfile::tempdir().unwrap();
    let serve = ["serve", "--data", "data", "--port", "0"];
    let server = start(home.path(), &serve);
    server.call("CreateTable", TABLE);
    let secret = HOOK.replace(
        "/\" }",
        "/\", headers = { X-Key = { env = \"TRESTLE__AUTH__SECRET_KEY\" } } }",
    );
    for (routes, way_out) in [
        (ROUTES, "--allow-command-routes"),
        (&*secret, "--allow-command-routes"),
        (HOOK, "--allow-private-webhooks"),
    ] {
        let (code, why) = admin(&server, "apply-routes", json!({"text": routes}));
        assert_eq!((code, &why["code"]), (400, &"unsound".into()), "{why}");
        assert!(why["message"].as_str().unwrap().contains(way_out), "{why}");
    }
    // A model may not contain such a route either.
    let model = format!(
        "model = \"things\"\n[table.things]\nkey = [\"pk\"]\nopen = true\nstream = \"new-and-old-images\"\n{ROUTES}"
    );
    let (code, why) = admin(&server, "apply-model", json!({"text": model}));
    assert!(
        code == 400 && why.to_string().contains("--allow-command-routes"),
        "{why}"
    );
    put(&server, "one");
    server.stop();
    assert_eq!(saved(home.path()), "");
}

#[test]
fn what_a_caller_was_allowed_is_not_trusted_by_a_server_that_does_not_allow_it() {
    let home = tempfile::tempdir().unwrap();
    let serve = ["serve", "--data", "data", "--port", "0"];
    let server = start(home.path(), &[&serve[..], &["--allow-command-routes"]].concat());
    server.call("CreateTable", TABLE);
    let made = rest(server.begin("AmazonSQS.CreateQueue", r#"{"QueueName":"q"}"#));
    assert!(made.contains("200 OK"), "{made}");
    let routes = format!("{ROUTES}\n[route.counted]\ntable = \"things\"\ntarget = {{ queue = \"q\" }}\n");
    assert_eq!(admin(&server, "apply-routes", json!({"text": routes})).0, 200);
    put(&server, "one");
    until("the first change", || saved(home.path()).contains("\"one\""));
    server.stop();
    let server = start(home.path(), &serve);
    put(&server, "two");
    until("the other route goes on", || {
        let (_, listed) = admin(&server, "list-routes", json!({}));
        assert_eq!(listed["routes"][1]["state"], "held-back", "{listed}");
        let why = listed["routes"][1]["last_error"]["message"].as_str().unwrap();
        assert!(why.contains("--allow-command-routes"), "{why}");
        listed["routes"][0]["delivered"].as_u64() >= Some(1)
    });
    let (_, log) = server.stop();
    assert!(log.contains("--allow-command-routes"), "{log}");
    assert!(!saved(home.path()).contains("\"two\""));
    // After the operator names them again, they are trusted, and nothing was lost.
    std::fs::write(home.path().join("routes.toml"), routes).unwrap();
    let _server = start(home.path(), &[&serve[..], &["--routes", "routes.toml"]].concat());
    until("the second change", || saved(home.path()).contains("\"two\""));
}
