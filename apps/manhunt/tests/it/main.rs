//! Every acceptance point of the application, on a clock that only the tests move.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod answers;
mod channels;
mod earlier;
mod http;
mod hunts;
mod isolation;
mod many;
mod people;
mod program;
mod queries;
mod retries;
mod smtp;
mod support;
