//! Every acceptance point of the application, on a clock that only the tests move.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod channels;
mod http;
mod hunts;
mod isolation;
mod many;
mod program;
mod queries;
mod support;
