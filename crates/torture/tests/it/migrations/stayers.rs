//! Rows that are not written after the beginning: whatever moves, every list has each of them once.

use super::layout::Layout;
use super::layout::{Id, TABLE, content, merge, n, placed};
use super::writer::{COUNTED, COUNTERS, Rows};
use serde_json::{Value, json};
use trestle_torture::http::Client;
use trestle_torture::workload::succeed;

/// Names with a common beginning: a list of one contains nothing of the other.
pub(super) const DEPOTS: &[&str] = &["d1", "d10", "d1-2"];
pub(super) const CUSTOMERS: &[&str] = &["s", "s-2"];
pub(super) const REGIONS: &[&str] = &["eu", "eu-2"];
pub(super) const PRODUCT: &str = "s";
pub(super) const DEVICE: &str = "s";
pub(super) const MEMBERS: u64 = 8;
/// Enough that numbers sort differently when they are not padded.
pub(super) const EACH: u64 = 12;

/// The address of a member that stays.
pub(super) fn email(member: u64) -> String {
    format!("s{member}@example.org")
}

/// All of them.
pub(super) fn all() -> Rows {
    let mut rows = Rows::new();
    let mut add = |id: Id, more: Value| {
        let mut content = id.attributes();
        merge(&mut content, more);
        rows.insert(id, content);
    };
    for number in 1..=EACH {
        for depot in DEPOTS {
            for customer in CUSTOMERS {
                add(
                    Id::parcel(depot, customer, number),
                    json!({"n": n(number), "state": {"S": state(number)}}),
                );
            }
            let note = Id::Note {
                depot: (*depot).to_owned(),
                id: format!("note{number}"),
            };
            add(note, json!({"n": n(number)}));
        }
        for region in REGIONS {
            let release = Id::release(region, PRODUCT, number);
            add(
                release,
                json!({"arn": {"S": format!("arn:{number}")}, "status": {"S": status(number)}}),
            );
        }
        add(Id::reading(DEVICE, number), json!({"n": n(number)}));
        // As wide as the padding: these do not move.
        add(Id::reading(DEVICE, 100_000 + number), json!({"n": n(number)}));
    }
    for member in 0..MEMBERS {
        let id = format!("s{member}");
        add(
            Id::member(&id),
            json!({"n": n(member), "email": {"S": email(member)}}),
        );
    }
    rows
}

pub(super) fn state(number: u64) -> &'static str {
    if number.is_multiple_of(2) { "open" } else { "sent" }
}

pub(super) fn status(version: u64) -> &'static str {
    if version == EACH { "latest" } else { "deprecated" }
}

/// Writes them, and the counters, so many in one request. A gateway makes the writes of a batch in any order, and releases are not the
/// same then.
pub(super) fn write(client: &mut Client, layout: Layout, at_once: usize) {
    let counters = (0..COUNTERS).map(|number| {
        let mut counter = Id::parcel("d1", COUNTED, number).attributes();
        merge(&mut counter, json!({"n": n(0), "state": {"S": "open"}}));
        counter
    });
    let rows: Vec<Value> = all().into_values().chain(counters).collect();
    for rows in rows.chunks(at_once) {
        let puts: Vec<Value> = rows
            .iter()
            .map(|row| {
                let mut row = placed(&content(row), layout);
                row.as_object_mut().unwrap().remove("status");
                json!({"PutRequest": {"Item": row}})
            })
            .collect();
        let answer = succeed(client, "BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
        assert_eq!(answer["UnprocessedItems"], json!({}));
    }
}
