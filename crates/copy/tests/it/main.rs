//! Copies between databases in this process: what is copied, followed, compared and refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod comparing;
mod cutting_over;
mod following;
mod support;
mod tables;
