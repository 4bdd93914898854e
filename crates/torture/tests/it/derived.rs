//! Derived data stays exact: heads, unique values, entries, counters, inverses and copies, including those in
//! the background, while rows expire with the server down, clients write while constraints are added and
//! dropped, and the server is killed at any time.

mod copied;
mod expiry;
mod fill;
mod oracle;
mod rounds;
mod version;
mod writer;

use oracle::Rows;
use serde_json::json;
use std::time::{Duration, Instant};
use trestle_torture::audit::all;
use trestle_torture::http::Client;
use version::Version;

const PATIENCE: Duration = Duration::from_secs(60);
/// Effects with rows of their own, and the tag of those.
const OWN_ROWS: [(&str, &str); 3] = [
    ("head", "doc.head"),
    ("unique", "doc.unique.body"),
    ("entries", "doc.entries.words"),
];

/// Compares all rows of a version's table with the oracle, once the copies in the background have been
/// updated.
fn check(client: &mut Client, version: &Version) {
    wait_until_copied(client);
    let scan = json!({"TableName": version.table(), "ConsistentRead": true});
    let rows = all(client, "Scan", &scan);
    Rows::new(version, rows).check();
}

/// A copy note is removed when its copies have been updated.
fn wait_until_copied(client: &mut Client) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let scan = client.call(
            "Scan",
            &json!({"TableName": "_trestle.copies", "ConsistentRead": true}),
        );
        let notes = scan.unwrap();
        // The table is made for the first model that has such copies.
        if notes.error() == "ResourceNotFoundException" || notes.body["Count"] == 0 {
            return;
        }
        assert_eq!(notes.status, 200, "{}", notes.body);
        assert!(Instant::now() < deadline, "copies do not follow: {}", notes.body);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Rows of effects that were dropped are removed in the background.
fn wait_until_cleared(client: &mut Client, version: &Version) {
    let deadline = Instant::now() + PATIENCE;
    for (effect, kind) in OWN_ROWS {
        let scan = json!({
            "TableName": version.table(), "ConsistentRead": true, "FilterExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": kind}},
        });
        while !version.has(effect) && !all(client, "Scan", &scan).is_empty() {
            assert!(Instant::now() < deadline, "rows of {effect} stay");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
