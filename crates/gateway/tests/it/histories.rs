//! Histories at an endpoint: rows that a change only reads are not part of its transaction.

use std::sync::Arc;

use serde_json::json;
use trestle_api::Database;
use trestle_env::Clock;
use trestle_item::{AttributeValue, Item};

use crate::several_gateways::put;
use crate::support::{clock, endpoint, gateway_with, rows};

const RELEASES: &str = r##"
model = "releases"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.release]
table = "rows"
key = { pk = "head#{name}", sk = "release" }
attributes = { name = "string", version = "integer" }
[entity.release.history]
of = "version"
key.sk = "move#{moved}"
previous = { from = "version" }
keep = 120
"##;

#[test]
fn a_row_changes_more_often_than_a_transaction_has_rows() {
    let clock = clock();
    let remote = endpoint(Arc::clone(&clock) as Arc<dyn Clock>);
    let gateway = gateway_with(RELEASES, Arc::clone(&remote) as Arc<dyn Database>, clock);
    for version in 1..=130 {
        put(
            &gateway,
            &json!({"kind": "release", "name": "p", "version": version}),
        );
    }
    let mut kept = rows(&*remote, "rows");
    kept.retain(|row| row.get("kind") == Some(&"release.history".into()));
    kept.sort_by_key(|row| row.get("sk").and_then(AttributeValue::as_s).map(str::to_owned));
    let number = |row: &Item, name: &str| {
        row.get(name)
            .and_then(AttributeValue::as_n)
            .map(|n| n.to_string())
    };
    let moves: Vec<_> = kept
        .iter()
        .map(|row| (number(row, "from"), number(row, "version")))
        .collect();
    let text = |version: u32| Some(version.to_string());
    let newest: Vec<_> = (11..=130)
        .map(|version| (text(version - 1), text(version)))
        .collect();
    assert_eq!(moves, newest);
}
