//! Deleting a collection: in steps, with what follows from its rows, and nothing besides.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod access;
mod derived;
mod migration;
mod partition;
mod refused;
mod resumed;
mod support;
