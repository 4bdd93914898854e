//! Bytes in, requests or DynamoDB's exact refusals out; answers and errors there and back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod acceptances;
mod arbitrary_bytes;
mod refusals;
mod round_trips;
