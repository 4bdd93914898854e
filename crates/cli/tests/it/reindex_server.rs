//! `trestle reindex --server`: the server works on reindexes itself.

use crate::reindex::{catalogue, err, out, put, reindex, status, with_declared_version};
use crate::routes::admin;
use crate::running::{Running, start};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// A catalogue in a directory, with its server.
struct Served<'d> {
    directory: &'d Path,
    url: String,
}

impl<'d> Served<'d> {
    fn new(directory: &'d Path, server: &Running) -> Self {
        let url = format!("http://127.0.0.1:{}", server.port());
        Self { directory, url }
    }

    fn reindex(&self, arguments: &[&str]) -> Output {
        reindex(
            self.directory,
            &[arguments, &["--server", self.url.as_str()]].concat(),
        )
    }

    fn status(&self, arguments: &[&str]) -> Value {
        let done = self.reindex(arguments);
        assert!(done.status.success(), "{arguments:?}: {}", err(&done));
        status(&done)
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn a_server_touches_rows_whose_version_the_model_declares() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let served = Served::new(directory.path(), &server);
    let start = words("start works --name one --version 7 --watch --json");
    let told = served.status(&start);
    assert_eq!(
        (&told["state"], &told["counts"]["done"]),
        (&json!("done"), &json!(120))
    );
    assert_eq!(out(&served.reindex(&["gaps", "one"])), "");

    let listed = out(&served.reindex(&["list"]));
    assert_eq!(listed.trim(), "one  works  done  touch, version 7");
}

/// Rows of this kind that a scan finds at a version.
fn at_version(server: &Running, version: u64) -> u64 {
    let scan = json!({
        "TableName": "works", "Select": "COUNT", "FilterExpression": "reindexVersion = :version",
        "ExpressionAttributeValues": {":version": {"N": version.to_string()}},
    });
    let answer = server.call("Scan", &scan.to_string());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["Count"]
        .as_u64()
        .unwrap()
}

/// A reindex in the process of a command raises versions that only the server may write, and rows that are inserted later have them.
fn reindexed_from_here(directory: &Path, server: &Running) {
    let served = Served::new(directory, server);
    let from_here = |text: &str| {
        let done = reindex(
            directory,
            &[&words(text)[..], &["--endpoint", &served.url]].concat(),
        );
        assert!(done.status.success(), "{text}: {}", err(&done));
        status(&done)["counts"]["done"].clone()
    };
    assert_eq!(
        from_here("start works --name here --version 8 --json"),
        json!(120)
    );
    assert_eq!(at_version(server, 8), 120);
    put(server, "b-late");
    assert_eq!(at_version(server, 8), 121);
    assert_eq!(
        from_here("start works --entity image --name images --version 9 --json"),
        json!(60)
    );
    assert_eq!((at_version(server, 8), at_version(server, 9)), (61, 60));
}

#[test]
fn a_command_at_the_endpoint_lets_the_server_raise_versions_that_its_model_declares() {
    let (directory, server) = catalogue(&with_declared_version(), &[]);
    reindexed_from_here(directory.path(), &server);
}

#[test]
fn a_command_at_a_gateway_lets_it_raise_versions_that_its_model_declares() {
    let directory = tempfile::tempdir().unwrap();
    let endpoint = start(
        directory.path(),
        &["serve", "--in-memory", "--behind-gateways", "--port", "0"],
    );
    let url = format!("http://{}", endpoint.address);
    std::fs::write(directory.path().join("model.toml"), with_declared_version()).unwrap();
    let serve = ["serve", "--backend", &url, "--port", "0", "--model", "model.toml"];
    let gateway = start(directory.path(), &serve);
    for number in 0..60 {
        put(&gateway, &format!("b{number}"));
        put(&gateway, &format!("i{number}"));
    }
    reindexed_from_here(directory.path(), &gateway);
    let own =
        json!({"table": "_trestle.documents", "attribute": "v", "version": 1, "keys": [{"id": {"S": "a"}}]});
    let (_, answer) = admin(&gateway, "touch-rows", own);
    assert_eq!(answer["rows"][0]["outcome"], "refused", "{answer}");
}

#[test]
fn a_server_sends_rows_to_the_target_of_a_route() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let served = Served::new(directory.path(), &server);
    let told = served.status(&words("start works --send works --name one --watch --json"));
    assert_eq!(
        (&told["counts"]["done"], &told["counts"]["unchanged"]),
        (&json!(60), &json!(60))
    );
    let nowhere = served.reindex(&words("start works --send nowhere"));
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        err(&nowhere).contains("rows cannot be sent to route nowhere"),
        "{}",
        err(&nowhere)
    );
}

#[test]
fn what_the_destination_of_a_server_does_not_have_is_named_and_done_again() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let served = Served::new(directory.path(), &server);
    served.status(&words(
        "start works --entity work --name one --version 7 --watch --json",
    ));
    let mut known: Vec<String> = (0..60).map(|number| format!("work#b{number}")).collect();
    known.remove(13);
    std::fs::write(served.directory.join("known"), known.join("\n")).unwrap();
    let gaps = served.reindex(&words("gaps one --against known"));
    assert_eq!(out(&gaps), "work#b13\n", "{}", err(&gaps));
    assert_eq!(err(&gaps), "1 gaps\n");
    assert_eq!(out(&served.reindex(&words("gaps one --against-table works"))), "");

    let resent = words("resend one --gaps --against known --watch --json");
    let counts = &served.status(&resent)["counts"];
    assert_eq!(
        (&counts["done"], &counts["unchanged"]),
        (&json!(61), &json!(0)),
        "the row at the version is recorded again"
    );
    std::fs::write(served.directory.join("ids"), "work#nowhere\n").unwrap();
    let resent = served.reindex(&words("resend one --ids ids --watch"));
    assert_eq!(resent.status.code(), Some(1));
    assert!(
        err(&resent).contains("1 rows could not be done"),
        "{}",
        err(&resent)
    );
    let letters = out(&served.reindex(&words("dead-letters one")));
    assert!(letters.starts_with("work#nowhere: "), "{letters}");
    assert_eq!(
        served.reindex(&words("replay one --watch")).status.code(),
        Some(1)
    );
    assert_eq!(
        out(&served.reindex(&words("dead-letters one --drop"))),
        "1 dropped\n"
    );
    let none = served.reindex(&words("replay one"));
    assert_eq!(out(&none), "there are no dead letters\n", "{}", err(&none));
}

#[test]
fn a_reindex_of_a_server_is_steered_and_worked_on_only_there() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let served = Served::new(directory.path(), &server);
    // It takes hours, and does not block the command.
    let start = words("start works --name slow --version 7 --write-units 0.01 --json");
    assert_eq!(served.status(&start)["state"], json!("running"));
    let metrics = server.get("/metrics");
    assert!(metrics.contains("trestle_reindex_rows_waiting{reindex=\"slow\",table=\"works\"}"));
    assert_eq!(
        served.status(&words("pause slow --json"))["state"],
        json!("paused")
    );
    assert_eq!(
        served.status(&words("resume slow --json"))["state"],
        json!("running")
    );
    assert_eq!(
        served.status(&words("cancel slow --json"))["state"],
        json!("cancelled")
    );
    for (refused, why) in [
        ("work slow", "by itself"),
        ("start works --version 8 --no-work", "by itself"),
        ("start works --version 8 --model model.toml", "--model"),
        ("start works --version 8 --data data", "--data"),
        ("status nowhere", "there is no reindex nowhere"),
    ] {
        let refused = served.reindex(&words(refused));
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains(why), "{}", err(&refused));
    }
}

#[test]
fn a_server_goes_on_with_its_reindexes_after_kill_9() {
    let (directory, server) = catalogue(&with_declared_version(), &["--routes", "routes.toml"]);
    let served = Served::new(directory.path(), &server);
    let begin = words("start works --name one --version 7 --write-units 40 --page-rows 5");
    let begun = served.reindex(&begin);
    assert!(begun.status.success(), "{}", err(&begun));
    // Dropping it kills the process.
    drop(server);
    let serve = words("serve --data data --port 0 --model model.toml --routes routes.toml");
    let server = start(directory.path(), &serve);
    let served = Served::new(directory.path(), &server);
    let told = served.status(&words("status one --watch --json"));
    assert_eq!(
        (&told["state"], &told["counts"]["read"]),
        (&json!("done"), &json!(120))
    );
    assert_eq!(out(&served.reindex(&["gaps", "one"])), "");
    let (_, log) = server.stop();
    assert!(log.contains("reindex one of table works continues"), "{log}");
    assert!(log.contains("reindex one is done"), "{log}");
}
