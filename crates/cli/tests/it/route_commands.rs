//! Tests of the commands `trestle routes …`.

use crate::routes::{ROUTES, TABLE, put, saved, status, until};
use crate::running::{Running, run, start, trestle};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const MODEL: &str = r#"
model = "shop"
[table.things]
key = ["pk"]
stream = "new-and-old-images"
[entity.order]
table = "things"
key = { pk = "ORDER#{id}" }
attributes = { id = "string" }
[route.orders]
entity = "order"
input = '{"order": <new.id>}'
target = { command = ["true"] }
"#;

/// The output of `trestle routes …` on a server; it must have ended with `code`.
fn said(server: &Running, directory: &Path, code: i32, args: &[&str]) -> String {
    let endpoint = format!("http://{}", server.address);
    let output = run(
        directory,
        &[&["routes"], args, &["--endpoint", &endpoint]].concat(),
    );
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    text
}

#[test]
fn what_was_given_up_is_listed_shown_replayed_and_dropped() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    let server = start(
        directory,
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    server.call("CreateTable", TABLE);
    std::fs::write(directory.join("routes.toml"), ROUTES).unwrap();
    let said = |code, args: &[&str]| said(&server, directory, code, args);
    assert!(said(0, &["status"]).starts_with("no routes; "));
    assert_eq!(said(0, &["dead-letters"]), "no dead letters\n");
    assert!(said(0, &["apply", "routes.toml", "--dry-run"]).contains("nothing was changed"));
    assert!(said(0, &["apply", "routes.toml"]).contains("\nsaved  things  "));

    std::fs::write(directory.join("closed"), "").unwrap();
    for item in ["one", "two", "three"] {
        put(&server, item);
    }
    until("the dead letters", || status(&server, "dead") == 3);
    let table = said(0, &["status"]);
    let (head, row) = table.split_once('\n').unwrap();
    let columns: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(columns[..4], ["ROUTE", "TABLE", "STATE", "WAITING"]);
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[0], cells[8]), ("saved", "3"), "{table}");
    let status: Value = serde_json::from_str(&said(0, &["status", "--json"])).unwrap();
    assert_eq!(status["routes"][0]["dead"], 3);

    // Also after the route was removed.
    said(0, &["remove", "saved"]);
    let gone = said(0, &["status"]);
    assert!(
        gone.contains("\nsaved is gone; dead letters: 3. `trestle routes dead-letters move --route saved"),
        "{gone}"
    );
    assert!(
        server
            .get("/metrics")
            .contains("\ntrestle_route_dead_letters{route=\"saved\"} 3\n")
    );
    said(0, &["apply", "routes.toml"]);
    assert!(!said(0, &["status"]).contains("gone"));

    let listed = said(0, &["dead-letters", "saved"]);
    let ids: Vec<&str> = listed
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(ids.len(), 3, "{listed}");
    assert!(
        listed.contains(r#"insert of {"pk":"one"}, 1 attempt, last at "#),
        "{listed}"
    );
    for args in [
        &["dead-letters", "another"][..],
        &["replay", "--route", "another"],
    ] {
        let refused = said(1, args);
        assert!(refused.contains("There is no route `another`"), "{refused}");
    }
    let some = said(0, &["dead-letters", "--limit", "2"]);
    assert!(
        some.lines().count() == 3 && some.ends_with("… and more; --limit N lists more\n"),
        "{some}"
    );
    let shown: Value = serde_json::from_str(&said(0, &["dead-letters", "show", ids[1]])).unwrap();
    assert_eq!(shown["id"], ids[1]);

    assert!(said(1, &["replay", "--id", ids[0]]).contains("0 delivered, 1 refused again"));
    // The target asked for a later attempt, which is no refusal.
    std::fs::write(directory.join("away"), "").unwrap();
    let away = said(1, &["replay", "--all"]);
    assert!(
        away.starts_with("0 delivered, 0 refused again, 1 neither, because the target could not be reached"),
        "{away}"
    );
    assert!(
        away.contains("trestle: a target does not answer, or fails"),
        "{away}"
    );
    std::fs::remove_file(directory.join("away")).unwrap();
    std::fs::remove_file(directory.join("closed")).unwrap();
    assert_eq!(
        said(0, &["replay", "--id", ids[0]]),
        "1 delivered, 0 refused again\n"
    );
    assert_eq!(said(0, &["dead-letters", "drop", "--id", ids[1]]), "1 dropped\n");
    assert_eq!(
        said(0, &["replay", "--route", "saved"]),
        "1 delivered, 0 refused again\n"
    );
    assert_eq!(saved(directory).lines().count(), 2);
    assert_eq!(said(0, &["dead-letters", "--json"]), "");
    assert!(said(1, &["dead-letters", "show", ids[1]]).contains("there is no dead letter"));
    for guess in [&["replay"][..], &["dead-letters", "drop"]] {
        assert!(said(2, guess).contains("required"), "which is never guessed");
    }
}

#[test]
fn routes_are_listed_with_where_they_come_from_and_removed_one_by_one() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    std::fs::write(directory.join("shop.toml"), MODEL).unwrap();
    let server = start(
        directory,
        &[
            "serve",
            "--in-memory",
            "--port",
            "0",
            "--model",
            "shop.toml",
            "--allow-command-routes",
        ],
    );
    let said = |code, args: &[&str]| said(&server, directory, code, args);
    let text = format!(
        "# Ours.\n{ROUTES}\n[route.other]\nentity = \"order\"\nevent = \"remove\"\ntarget = {{ queue = \"q\" }}\n"
    );
    std::fs::write(directory.join("routes.toml"), &text).unwrap();
    said(0, &["apply", "routes.toml"]);
    let listed = said(0, &["list"]);
    for says in [
        "orders  things  every change of order",
        "command [\"true\"]",
        "model shop",
        "other   things  remove of order",
        "queue q",
        "saved   things  every change by pattern",
        "route file",
    ] {
        assert!(listed.contains(says), "{says}\n{listed}");
    }
    assert_eq!(said(0, &["list", "--text"]), text);
    assert!(said(0, &["list", "--json"]).contains(r#""events":["remove"]"#));

    assert!(said(0, &["remove", "saved"]).starts_with("route saved is gone"));
    let left = said(0, &["list", "--text"]);
    assert!(
        left.starts_with("# Ours.\n") && left.contains("[route.other]") && !left.contains("saved"),
        "{left}"
    );
    assert!(said(2, &["remove", "saved"]).contains("there is no route saved; there is orders, other"));
    assert!(said(2, &["remove", "orders"]).contains("route orders is in model shop"));
    assert!(said(2, &["apply", "shop.toml"]).contains("`trestle model apply shop.toml`"));
}

#[test]
fn the_problems_of_a_file_are_told_with_their_places_and_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    let server = start(
        home.path(),
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    std::fs::write(home.path().join("wrong.toml"), "[route.a]\ntabel = \"things\"\n").unwrap();
    let said = |code, args: &[&str]| said(&server, home.path(), code, args);
    let told = said(7, &["apply", "wrong.toml"]);
    for says in [
        "wrong.toml:2:1: error: route `a`: unknown field `tabel`\n  help: ",
        "the routes cannot be used: wrong.toml; docs/reference/routes.md",
    ] {
        assert!(told.contains(says), "{says}\n{told}");
    }
    assert!(said(0, &["list"]).starts_with("no routes"));
    assert!(said(2, &["tail", "a"]).contains("there is no route a, nor any other"));
}

#[test]
fn a_route_file_is_checked_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let check = |code: i32, args: &[&str]| {
        let output = run(home.path(), &[&["routes", "check"], args].concat());
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    };
    let wrong = "[route.a]\ntable = \"things\"\ntarget = { webhook = 7 }\n[route.b]\nevent = \"gone\"\n";
    std::fs::write(home.path().join("wrong.toml"), wrong).unwrap();
    let text = check(7, &["wrong.toml"]);
    for says in [
        "wrong.toml:3:10: error: route `a`: target: webhook",
        "wrong.toml:4:8: error: route `b`: it has no target",
        "wrong.toml:4:8: error: route `b`: it has no table",
        "wrong.toml:5:9: error: route `b`: there is no event `gone`",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }

    // A secret is known only where the routes run; the model beside the file has the entity's table.
    let routes = "[route.a]\nentity = \"order\"\ntarget = { webhook = \"http://h/\", secret = { env = \"NO_SUCH\" } }\n";
    std::fs::write(home.path().join("routes.toml"), routes).unwrap();
    std::fs::write(home.path().join("shop.toml"), MODEL).unwrap();
    assert!(check(7, &["routes.toml"]).contains("routes.toml:1:8: error: route `a`: it has no table"));
    assert_eq!(
        check(0, &["routes.toml", "--model", "shop.toml"]),
        "routes.toml: 1 route is sound; 0 problems\n"
    );
    let summary = check(0, &["routes.toml", "shop.toml", "--json"]);
    assert_eq!(
        summary.lines().last().unwrap(),
        r#"{"file":"shop.toml","summary":{"routes":1,"sound":true}}"#
    );
    std::fs::write(
        home.path().join("shop.toml"),
        MODEL.replace("\"ORDER#{id}\"", "\"ORDER#{ix}\""),
    )
    .unwrap();
    assert!(
        check(7, &["shop.toml"]).contains("shop.toml:8:"),
        "the model's own problems, too"
    );
    assert!(check(2, &["nowhere.toml"]).contains("cannot read nowhere.toml"));
}

#[test]
fn a_status_that_is_watched_is_shown_again_until_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let server = start(
        home.path(),
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    let endpoint = format!("http://{}", server.address);
    let mut child = trestle(home.path())
        .args(["routes", "status", "--watch", "--endpoint", &endpoint])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("no routes; "), "{line}");
    }
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_server_that_wants_signatures_gets_them_and_says_so_without() {
    let home = tempfile::tempdir().unwrap();
    let keys = ["--access-key", "somebody", "--secret-key", "secret"];
    let server = start(
        home.path(),
        &[
            &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
            &keys[..],
        ]
        .concat(),
    );
    for args in [&["status"][..], &["list"], &["dead-letters"], &["tail", "saved"]] {
        let signed = [args, &keys].concat();
        let refused = said(&server, home.path(), 1, args);
        assert!(refused.contains("give an access key and its secret"), "{refused}");
        if args[0] != "tail" {
            assert!(said(&server, home.path(), 0, &signed).starts_with("no "));
        }
    }
    drop(server);
    let output = run(
        home.path(),
        &["routes", "status", "--endpoint", "http://127.0.0.1:1"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("start one with `trestle serve`")
    );
}

#[test]
fn a_route_is_removed_beside_one_that_only_the_operator_may_write() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    let text = format!("{ROUTES}\n[route.other]\ntable = \"things\"\ntarget = {{ queue = \"q\" }}\n");
    std::fs::write(directory.join("routes.toml"), text).unwrap();
    let server = start(
        directory,
        &["serve", "--in-memory", "--port", "0", "--routes", "routes.toml"],
    );
    said(&server, directory, 0, &["remove", "other"]);
    let listed = said(&server, directory, 0, &["list"]);
    assert!(listed.contains("saved") && !listed.contains("other"), "{listed}");
    // Another command under the same name was not written by the operator.
    std::fs::write(
        directory.join("else.toml"),
        ROUTES.replace("cat >> saved", "cat >> elsewhere"),
    )
    .unwrap();
    let refused = said(&server, directory, 7, &["apply", "else.toml"]);
    assert!(refused.contains("--allow-command-routes"), "{refused}");
}

#[test]
fn a_backfill_brings_every_row_and_shows_how_far_it_is() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    std::fs::write(directory.join("routes.toml"), ROUTES).unwrap();
    let serve = ["serve", "--data", "data", "--port", "0"];
    let server = start(directory, &serve);
    server.call("CreateTable", TABLE);
    for row in ["one", "two", "quiet"] {
        put(&server, row);
    }
    drop(server);
    let server = start(directory, &[&serve[..], &["--routes", "routes.toml"]].concat());
    let said = |code, args: &[&str]| said(&server, directory, code, args);
    let done = "backfill of saved: done, 3 rows\n";
    assert!(said(0, &["backfill", "saved"]).contains(done));
    let lines = saved(directory);
    for (text, is_there) in [
        ("\"one\"", true),
        ("\"two\"", true),
        ("\"backfill\"", true),
        ("quiet", false),
    ] {
        assert_eq!(lines.contains(text), is_there, "{text}: {lines}");
    }
    assert!(said(0, &["status"]).ends_with(done));
    let begun = said(0, &["backfill", "saved", "--rate", "1", "--detach", "--json"]);
    let begun: Value = serde_json::from_str(&begun).unwrap();
    assert_eq!(
        (&begun["state"], &begun["rate"], &begun["total"]),
        (&"running".into(), &1.into(), &3.into())
    );
    assert!(said(1, &["backfill", "saved"]).contains("is running"));
    assert!(said(0, &["backfill", "saved", "--cancel"]).contains("cancelled"));
    assert!(said(1, &["backfill", "saved", "--cancel"]).contains("no backfill"));
    assert_eq!(status(&server, "dead"), 0);
}

#[test]
fn a_backfill_says_what_it_waits_for_what_is_parked_and_that_it_goes_on_after_an_interrupt() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    std::fs::write(directory.join("routes.toml"), ROUTES).unwrap();
    std::fs::write(directory.join("away"), "").unwrap();
    let server = start(
        directory,
        &["serve", "--in-memory", "--port", "0", "--allow-command-routes"],
    );
    server.call("CreateTable", TABLE);
    for row in ["one", "two", "three"] {
        put(&server, row);
    }
    let said = |code, args: &[&str]| said(&server, directory, code, args);
    said(0, &["apply", "routes.toml"]);
    let endpoint = format!("http://{}", server.address);
    let mut child = trestle(directory)
        .args(["routes", "backfill", "saved", "--endpoint", &endpoint])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut says = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it never said: {text}");
        }
    };
    says("running, 0 of 3 rows; saved is on hold since ");
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    says(
        "it continues in the server: `trestle routes status` shows the progress, `trestle routes backfill saved --cancel` ends it",
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(said(0, &["status"]).contains("backfill of saved: running"));
    said(0, &["backfill", "saved", "--cancel"]);

    // Rows for the destinations are parked, and the backfill is done.
    let text = ROUTES.replace("maximum_retry", "concurrency = 10\nmaximum_retry");
    std::fs::write(directory.join("routes.toml"), text).unwrap();
    said(0, &["apply", "routes.toml"]);
    let done = said(0, &["backfill", "saved"]);
    assert!(done.contains("backfill of saved: done, 3 rows\n"), "{done}");
    assert!(
        done.contains("\n3 rows or changes of saved are parked: "),
        "{done}"
    );
    std::fs::remove_file(directory.join("away")).unwrap();
    until("the rows", || saved(directory).lines().count() == 3);
}
