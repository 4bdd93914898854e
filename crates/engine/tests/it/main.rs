//! Tests of the engine through its public interface: random operations compared with a naive oracle, paging,
//! keys, concurrency, transactions, streams and the life of tables.
//!
//! Environment variables:
//!
//! - `TRESTLE_TEST_ROUNDS`: rounds of each randomised test (default: a few seconds' worth). Try `500`.
//! - `TRESTLE_TEST_SEED`: the first round's seed, as a failing run printed it. Round *n* uses seed + *n*.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod amend;
mod backup;
mod batch_reads;
mod concurrency;
mod counts;
mod expiry;
mod former;
mod holds;
mod hook;
mod model;
mod oracle;
mod paging;
mod pause_writes;
mod row_pages;
mod segments;
mod separators;
mod shards;
mod statements;
mod storage_reads;
mod streams;
mod support;
mod tables;
mod touch;
mod transactions;
mod upgrade;
mod verify;
