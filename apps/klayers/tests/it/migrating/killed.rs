//! The process is killed while rows move.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use testing::TestPlace;
use trestle::Embedded;
use trestle::migrate::MigrationState;

use super::answers::{self, assert_same};
use super::{First, Migrating, store_in, unswept};

/// The state that a process leaves if it is killed at this moment, without a signal to end before.
fn as_it_is(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            as_it_is(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn point_12_a_process_that_is_killed_at_any_page_goes_on_when_it_is_started_again() {
    let place = tempfile::tempdir().unwrap();
    let running = place.path().join("running");
    let first = First::in_directory(&running).await;
    let before = answers::first(&first.db).await;
    let moving = first.migrate();
    let mut pages = 0;
    let mut left = vec![moving.status().state];
    moving
        .sweep(async |status| {
            if pages % 5 == 2 {
                let copy = place.path().join(format!("killed-{pages}"));
                as_it_is(&running, &copy);
                let again = restarted(&copy, &moving);
                left.push(again.status().state);
                let moment = format!("killed at {} {:.2}", status.state, status.done);
                assert_same(&before, &answers::present(&again.app().db, 100).await, &moment);
                assert_eq!(again.sweep_all().state, MigrationState::Verified, "{moment}");
                assert_same(&before, &answers::present(&again.app().db, 100).await, &moment);
                again.finish();
            }
            pages += 1;
        })
        .await;
    assert!(
        left.contains(&MigrationState::Sweeping) && left.contains(&MigrationState::Verifying),
        "{left:?}"
    );
}

/// The next process.
fn restarted(place: &Path, before: &Migrating) -> Migrating {
    let clock = before.world.clock.clone();
    let embedded = Embedded::on(store_in(place), clock.clone(), unswept()).unwrap();
    Migrating::on(
        TestPlace::new("klayers"),
        embedded,
        clock,
        before.world.layers.clone(),
    )
}

#[tokio::test]
async fn point_12_the_program_migrates_its_table_while_it_serves_however_often_it_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let table = place.path().join("table");
    let first = First::in_directory(&table).await;
    let before = answers::first(&first.db).await;
    let (clock, layers) = (first.clock.clone(), first.layers.clone());
    drop(first);
    let mut served = Vec::new();
    for rounds in 1.. {
        served.push(serve_and_kill(place.path()));
        let embedded = Embedded::on(store_in(&table), clock.clone(), unswept()).unwrap();
        let moving = Migrating::on(TestPlace::new("klayers"), embedded, clock.clone(), layers.clone());
        assert_same(&before, &answers::present(&moving.app().db, 100).await, "killed");
        let status = moving.status();
        if status.state == MigrationState::Verified {
            break;
        }
        assert!(rounds < 50, "{status}");
    }
    served.push(serve_and_kill(place.path()));
    assert!(
        served[0].contains("layer:Klayers-p38-requests:3"),
        "{}",
        served[0]
    );
    assert!(served.iter().all(|answer| *answer == served[0]), "{served:#?}");
}

/// Starts the program, asks it for the latest layers of a region, and kills it at once.
fn serve_and_kill(place: &Path) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_klayers"))
        .args(["serve", "--port", "0", "--data"])
        .arg(place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let said = log
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("http://"));
    let said = said.unwrap();
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let answer = ask(address, "/api/v1/layers/latest/eu-west-1");
    child.kill().unwrap();
    child.wait().unwrap();
    answer
}

/// The body of an answer.
fn ask(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}
