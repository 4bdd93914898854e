//! The types of the API compared with DynamoDB's: names, and bodies as they are sent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod answers;
mod database;
mod requests;
mod shapes;
