//! Commands: their input, and the meaning of their results.

use crate::batches::{batch, open};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::oneshot;
use trestle_events::Outcome;

async fn outcome_of(script: &str) -> Outcome {
    open(json!({"command": ["sh", "-c", script]}))
        .deliver(&batch(2))
        .await
}

#[tokio::test]
async fn records_are_lines_on_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let target = open(json!({
        "command": ["sh", "-c", "cat > \"$0\"; echo $TRESTLE_ROUTE $TRESTLE_RECORDS ${#TRESTLE_DELIVERY} > about", "lines"],
        "directory": folder.path(),
    }));
    assert_eq!(target.deliver(&batch(2)).await, Outcome::Done);
    let lines = std::fs::read_to_string(folder.path().join("lines")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            json!({"id": "r/0", "attempt": 1, "input": {"number": 0, "key": "item 0"}}),
            json!({"id": "r/1", "attempt": 1, "input": {"number": 1, "key": "item 1"}}),
        ]
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("about")).unwrap(),
        "r 2 32\n"
    );
}

#[tokio::test]
async fn a_program_gets_the_variables_of_its_route_and_none_that_may_be_secret() {
    let folder = tempfile::tempdir().unwrap();
    let target = open(json!({
        "command": ["sh", "-c", "env > seen"],
        "directory": folder.path(),
        "environment": {"KIND": "order", "TOKEN": {"env": "HOOK_SECRET"}},
    }));
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    for line in [
        "KIND=order",
        "TOKEN=whsec",
        "TRESTLE_ROUTE=r",
        "TRESTLE_RECORDS=1",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "{line}: {seen}");
    }
    // Cargo gives tests many variables of its own.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!seen.contains("CARGO_MANIFEST_DIR"), "{seen}");
}

#[tokio::test]
async fn the_status_decides() {
    assert_eq!(outcome_of("exit 0").await, Outcome::Done);
    assert_eq!(
        outcome_of("echo busy >&2; exit 75").await,
        Outcome::Unavailable("asked to come back later: busy".to_owned())
    );
    assert_eq!(
        outcome_of("echo first >&2; echo 'the reason' >&2; echo >&2; exit 3").await,
        Outcome::Refused("ended with status 3: the reason".to_owned())
    );
    assert_eq!(
        outcome_of("exit 1").await,
        Outcome::Refused("ended with status 1".to_owned())
    );
    let Outcome::Failed(reason) = outcome_of("kill -9 $$").await else {
        panic!("a program that dies takes nothing");
    };
    assert!(reason.starts_with("was ended by a signal"), "{reason}");
}

#[tokio::test]
async fn records_that_standard_output_names_were_not_taken() {
    assert_eq!(
        outcome_of(r#"cat > /dev/null; echo '{"batchItemFailures": [{"itemIdentifier": "r/0"}]}'"#).await,
        Outcome::Partly(vec![("r/0".to_owned(), "reported as failed".to_owned())])
    );
    assert_eq!(outcome_of("echo hello").await, Outcome::Done);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_unavailable() {
    let outcome = open(json!({"command": ["/nowhere/to/be/found"]}))
        .deliver(&batch(1))
        .await;
    let Outcome::Unavailable(reason) = outcome else {
        panic!("nothing ran: {outcome:?}");
    };
    assert!(
        reason.starts_with("/nowhere/to/be/found could not run"),
        "{reason}"
    );
}

#[tokio::test]
async fn neither_long_input_nor_long_output_makes_anyone_wait() {
    // Far more than a pipe holds, in all three directions; the second program reads none of it.
    let target = open(
        json!({"command": ["sh", "-c", "head -c 9000000 /dev/zero; head -c 300000 /dev/zero >&2; cat > /dev/null"]}),
    );
    assert_eq!(target.deliver(&batch(5_000)).await, Outcome::Done);
    let target = open(json!({"command": ["sh", "-c", "exit 0"]}));
    assert_eq!(target.deliver(&batch(5_000)).await, Outcome::Done);
}

/// A named pipe, and what its reader sees: that a process writes, and that the last writer has ended.
struct Alive {
    path: PathBuf,
    begun: oneshot::Receiver<()>,
    gone: oneshot::Receiver<()>,
    _folder: tempfile::TempDir,
}

impl Alive {
    fn watch() -> Alive {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alive");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let ((begins, begun), (goes, gone)) = (oneshot::channel(), oneshot::channel());
        let read = path.clone();
        // A separate thread: if the test fails, it does not wait for it.
        std::thread::spawn(move || {
            let mut pipe = File::open(read).unwrap();
            pipe.read_exact(&mut [0]).unwrap();
            let _ = begins.send(());
            pipe.read_to_end(&mut Vec::new()).unwrap();
            let _ = goes.send(());
        });
        Alive {
            path,
            begun,
            gone,
            _folder: folder,
        }
    }

    async fn sees(event: &mut oneshot::Receiver<()>) {
        tokio::time::timeout(Duration::from_secs(20), event)
            .await
            .unwrap()
            .unwrap();
    }
}

/// The shell waits for another program, which keeps the pipe open while it runs.
const SLEEPS: &str = "sh -c 'echo; exec sleep 100' > \"$0\" & wait";

#[tokio::test]
async fn after_its_time_a_program_is_ended_with_all_that_it_started() {
    let mut alive = Alive::watch();
    let target = open(json!({"command": ["sh", "-c", SLEEPS, alive.path], "timeout": "1s"}));
    let outcome = target.deliver(&batch(1)).await;
    assert_eq!(
        outcome,
        Outcome::Failed("sh was not done within 1 s and was ended".to_owned())
    );
    Alive::sees(&mut alive.gone).await;
}

#[tokio::test]
async fn a_delivery_that_nobody_waits_for_any_more_ends_its_program() {
    let mut alive = Alive::watch();
    let target = open(json!({"command": ["sh", "-c", SLEEPS, alive.path]}));
    let delivery = tokio::spawn(async move { target.deliver(&batch(1)).await });
    Alive::sees(&mut alive.begun).await;
    delivery.abort();
    assert!(delivery.await.unwrap_err().is_cancelled());
    Alive::sees(&mut alive.gone).await;
}
