//! Tests of the router on an embedded database and a clock that only the tests advance.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod backfill;
mod crashes;
mod damaged_rows;
mod dead_letters;
mod delivery;
mod failures;
mod files;
mod isolation;
mod lag;
mod layouts;
mod live_changes;
mod moves;
mod order;
mod outages;
mod queues;
mod room;
mod scanned_rows;
mod shards;
mod storm;
mod support;
mod tail;
mod touches;
