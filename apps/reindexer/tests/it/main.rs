//! The numbered acceptance points of the system, each by a test named after it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod checks;
mod http;
mod indexing;
mod killed;
mod segments;
mod shards;
mod status;
mod support;
mod transforming;
