//! A batch as others read it.

use serde::Serialize;
use serde_json::Value;
use trestle_events::{Batch, Delivery};
use trestle_sigv4::sha256;

/// One record on its way.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    /// The idempotency key, and the name of the record in partial results.
    id: &'a str,
    attempt: u32,
    /// The change, or what the route's template made of it.
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

/// A name for the batch: the same records in the same order have the same.
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
