//! Deleting a collection: in steps, with the derived rows, and no others.
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
