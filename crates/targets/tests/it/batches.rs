//! Batches to deliver, and targets opened from the text of a route file.

use serde_json::{Value, json};
use std::sync::Arc;
use trestle_env::{Timestamp, VirtualClock};
use trestle_events::{Batch, Change, ChangeEvent, Delivery, Destination, Target};
use trestle_item::Item;
use trestle_targets::{Fault, Surroundings};

/// 2026-11-15T08:00:00Z.
pub(crate) const NOW_S: u64 = 1_794_729_600;

pub(crate) fn surroundings() -> Surroundings {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(NOW_S)));
    Surroundings::with_variables(clock, |name| {
        let value = match name {
            "HOOK_SECRET" => "whsec",
            "AWS_ACCESS_KEY_ID" => "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY" => "hush",
            "AWS_SESSION_TOKEN" => "session",
            "AWS_REGION" => "eu-west-2",
            _ => return None,
        };
        Some(value.to_owned())
    })
}

pub(crate) fn open(destination: Value) -> Arc<dyn Target> {
    try_open(destination, &surroundings()).unwrap()
}

pub(crate) fn try_open(
    destination: Value,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Target>, Vec<Fault>> {
    let Value::Object(destination) = destination else {
        panic!("a destination is a table: {destination}");
    };
    trestle_targets::open(&Destination(destination), surroundings)
}

/// Changes `r/0`, `r/1`, …, each of a different item.
pub(crate) fn batch(count: usize) -> Batch {
    let keys: Vec<String> = (0..count).map(|number| format!("item {number}")).collect();
    batch_of(&keys.iter().map(String::as_str).collect::<Vec<_>>())
}

/// One change for each key, in this order.
pub(crate) fn batch_of(keys: &[&str]) -> Batch {
    Batch {
        route: "r".into(),
        deliveries: keys
            .iter()
            .enumerate()
            .map(|(number, key)| delivery(number, key))
            .collect(),
    }
}

fn delivery(number: usize, key: &str) -> Delivery {
    let change = Change {
        table: "klayers".into(),
        entity: Some("layer".into()),
        event: ChangeEvent::Expire,
        maintenance: None,
        keys: Item::from([("pk", key)]),
        former_keys: None,
        old: None,
        new: None,
        changed: Vec::new(),
        event_id: number.to_string(),
        sequence: number.to_string(),
        shard: "shard".into(),
        at: Timestamp::from_secs(NOW_S),
    };
    let input = json!({"number": number, "key": key});
    Delivery::new(format!("r/{number}"), change, 1, input)
}
