//! `trestle tail` and `trestle routes tail`: changes as they happen.

use crate::running::{Running, run, start, trestle};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const MODEL: &str = r#"
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
attributes = { id = "string", state = "string" }
[route.orders]
entity = "order"
event = "modify"
input = '{"order": <new.id>, "is": <new.state>}'
target = { command = ["true"] }
"#;

fn shop(directory: &Path) -> Running {
    std::fs::write(directory.join("shop.toml"), MODEL).unwrap();
    start(
        directory,
        &["serve", "--in-memory", "--port", "0", "--model", "shop.toml"],
    )
}

fn put(server: &Running, item: &str) {
    let answer = server.call("PutItem", &format!(r#"{{"TableName":"things","Item":{item}}}"#));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn order(server: &Running, state: &str) {
    put(
        server,
        &format!(r#"{{"id":{{"S":"7"}},"pk":{{"S":"ORDER#7"}},"state":{{"S":"{state}"}}}}"#),
    );
}

/// A tail that has found its start: later writes are shown.
struct Tail {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Tail {
    fn of(server: &Running, directory: &Path, args: &[&str]) -> Self {
        let endpoint = format!("http://{}", server.address);
        let mut child = trestle(directory)
            .args(args)
            .args(["--endpoint", &endpoint])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut begun = String::new();
        BufReader::new(child.stderr.take().unwrap())
            .read_line(&mut begun)
            .unwrap();
        assert_eq!(begun, "reading the changes of things; Ctrl-C ends it\n");
        let out = BufReader::new(child.stdout.take().unwrap());
        Tail { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The rest of its output, and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }

    fn interrupt(&self) {
        let kill = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_are_shown_by_entity_with_what_changed_until_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let server = shop(home.path());
    let mut tail = Tail::of(&server, home.path(), &["tail", "things", "--entity", "order"]);
    put(&server, r#"{"id":{"S":"1"},"pk":{"S":"USER#1"}}"#);
    order(&server, "new");
    order(&server, "paid");
    server.call(
        "DeleteItem",
        r#"{"TableName":"things","Key":{"pk":{"S":"ORDER#7"}}}"#,
    );
    for says in [
        " insert order pk=\"ORDER#7\"",
        "  + id: \"7\"",
        "  + state: \"new\"",
        " modify order pk=\"ORDER#7\"",
        "  ~ state: \"new\" → \"paid\"",
        " remove order pk=\"ORDER#7\"",
        "  - id: \"7\"",
        "  - state: \"paid\"",
    ] {
        let line = tail.line();
        assert!(line.ends_with(says) && !line.contains('\x1b'), "{says}: {line}");
    }
    tail.interrupt();
    assert_eq!(tail.end(), (String::new(), Some(0)));
}

#[test]
fn a_tail_begins_where_it_is_told_and_ends_after_so_many_changes() {
    let home = tempfile::tempdir().unwrap();
    let server = shop(home.path());
    order(&server, "new");

    let args = [
        "tail",
        "things",
        "--since",
        "trim-horizon",
        "--json",
        "--count",
        "2",
    ];
    let tail = Tail::of(&server, home.path(), &args);
    order(&server, "paid");
    let (said, code) = tail.end();
    let lines: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), code), (2, Some(0)), "{said}");
    assert_eq!(lines[1]["old"]["state"], "new");
    assert_eq!(lines[1]["entity"], "order");
    let args = [
        "tail", "things", "--since", "10m", "--event", "modify", "--count", "1",
    ];
    let (said, code) = Tail::of(&server, home.path(), &args).end();
    assert!(said.contains(" modify order "), "{said}");
    assert_eq!(code, Some(0));
    let args = ["tail", "things", "--since", "2100-01-01T00:00:00Z", "--for", "0"];
    let endpoint = format!("http://{}", server.address);
    let output = run(home.path(), &[&args[..], &["--endpoint", &endpoint]].concat());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
}

#[test]
fn the_tail_of_a_route_shows_what_it_takes_as_its_target_gets_it() {
    let home = tempfile::tempdir().unwrap();
    let server = shop(home.path());
    let args = ["routes", "tail", "orders", "--json", "--count", "1"];
    let tail = Tail::of(&server, home.path(), &args);
    put(&server, r#"{"id":{"S":"1"},"pk":{"S":"USER#1"}}"#);
    order(&server, "new");
    order(&server, "paid");
    let (said, code) = tail.end();
    assert_eq!((&*said, code), ("{\"is\":\"paid\",\"order\":\"7\"}\n", Some(0)));
}

#[test]
fn a_tail_that_cannot_be_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let server = shop(home.path());
    let without = r#"{"TableName":"mute","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}"#;
    server.call("CreateTable", without);
    let endpoint = format!("http://{}", server.address);
    for (code, args, says) in [
        (1, &["tail", "mute"][..], "table mute has no stream; give it one"),
        (
            2,
            &["tail", "nothing"],
            "there is no table nothing; there is mute, things",
        ),
        (
            2,
            &["tail", "things", "--entity", "odrer"],
            "there is no entity odrer; there is user, order",
        ),
        (
            2,
            &["tail", "things", "--since", "soon"],
            "write latest, trim-horizon",
        ),
        (
            2,
            &["tail", "things", "--event", "gone"],
            "there is insert, modify, remove, expire",
        ),
        (
            7,
            &["tail", "things", "--model", "none.toml"],
            "not a sound model: none.toml",
        ),
    ] {
        std::fs::write(home.path().join("none.toml"), "").unwrap();
        let output = run(home.path(), &[args, &["--endpoint", &endpoint]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(says), "{says}\n{text}");
    }
}

#[test]
fn a_tail_goes_on_when_the_server_comes_back() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("shop.toml"), MODEL).unwrap();
    let serve = ["serve", "--data", "data", "--model", "shop.toml", "--port"];
    let server = start(home.path(), &[&serve[..], &["0"]].concat());
    let mut tail = Tail::of(&server, home.path(), &["tail", "things", "--event", "insert"]);
    let port = server.port().to_owned();
    order(&server, "new");
    assert!(tail.line().ends_with("insert order pk=\"ORDER#7\""));
    server.stop();
    let server = start(home.path(), &[&serve[..], &[&port]].concat());
    put(&server, r#"{"id":{"S":"1"},"pk":{"S":"USER#1"}}"#);
    let expected = ["  + id: \"7\"", "  + state: \"new\"", "insert user pk=\"USER#1\""];
    for says in expected {
        let line = tail.line();
        assert!(line.ends_with(says), "{says}: {line}");
    }
}
