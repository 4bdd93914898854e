//! `trestle routes run`: routes on the streams of an endpoint, run by a separate process.

use crate::routes::{ROUTES, TABLE, put, saved, until};
use crate::running::{Running, run, start, trestle};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

const RUN: [&str; 7] = [
    "routes",
    "run",
    "routes.toml",
    "--state",
    "places",
    "--poll",
    "20ms",
];

/// Killed when dropped, unless it was stopped.
struct Router {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Router {
    fn start(server: &Running, directory: &Path, more: &[&str]) -> Self {
        let endpoint = format!("http://{}", server.address);
        let mut child = trestle(directory)
            .args(RUN)
            .args(more)
            .args(["--endpoint", &endpoint])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut router = Router { child, log };
        router.says("running 1 route on");
        router
    }

    /// Reads the log up to a line that contains this.
    fn says(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(
                self.log.read_line(&mut line).unwrap() > 0,
                "it never said: {text}"
            );
        }
    }

    fn stop(mut self) {
        let asked = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(asked.unwrap().success());
        self.says("stopped; the places are stored");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn home() -> (tempfile::TempDir, Running) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("routes.toml"), ROUTES).unwrap();
    let server = start(home.path(), &["serve", "--in-memory", "--port", "0"]);
    server.call("CreateTable", TABLE);
    (home, server)
}

/// The output of a command without a server.
fn letters(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, &[&["routes"], args, &["--state", "places"]].concat());
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn routes_go_on_from_the_place_in_their_directory_and_keep_dead_letters_there() {
    let (home, server) = home();
    let directory = home.path();
    let mut router = Router::start(&server, directory, &[]);
    put(&server, "one");
    until("the first change", || saved(directory).contains("\"one\""));
    std::fs::write(directory.join("closed"), "").unwrap();
    put(&server, "two");
    router.says("1 dead");
    let while_running = letters(directory, &["dead-letters"]);
    assert!(
        while_running.contains(r#"insert of {"pk":"two"}"#),
        "{while_running}"
    );
    let in_use = letters(directory, &["dead-letters", "drop", "--all"]);
    assert!(in_use.contains("is in use by process"), "{in_use}");
    // Whether it runs or not.
    let way_on = "trestle: dead letters of `trestle routes run` are tried again when it starts: end it, and start it with \
                  `trestle routes run FILE --state places --replay`, which tries all of them\n";
    assert_eq!(letters(directory, &["replay", "--all"]), way_on);
    let unknown = letters(directory, &["dead-letters", "another"]);
    assert!(
        unknown.starts_with("trestle: There is no route `another`"),
        "{unknown}"
    );
    router.stop();
    put(&server, "three");

    let listed = letters(directory, &["dead-letters"]);
    assert!(
        listed.contains(r#"insert of {"pk":"two"}, 1 attempt"#),
        "{listed}"
    );
    let id = listed.split("  ").next().unwrap();
    assert!(letters(directory, &["dead-letters", "show", id]).contains("\"error\""));
    assert_eq!(letters(directory, &["replay", "--all"]), way_on);

    std::fs::remove_file(directory.join("closed")).unwrap();
    let mut router = Router::start(&server, directory, &["--replay"]);
    router.says("replayed: 1 delivered, 0 refused again");
    until("what came meanwhile", || saved(directory).contains("\"three\""));
    router.stop();
    assert_eq!(letters(directory, &["dead-letters"]), "no dead letters\n");
    assert_eq!(saved(directory).lines().count(), 3, "{}", saved(directory));
}

#[test]
fn what_cannot_run_here_is_said_with_the_way_out() {
    let (home, server) = home();
    let directory = home.path();
    let endpoint = format!("http://{}", server.address);
    let said = |code: i32, file: &str, args: &[&str]| {
        let output = run(
            directory,
            &[&["routes", "run", file, "--endpoint", &endpoint], args].concat(),
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    };
    let own = said(2, "routes.toml", &[]);
    assert!(
        own.contains("runs routes itself: `trestle routes apply routes.toml`"),
        "{own}"
    );

    let queue = "[route.q]\ntable = \"things\"\ntarget = { queue = \"q\" }\n";
    std::fs::write(directory.join("queue.toml"), queue).unwrap();
    let queue = said(7, "queue.toml", &["--state", "places"]);
    assert!(queue.contains("name a queue by its URL instead"), "{queue}");

    Router::start(&server, directory, &[]).stop();
    std::fs::write(
        directory.join("other.toml"),
        ROUTES.replace("route.saved", "route.other"),
    )
    .unwrap();
    let other = said(2, "other.toml", &["--state", "places"]);
    assert!(other.contains("are not in the file: saved; --replace"), "{other}");

    std::fs::write(directory.join("gone.toml"), ROUTES.replace("things", "nothing")).unwrap();
    let gone = said(2, "gone.toml", &["--state", "elsewhere"]);
    assert!(
        gone.contains("there is no table nothing; there is things"),
        "{gone}"
    );
}

/// Rows in the file written by the target, by their keys, in the order of their arrival.
fn rows(directory: &Path) -> Vec<String> {
    let saved = saved(directory);
    let changes = saved
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let row = |record: serde_json::Value| {
        let change = &record["input"];
        let key = change["keys"]["pk"].as_str().unwrap();
        format!("{} {key}", change["event"].as_str().unwrap())
    };
    changes.map(row).collect()
}

const SOON: [&str; 2] = ["--stream-delay", "50ms"];

#[test]
fn a_backfill_brings_the_rows_of_an_endpoint_then_the_changes() {
    let (home, server) = home();
    let directory = home.path();
    let all: Vec<String> = (0..30).map(|n| format!("backfill row-{n:02}")).collect();
    for n in 0..30 {
        put(&server, &format!("row-{n:02}"));
    }
    // A route that begins with all rows.
    let first = ROUTES.replace("target =", "starting_position = \"all-rows\"\ntarget =");
    std::fs::write(directory.join("routes.toml"), first).unwrap();
    let mut router = Router::start(&server, directory, &SOON);
    router.says("backfill done, 30 rows");
    put(&server, "later");
    until("the change", || saved(directory).contains("later"));
    let mut came = rows(directory);
    assert_eq!(came.pop().unwrap(), "insert later");
    came.sort_unstable();
    assert_eq!(came, all);
    router.stop();

    // Another one, which is not started again by a second start with the same flags.
    std::fs::remove_file(directory.join("saved")).unwrap();
    let again = [&SOON[..], &["--backfill", "saved", "--backfill-rate", "10"]].concat();
    let mut router = Router::start(&server, directory, &again);
    router.says("backfill of saved: running, 0 of 31 rows, at most 10 a second");
    until("some rows", || saved(directory).lines().count() > 3);
    let stored = letters(directory, &["status"]);
    assert!(stored.contains("backfill of saved: running"), "{stored}");
    router.stop();
    let mut router = Router::start(&server, directory, &again);
    router.says("backfill of saved: running, ");
    router.says("backfill done, 31 rows");
    let mut came = rows(directory);
    came.sort_unstable();
    came.dedup();
    assert_eq!(came.len(), 31, "{came:?}");
    router.stop();
    let stored = letters(directory, &["status", "--json"]);
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["routes"][0]["backfill"]["rows"], 31, "{stored}");
}

#[test]
fn a_backfill_of_an_endpoint_can_be_ended_and_unknown_routes_are_said() {
    let (home, server) = home();
    let directory = home.path();
    for n in 0..30 {
        put(&server, &format!("row-{n:02}"));
    }
    let endpoint = format!("http://{}", server.address);
    let place = ["--endpoint", &endpoint, "--backfill", "nothing"];
    let output = run(directory, &[&RUN[..], &place].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("there is no route nothing in the file; there is saved"),
        "{said}"
    );

    let slow = [&SOON[..], &["--backfill", "saved", "--backfill-rate", "1"]].concat();
    let mut router = Router::start(&server, directory, &slow);
    router.says("backfill of saved: running");
    router.stop();
    let mut router = Router::start(&server, directory, &["--cancel-backfill", "saved"]);
    router.says("backfill of saved: cancelled");
    router.stop();
    let stored = letters(directory, &["status"]);
    assert!(stored.contains("backfill of saved: cancelled"), "{stored}");
}
