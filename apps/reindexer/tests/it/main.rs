//! The numbered acceptance points of the system, each by a test named after it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod checks;
#[allow(dead_code, reason = "the program itself is not run here")]
#[path = "../../examples/demo.rs"]
mod demo;
mod http;
mod indexing;
mod killed;
mod segments;
mod shards;
mod status;
mod support;
mod transforming;
