//! Backing up, restoring and verifying from the command line.

use crate::running::{run, start, trestle};
use std::fs;
use std::path::Path;
use std::process::Output;

const CREATE: &str = r#"{"TableName":"orders","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"N"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
    "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"ALL"}}],
    "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn ends_with(output: &Output, code: i32) -> String {
    let text = text(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn fill(server: &crate::running::Running, items: usize) {
    assert!(server.call("CreateTable", CREATE).contains("200 OK"));
    for at in 0..items {
        let item = format!(
            r#"{{"TableName":"orders","Item":{{"pk":{{"S":"{at}"}},"g":{{"N":"{}"}}}}}}"#,
            at % 5
        );
        assert!(server.call("PutItem", &item).contains("200 OK"));
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_live_server_is_backed_up_restored_and_verified() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--data", "data"]);
    fill(&server, 50);
    let endpoint = format!("http://{}", server.address);
    let taken = run(home, &["backup", "--endpoint", &endpoint, "--to", "my.backup"]);
    assert!(ends_with(&taken, 0).contains("my.backup: "));

    // An existing file is not replaced; in a directory, the backup is named after the time.
    let again = run(home, &["backup", "--endpoint", &endpoint, "--to", "my.backup"]);
    assert!(ends_with(&again, 2).contains("exists already"));
    fs::create_dir(home.join("backups")).unwrap();
    ends_with(
        &run(home, &["backup", "--endpoint", &endpoint, "--to", "backups"]),
        0,
    );
    let [name] = &names_in(&home.join("backups"))[..] else {
        panic!("one file");
    };
    assert!(
        name.starts_with("trestle-20") && name.ends_with(".backup"),
        "{name}"
    );

    // While the server runs, its directory can be neither verified nor backed up by another process.
    assert!(ends_with(&run(home, &["verify", "data"]), 3).contains("in use"));
    let busy = run(home, &["backup", "--data", "data", "--to", "x.backup"]);
    assert!(ends_with(&busy, 3).contains("--endpoint"));

    let restored = run(home, &["restore", "--from", "my.backup", "--data", "copy"]);
    let said = ends_with(&restored, 0);
    assert!(
        said.contains("everything agrees: 1 table with 50 items, 1 index with 50 rows"),
        "{said}"
    );
    assert!(ends_with(&run(home, &["verify", "copy"]), 0).contains("everything agrees"));
    assert_eq!(names_in(home), ["backups", "copy", "data", "my.backup"]);

    let copy = start(home, &["serve", "--port", "0", "--data", "copy"]);
    let item = copy.call("GetItem", r#"{"TableName":"orders","Key":{"pk":{"S":"49"}}}"#);
    assert!(item.contains(r#""g":{"N":"4"}"#), "{item}");
}

#[test]
fn a_stopped_database_is_backed_up_from_its_directory() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--data", "data"]);
    fill(&server, 5);
    assert_eq!(server.stop().0, Some(0));
    ends_with(&run(home, &["backup", "--data", "data", "--to", "b"]), 0);
    ends_with(&run(home, &["restore", "--from", "b", "--data", "copy"]), 0);
}

#[test]
fn a_server_with_keys_wants_the_request_signed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let keys = ["--access-key", "AKID", "--secret-key", "secret"];
    let server = start(
        home,
        &[&["serve", "--port", "0", "--in-memory"][..], &keys].concat(),
    );
    let endpoint = format!("http://{}", server.address);
    let ask = ["backup", "--endpoint", &endpoint, "--to", "b"];
    let without = trestle(home)
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY")
        .args(ask)
        .output()
        .unwrap();
    assert!(ends_with(&without, 1).contains("the server wants signed requests: give an access key"));
    assert_eq!(names_in(home), Vec::<String>::new(), "nothing half is left");
    ends_with(&run(home, &[&ask[..], &keys].concat()), 0);
    fs::remove_file(home.join("b")).unwrap();
    let from_environment = trestle(home)
        .env("AWS_ACCESS_KEY_ID", "AKID")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .args(ask)
        .output()
        .unwrap();
    ends_with(&from_environment, 0);
}

#[test]
fn a_bad_backup_is_refused_with_its_place_and_restores_nothing() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--in-memory"]);
    fill(&server, 20);
    let endpoint = format!("http://{}", server.address);
    ends_with(
        &run(home, &["backup", "--endpoint", &endpoint, "--to", "good"]),
        0,
    );
    let good = fs::read(home.join("good")).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    fs::write(home.join("bad"), flipped).unwrap();
    let said = ends_with(&run(home, &["restore", "--from", "bad", "--data", "new"]), 6);
    assert!(
        said.contains("damaged at byte") && said.contains("Nothing was restored"),
        "{said}"
    );
    fs::write(home.join("bad"), &good[..good.len() - 5]).unwrap();
    let said = ends_with(&run(home, &["restore", "--from", "bad", "--data", "new"]), 6);
    assert!(said.contains("ends too early"), "{said}");
    assert_eq!(names_in(home), ["bad", "good"]);

    fs::create_dir(home.join("full")).unwrap();
    fs::write(home.join("full/x"), b"").unwrap();
    let said = ends_with(&run(home, &["restore", "--from", "good", "--data", "full"]), 2);
    assert!(said.contains("is not empty"), "{said}");
    ends_with(&run(home, &["restore", "--from", "missing", "--data", "new"]), 1);
}

#[test]
fn a_directory_is_verified_without_a_trace_and_damage_is_told_with_file_and_way_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--data", "data"]);
    fill(&server, 5);
    assert_eq!(server.stop().0, Some(0));
    fs::remove_file(home.join("data/LOCK")).unwrap();
    let before = (names_in(&home.join("data")), names_in(&home.join("data/db")));
    let said = ends_with(&run(home, &["verify", "data", "--read-only"]), 0);
    assert!(said.contains("everything agrees: 1 table with 5 items"), "{said}");
    assert_eq!(
        (names_in(&home.join("data")), names_in(&home.join("data/db"))),
        before
    );

    let current = home.join("data/db/keyspaces/3/current");
    let mut bytes = fs::read(&current).unwrap();
    bytes[9] ^= 1;
    fs::write(&current, &bytes).unwrap();
    for flags in [&["verify", "data"][..], &["verify", "data", "--read-only"]] {
        let said = ends_with(&run(home, flags), 1);
        assert!(
            said.contains("data/db/keyspaces/3/current is damaged at byte 0"),
            "{said}"
        );
        assert!(
            said.contains("space items") && said.contains("trestle restore"),
            "{said}"
        );
    }
}

#[test]
fn what_cannot_be_reached_or_is_not_there_is_said() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let nobody = run(home, &["backup", "--endpoint", "http://127.0.0.1:1", "--to", "b"]);
    assert!(ends_with(&nobody, 1).contains("no server at http://127.0.0.1:1"));
    let nothing = run(home, &["backup", "--endpoint", "127.0.0.1:1", "--to", "b"]);
    assert!(ends_with(&nothing, 2).contains("begins with http:// or https://"));
    assert!(ends_with(&run(home, &["verify", "nothing"]), 1).contains("does not exist"));
    assert!(ends_with(&run(home, &["verify", "."]), 1).contains("no data directory"));
    assert_eq!(names_in(home), Vec::<String>::new());
}

#[test]
fn disagreements_are_printed_for_people_and_for_programs() {
    use trestle_store::{Batch, FjallStore, Settings, Space, Store};
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    {
        let store = FjallStore::open(home.join("data"), Settings::default()).unwrap();
        let mut batch = Batch::new();
        batch.put(Space::Items, b"\0\0\0\x09stray", b"");
        store.commit(batch).unwrap();
    }
    let said = ends_with(&run(home, &["verify", "data"]), 5);
    assert!(
        said.contains("items: no-owner: an item of a table that does not exist [items 00000009"),
        "{said}"
    );
    assert!(said.contains("1 disagreement:"), "{said}");
    let json = run(home, &["verify", "data", "--json"]);
    ends_with(&json, 5);
    let lines = String::from_utf8(json.stdout).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with(r#"{"disagreement":{"#) && lines[0].contains(r#""kind":"no-owner""#));
    assert!(lines[1].contains(r#""disagreements":1"#), "{}", lines[1]);
}

#[test]
fn the_size_of_blocks_is_chosen_when_a_directory_is_made_and_changed_by_a_restore() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(
        home,
        &["serve", "--port", "0", "--data", "data", "--block-kb", "32"],
    );
    fill(&server, 5);
    assert_eq!(server.stop().0, Some(0));
    assert!(ends_with(&run(home, &["verify", "data"]), 0).contains("blocks of 32 KiB"));
    let json = ends_with(&run(home, &["verify", "data", "--json"]), 0);
    assert!(json.contains(r#""block_kib":32"#), "{json}");

    let other = run(
        home,
        &["serve", "--port", "0", "--data", "data", "--block-kb", "4"],
    );
    let said = ends_with(&other, 1);
    assert!(
        said.contains("made with blocks of 32 KiB, and blocks of 4 KiB"),
        "{said}"
    );
    let unknown = run(
        home,
        &["serve", "--port", "0", "--data", "new", "--block-kb", "5"],
    );
    assert!(ends_with(&unknown, 2).contains("choose 4, 8, 16, 32 or 64"));
    assert!(!home.join("new").exists());

    ends_with(&run(home, &["backup", "--data", "data", "--to", "my.backup"]), 0);
    let restore = [
        "restore",
        "--from",
        "my.backup",
        "--data",
        "copy",
        "--block-kb",
        "4",
    ];
    assert!(ends_with(&run(home, &restore), 0).contains("blocks of 4 KiB"));
}
