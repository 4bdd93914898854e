//! A data directory of the previous version is opened with everything in it.
//!
//! `tests/fixtures/data-0.1.0` was written once, by `trestle serve` of version 0.1.0: a model with a route to
//! a queue, three customers with ten orders each, three of them paid, and a table without a model. It was
//! stopped with SIGTERM and is never changed.

use crate::running::{Running, rest, run, start};
use std::fs;
use std::path::Path;

/// The keyspaces whose folder of tables is empty, which version control does not keep.
const WITHOUT_TABLES: std::ops::RangeInclusive<u8> = 1..=6;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A home with the directory of 0.1.0 as `data`.
fn home_of_0_1_0() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data-0.1.0");
    copy(&fixture, &home.path().join("data"));
    for keyspace in WITHOUT_TABLES {
        fs::create_dir_all(home.path().join(format!("data/db/keyspaces/{keyspace}/tables"))).unwrap();
    }
    home
}

fn counted(server: &Running, operation: &str, request: &str) -> String {
    let answer = server.call(operation, request);
    let count = answer
        .split(r#""Count":"#)
        .nth(1)
        .and_then(|rest| rest.split([',', '}']).next());
    count.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn a_directory_of_0_1_0_agrees_with_itself() {
    let home = home_of_0_1_0();
    let verified = run(home.path(), &["verify", "data"]);
    let said = String::from_utf8_lossy(&verified.stdout);
    assert_eq!(verified.status.code(), Some(0), "{said}");
    assert!(said.starts_with("everything agrees: 4 tables"), "{said}");
    assert!(
        said.contains("1 index with 30 rows") && said.contains("1 model with 36 rows"),
        "{said}"
    );
}

#[test]
fn a_directory_of_0_1_0_is_served_with_its_rows_model_route_and_queue() {
    let home = home_of_0_1_0();
    let server = start(home.path(), &["serve", "--port", "0", "--data", "data"]);
    let all = r#"{"TableName":"shop","Select":"COUNT"}"#;
    assert_eq!(counted(&server, "Scan", all), "36");
    assert_eq!(counted(&server, "Scan", &all.replace("shop", "notes")), "20");
    let paid = r#"{"TableName":"shop","IndexName":"by_status","KeyConditionExpression":"status_key = :s",
        "ExpressionAttributeValues":{":s":{"S":"paid"}}}"#;
    assert_eq!(counted(&server, "Query", paid), "3");

    // The model is enforced: Ada's address belongs to one customer.
    let second = r#"{"TableName":"shop","Item":{"kind":{"S":"customer"},"customer":{"S":"countess"},"name":{"S":"Ada"},
        "email":{"S":"ada@example.org"}}}"#;
    let refused = server.call("PutItem", second);
    assert!(refused.contains("400 Bad Request"), "{refused}");

    // The route continues at its position: a new order becomes a message.
    let order = r#"{"TableName":"shop","Item":{"kind":{"S":"order"},"customer":{"S":"ada"},"number":{"N":"11"},
        "placed":{"S":"2024-05-02T08:00:00.000Z"},"cents":{"N":"4711"}}}"#;
    let put = server.call("PutItem", order);
    assert!(put.contains("200 OK"), "{put}");
    assert!(has_message_with(&server, "4711"), "no message for the new order");
    assert_eq!(server.stop().0, Some(0));
}

/// Takes messages until one has this text or there are none. Older ones may have expired since the directory was written.
fn has_message_with(server: &Running, text: &str) -> bool {
    let receive =
        r#"{"QueueUrl":"http://h/000000000000/to-pack","WaitTimeSeconds":10,"MaxNumberOfMessages":10}"#;
    loop {
        let answer = rest(server.begin("AmazonSQS.ReceiveMessage", receive));
        assert!(answer.contains("200 OK"), "{answer}");
        if answer.contains(text) || answer.ends_with("{}") {
            return answer.contains(text);
        }
    }
}
