//! Everything derived stays exact: heads, unique values, entries, counters, inverses and copies, also those that follow in the
//! background, whatever expires while the server is down, whichever client writes while constraints come and go, and whenever the
//! server is killed.

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

/// Holds all rows of a version's table against the oracle, once the copies that follow in the background have.
fn check(client: &mut Client, version: &Version) {
    wait_until_copied(client);
    let scan = json!({"TableName": version.table(), "ConsistentRead": true});
    let rows = all(client, "Scan", &scan);
    Rows::new(version, rows).check();
}

/// A copy note goes when its copies have followed.
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

/// Rows of effects that were dropped go in the background.
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
