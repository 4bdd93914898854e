//! Everything derived stays exact: heads, unique values, counters, inverses and copies, whatever expires while the server
//! is down, whoever writes while constraints come and go, and whenever the server is killed.

mod expiry;
mod fill;
mod oracle;
mod rounds;
mod version;
mod writer;

use oracle::Rows;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use trestle_torture::audit::all;
use trestle_torture::http::Client;
use version::Version;

/// Sets a flag when it goes, so that a check that fails does not leave threads behind that wait for it.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Holds all rows of a version's table against the oracle.
fn check(client: &mut Client, version: &Version) {
    let scan = json!({"TableName": version.table(), "ConsistentRead": true});
    let rows = all(client, "Scan", &scan);
    Rows::new(version, rows).check();
}
