//! From bytes to requests or DynamoDB's exact refusals; answers and errors in both directions.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod acceptances;
mod arbitrary_bytes;
mod refusals;
mod round_trips;
