//! Tests of the command `trestle reindex`.

use crate::running::{Running, run, start};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

pub(crate) const MODEL: &str = r#"
model = "catalogue"

[table.works]
key = ["pk"]
stream = "new-and-old-images"

[entity.work]
table = "works"
key = { pk = "work#{id}" }
attributes = { id = "string", reindexVersion = { type = "integer", optional = true } }

[entity.image]
table = "works"
key = { pk = "image#{id}" }
attributes = { id = "string", reindexVersion = { type = "integer", optional = true } }

[access.images]
query = "works"
returns = "image"
scan = true
"#;

/// The same, with the version as an attribute that only a reindex writes.
pub(crate) fn with_declared_version() -> String {
    MODEL.replace(
        "table = \"works\"\n",
        "table = \"works\"\nreindex_version = \"reindexVersion\"\n",
    )
}

const ROUTES: &str = r#"
[route.works]
entity = "work"
include_maintenance = true
target = { command = ["cat"] }
"#;

pub(crate) fn put(server: &Running, id: &str) {
    let kind = if id.starts_with('b') { "work" } else { "image" };
    let item = json!({"pk": {"S": format!("{kind}#{id}")}, "id": {"S": id}});
    let body = json!({"TableName": "works", "Item": item}).to_string();
    let answer = server.call("PutItem", &body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

pub(crate) fn catalogue(model: &str, more: &[&str]) -> (TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("model.toml"), model).unwrap();
    std::fs::write(directory.path().join("routes.toml"), ROUTES).unwrap();
    let serve = ["serve", "--data", "data", "--port", "0", "--model", "model.toml"];
    let serve = [&serve[..], more].concat();
    let server = start(directory.path(), &serve);
    for number in 0..60 {
        put(&server, &format!("b{number}"));
        put(&server, &format!("i{number}"));
    }
    (directory, server)
}

pub(crate) fn reindex(directory: &Path, arguments: &[&str]) -> Output {
    let all: Vec<&str> = ["reindex"].into_iter().chain(arguments.iter().copied()).collect();
    run(directory, &all)
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn status(output: &Output) -> Value {
    let text = out(output);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text} {}", err(output)))
}

#[test]
fn at_an_endpoint_rows_are_touched_named_and_sent_again() {
    let (directory, server) = catalogue(MODEL, &[]);
    let (directory, endpoint) = (directory.path(), format!("http://127.0.0.1:{}", server.port()));
    let at = ["--endpoint", &endpoint];
    let done = reindex(
        directory,
        &[
            &["start", "works", "--name", "one", "--version", "7", "--json"],
            &at[..],
        ]
        .concat(),
    );
    assert!(done.status.success(), "{}", err(&done));
    let told = status(&done);
    assert_eq!(
        (&told["state"], &told["counts"]["done"]),
        (&json!("done"), &json!(120))
    );

    let lower = reindex(
        directory,
        &[&["start", "works", "--version", "6"], &at[..]].concat(),
    );
    assert_eq!(lower.status.code(), Some(2));
    assert!(err(&lower).contains("touched with version 7"), "{}", err(&lower));

    // A row that was replaced has no version.
    put(&server, "b3");
    let gaps = reindex(directory, &[&["gaps", "one"], &at[..]].concat());
    assert_eq!(out(&gaps).trim(), "work#b3", "{}", err(&gaps));
    let resent = reindex(
        directory,
        &[&["resend", "one", "--gaps", "--json"], &at[..]].concat(),
    );
    assert!(resent.status.success(), "{}", err(&resent));
    assert_eq!(
        out(&reindex(directory, &[&["gaps", "one"], &at[..]].concat())),
        ""
    );
    std::fs::write(directory.join("lost"), "work#b3\n").unwrap();
    let lost = ["resend", "one", "--ids", "lost"];
    let refused = reindex(directory, &[&lost[..], &at[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("`trestle reindex start works --version N --ids FILE`"),
        "{}",
        err(&refused)
    );

    // If there are more ids than one call takes, an invalid last one is refused before the first is sent.
    let nowhere: String = (0..10_000).map(|number| format!("work#n{number}\n")).collect();
    std::fs::write(directory.join("lost"), nowhere + "work#b3\n").unwrap();
    let refused = reindex(directory, &[&lost[..], &at[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    let told = status(&reindex(
        directory,
        &[&["status", "one", "--json"], &at[..]].concat(),
    ));
    assert_eq!((&told["state"], &told["waiting"]), (&json!("done"), &json!(0)));

    std::fs::write(directory.join("ids"), "work#b1\nwork#nowhere\n").unwrap();
    let some = [
        "start",
        "works",
        "--name",
        "two",
        "--version",
        "8",
        "--ids",
        "ids",
    ];
    let some = reindex(directory, &[&some[..], &at[..]].concat());
    assert_eq!(some.status.code(), Some(1));
    assert!(
        err(&some).contains("trestle reindex dead-letters two"),
        "{}",
        err(&some)
    );
    let letters = reindex(directory, &[&["dead-letters", "two"], &at[..]].concat());
    assert!(out(&letters).starts_with("work#nowhere: "), "{}", out(&letters));

    let entity = [
        "start",
        "works",
        "--name",
        "three",
        "--version",
        "9",
        "--entity",
        "image",
        "--model",
        "model.toml",
        "--json",
    ];
    let entity = reindex(directory, &[&entity[..], &at[..]].concat());
    assert_eq!(status(&entity)["counts"]["done"], json!(60), "{}", err(&entity));
    let first =
        "start works --name first --version 10 --force --model model.toml --access images --first 7 --json";
    let first: Vec<&str> = first.split(' ').chain(at).collect();
    let first = reindex(directory, &first);
    let counts = status(&first)["counts"].clone();
    assert_eq!(
        (&counts["read"], &counts["done"]),
        (&json!(7), &json!(7)),
        "{}",
        err(&first)
    );
    let both = ["start", "works", "--first", "7", "--entity", "image"];
    let both = reindex(directory, &[&both[..], &at[..]].concat());
    assert!(err(&both).contains("cannot be used with"), "{}", err(&both));
    let list = out(&reindex(directory, &[&["list"], &at[..]].concat()));
    assert_eq!(list.lines().count(), 4, "{list}");
}

#[test]
fn in_a_directory_a_touch_needs_a_route_that_takes_it() {
    let (directory, server) = catalogue(&with_declared_version(), &[]);
    let directory = directory.path();
    server.stop();
    let unheard = reindex(directory, &["start", "works", "--data", "data"]);
    assert_eq!(unheard.status.code(), Some(2));
    assert!(
        err(&unheard).contains("no route of table works takes touches"),
        "{}",
        err(&unheard)
    );
    let forced = [
        "start",
        "works",
        "--data",
        "data",
        "--force",
        "--version",
        "7",
        "--name",
        "one",
        "--json",
    ];
    let forced = reindex(directory, &forced);
    assert!(
        err(&forced).contains("warning: no route of table works"),
        "{}",
        err(&forced)
    );
    assert_eq!(status(&forced)["counts"]["done"], json!(120));

    let again = [
        "start",
        "works",
        "--data",
        "data",
        "--force",
        "--version",
        "7",
        "--name",
        "again",
        "--json",
    ];
    assert_eq!(
        status(&reindex(directory, &again))["counts"]["unchanged"],
        json!(120)
    );

    let nowhere = reindex(
        directory,
        &["start", "works", "--data", "data", "--send", "nowhere"],
    );
    assert!(
        err(&nowhere).contains("rows cannot be sent to route nowhere"),
        "{}",
        err(&nowhere)
    );

    let paused = [
        "start",
        "works",
        "--data",
        "data",
        "--force",
        "--version",
        "8",
        "--name",
        "later",
        "--no-work",
    ];
    assert!(reindex(directory, &paused).status.success());
    let told = status(&reindex(
        directory,
        &["pause", "later", "--data", "data", "--json"],
    ));
    assert_eq!(told["state"], json!("paused"));
    let told = status(&reindex(
        directory,
        &["resume", "later", "--data", "data", "--json"],
    ));
    assert_eq!(
        (&told["state"], &told["counts"]["done"]),
        (&json!("done"), &json!(120))
    );
}

#[test]
fn in_a_directory_rows_are_sent_to_the_target_of_a_stored_route() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let directory = directory.path();
    server.stop();
    let sent = [
        "start", "works", "--data", "data", "--send", "works", "--name", "one", "--json",
    ];
    let sent = reindex(directory, &sent);
    let told = status(&sent);
    assert_eq!(
        (&told["counts"]["done"], &told["counts"]["unchanged"]),
        (&json!(60), &json!(60))
    );
    let gaps = reindex(directory, &["gaps", "one", "--data", "data"]);
    assert_eq!(out(&gaps), "");
    let touched = reindex(
        directory,
        &["start", "works", "--data", "data", "--version", "7", "--json"],
    );
    assert_eq!(status(&touched)["name"], json!("works-7"));

    // Rows that are inserted later get the version automatically.
    let server = start(directory, &["serve", "--data", "data", "--port", "0"]);
    put(&server, "b99");
    let key = json!({"TableName": "works", "Key": {"pk": {"S": "work#b99"}}});
    let row = server.call("GetItem", &key.to_string());
    assert!(row.contains(r#""reindexVersion":{"N":"7"}"#), "{row}");
}

/// Rows are sent to a queue of the same server, and to a command that does not take all of them.
const ROUTES_OF_AN_ENDPOINT: &str = r#"
[route.queue]
entity = "work"
target = { sqs = "http://127.0.0.1:PORT/000000000000/works" }

[route.picky]
table = "works"
batch_size = 1
target = { command = ["sh", "-c", 'grep -v "work#b7\"" >> taken || { echo "no room for it" >&2; exit 1; }'] }

[route.off]
table = "works"
enabled = false
target = { command = ["cat"] }
"#;

/// An endpoint with a queue, its directory, and the flags for it.
fn endpoint_with_routes() -> (TempDir, Running, [String; 4]) {
    let (directory, server) = catalogue(MODEL, &[]);
    let routes = ROUTES_OF_AN_ENDPOINT.replace("PORT", server.port());
    std::fs::write(directory.path().join("to-send.toml"), routes).unwrap();
    let endpoint = format!("http://127.0.0.1:{}", server.port());
    let flags = ["--routes", "to-send.toml", "--endpoint", &endpoint].map(str::to_owned);
    (directory, server, flags)
}

fn with<'a>(arguments: &[&'a str], flags: &'a [String; 4]) -> Vec<&'a str> {
    arguments
        .iter()
        .copied()
        .chain(flags.iter().map(String::as_str))
        .collect()
}

/// Receives everything from a queue.
fn received(server: &Running) -> Vec<Value> {
    let url = "http://localhost/000000000000/works";
    let mut messages = Vec::new();
    loop {
        let body = json!({"QueueUrl": url, "MaxNumberOfMessages": 10}).to_string();
        let answer = crate::running::rest(server.begin("AmazonSQS.ReceiveMessage", &body));
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        match body["Messages"].as_array() {
            Some(some) if !some.is_empty() => messages
                .extend(some.iter().map(|message| {
                    serde_json::from_str::<Value>(message["Body"].as_str().unwrap()).unwrap()
                })),
            _ => return messages,
        }
    }
}

#[test]
fn rows_of_an_endpoint_are_sent_to_the_target_of_a_route_in_a_file() {
    let (directory, server, flags) = endpoint_with_routes();
    let directory = directory.path();
    let queue = json!({"QueueName": "works", "Attributes": {"VisibilityTimeout": "3600"}}).to_string();
    crate::running::rest(server.begin("AmazonSQS.CreateQueue", &queue));
    let sent = with(
        &[
            "start",
            "works",
            "--send",
            "queue",
            "--name",
            "one",
            "--page-rows",
            "9",
            "--json",
        ],
        &flags,
    );
    let sent = reindex(directory, &sent);
    assert!(sent.status.success(), "{}", err(&sent));
    let counts = status(&sent)["counts"].clone();
    // The server's models distinguish works from images.
    assert_eq!((&counts["done"], &counts["unchanged"]), (&json!(60), &json!(60)));
    let messages = received(&server);
    let mut ids: Vec<&str> = messages
        .iter()
        .map(|message| {
            assert_eq!(message["event"], "backfill", "{message}");
            assert!(message["new"]["reindexVersion"].is_null(), "{message}");
            message["new"]["id"].as_str().unwrap()
        })
        .collect();
    ids.sort_unstable();
    let mut expected: Vec<String> = (0..60).map(|number| format!("b{number}")).collect();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    let gaps = reindex(directory, &["gaps", "one", "--endpoint", &flags[3]]);
    assert_eq!(out(&gaps), "", "{}", err(&gaps));
}

#[test]
fn a_row_that_the_target_of_a_file_refuses_is_a_dead_letter_and_can_be_replayed() {
    let (directory, _server, flags) = endpoint_with_routes();
    let directory = directory.path();
    let stored = with(
        &[
            "start",
            "works",
            "--send",
            "picky",
            "--name",
            "one",
            "--attempts",
            "2",
            "--no-work",
        ],
        &flags,
    );
    assert!(reindex(directory, &stored).status.success());
    // `work` needs the file as well, because the route is in no database.
    let without = reindex(directory, &["work", "one", "--endpoint", &flags[3]]);
    assert_eq!(without.status.code(), Some(2));
    assert!(err(&without).contains("--routes"), "{}", err(&without));

    let worked = reindex(directory, &with(&["work", "one", "--json"], &flags));
    assert_eq!(worked.status.code(), Some(1));
    assert_eq!(status(&worked)["counts"]["done"], json!(119), "{}", err(&worked));
    let letters = reindex(directory, &["dead-letters", "one", "--endpoint", &flags[3]]);
    assert!(out(&letters).starts_with("work#b7: "), "{}", out(&letters));
    assert!(out(&letters).contains("no room for it"), "{}", out(&letters));

    let file = directory.join("to-send.toml");
    let kinder = std::fs::read_to_string(&file)
        .unwrap()
        .replace("work#b7", "nothing");
    std::fs::write(&file, kinder).unwrap();
    let replayed = reindex(directory, &with(&["replay", "one", "--json"], &flags));
    assert!(replayed.status.success(), "{}", err(&replayed));
    assert_eq!(status(&replayed)["dead_letters"], json!(0));
    let taken = std::fs::read_to_string(directory.join("taken")).unwrap();
    assert_eq!(taken.lines().count(), 120);
}

#[test]
fn a_route_that_is_not_in_the_file_or_is_disabled_is_refused_and_so_is_a_file_beside_data() {
    let (directory, _server, flags) = endpoint_with_routes();
    let directory = directory.path();
    for (route, why) in [
        ("nowhere", "has no such route; it has queue, picky, off"),
        ("off", "it is disabled"),
    ] {
        let refused = reindex(directory, &with(&["start", "works", "--send", route], &flags));
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains(why), "{}", err(&refused));
    }
    let both = [
        "start",
        "works",
        "--send",
        "queue",
        "--routes",
        "to-send.toml",
        "--data",
        "data",
    ];
    let both = reindex(directory, &both);
    assert_eq!(both.status.code(), Some(2));
    assert!(err(&both).contains("--data"), "{}", err(&both));
}
