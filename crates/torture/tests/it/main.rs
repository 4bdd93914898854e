//! Tests that mistreat Trestle. `./test crash` runs the same tests with many more rounds.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod absences;
mod abuse;
mod backfills;
mod clock_jumps;
mod copies;
mod crash;
mod damage;
mod derived;
mod failing_disk;
mod floods;
mod gateways;
mod large_values;
mod linearizable;
mod migrations;
mod models;
mod moves;
mod power_cut;
mod power_cut_device;
mod queues;
mod reindexes;
mod routes;
mod soak;
mod targets;

use std::sync::atomic::{AtomicBool, Ordering};

/// How many rounds a test runs: a few by default, more if the variable is set.
fn rounds(variable: &str, default: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.map_or(default, |rounds| rounds.parse().unwrap())
}

/// Differs from run to run; printed, so that a failure can be reproduced.
fn seed() -> u64 {
    let seed = std::env::var("TORTURE_SEED").ok();
    let seed = seed.map_or_else(|| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("TORTURE_SEED={seed}");
    seed
}

/// Sets a flag when it is dropped, so that a failing check does not leave waiting threads.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
