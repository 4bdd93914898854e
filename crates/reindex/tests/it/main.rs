//! Reindexes over real engines in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod background;
mod claims;
mod faults;
mod gaps;
mod kills;
mod large_partitions;
mod leases;
mod preparing;
mod resume;
mod scopes;
mod support;
mod touches;
mod yielding;
