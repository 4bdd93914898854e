//! A batch in the form for receivers.

use serde::Serialize;
use serde_json::Value;
use trestle_events::{Batch, Delivery};
use trestle_sigv4::sha256;

/// One record to be delivered.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    /// The idempotency key, and the name of the record in partial results.
    id: &'a str,
    attempt: u32,
    /// The change, or the result of the route's template.
    input: &'a Value,
}

impl<'a> Record<'a> {
    pub(crate) fn of(delivery: &'a Delivery) -> Self {
        Record {
            id: &delivery.id,
            attempt: delivery.attempt,
            input: delivery.input(),
        }
    }
}

/// A name for the batch: the same records in the same order have the same name.
pub(crate) fn name(batch: &Batch) -> String {
    let ids: Vec<&str> = batch
        .deliveries
        .iter()
        .map(|delivery| delivery.id.as_str())
        .collect();
    let mut name = sha256(ids.join("\n").as_bytes());
    name.truncate(32);
    name
}
