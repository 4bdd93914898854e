//! Queues on the embedded engine and a clock that only the test advances: random operations compared with a
//! naive oracle, waiting, restarts, dead letters, and messages as part of another transaction.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod batches;
mod damaged_rows;
mod dead_letters;
mod enlisting;
mod fifo;
mod messages;
mod oracle;
mod queues;
mod restart;
mod support;
mod waiting;
mod wire;
mod worker;
