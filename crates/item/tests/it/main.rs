//! What every other crate relies on: exact numbers, ordered keys, a total codec and DynamoDB's JSON.

#![allow(
    clippy::unwrap_used,
    reason = "The exemption for tests does not reach their helpers in a test crate."
)]

mod codec;
mod generate;
mod items;
mod json;
mod key;
mod number;
mod oracle;
mod plain;
mod size;
mod value;
