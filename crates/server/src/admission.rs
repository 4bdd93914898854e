//! What a request needs before work is done for it: memory.
//!
//! One budget of bytes is split in two halves. How long [`HeldMemory`] is held depends on clients: bodies
//! that are still arriving, small requests under way, and answers that are not read yet. How long
//! [`WorkMemory`] is held depends only on this server: large requests while they are decoded and executed.
//! Because no client can delay that work, a wait for its memory ends, and a body that has arrived is refused
//! only after the full time of waiting.
//!
//! A request waits for a while, and is then refused with DynamoDB's throttling error, which SDKs repeat.
//! Clients that hold memory without using it count as slow (see [`pace`]), and their connections are closed
//! when others wait.
//!
//! On HTTP/1.1, requests and answers of up to [`FREE_BYTES`] are not counted: a connection has one of each.

mod connection_memory;
mod counted_io;
mod held;
mod lease;
pub(crate) mod pace;
mod turn;
mod waiting;
mod work;

pub(crate) use connection_memory::{ConnectionMemory, LARGE_ANSWER_BYTES};
pub(crate) use counted_io::CountedIo;
pub(crate) use held::{HeldMemory, Share};
pub(crate) use lease::{Lease, LeasedBytes};
pub(crate) use turn::{Effort, ExecutionTurn, NoTurn};
pub(crate) use work::{Processor, WorkMemory, is_apart, on_own_thread};

use crate::settings::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A request or answer of this size is part of the cost of a connection.
pub(crate) const FREE_BYTES: usize = 4 * 1024;

/// A body of up to so many bytes is small: it can use a share that is closed to larger ones.
pub(crate) const SMALL_BODY_BYTES: usize = 64 * 1024;

/// The memory of a small request while it is executed, in bytes for each byte of its body.
const SMALL_REQUEST_FACTOR: usize = 8;

/// The budget, and the counts of requests that needed part of it.
pub(crate) struct Admission {
    pub(crate) held: HeldMemory,
    pub(crate) work: WorkMemory,
    pub(crate) counts: AdmissionCounts,
}

/// Requests refused and connections closed because of memory.
#[derive(Default)]
pub(crate) struct AdmissionCounts {
    throttled: AtomicU64,
    slow_bodies: AtomicU64,
    slow_readers: AtomicU64,
}

/// No memory became free in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Throttled;

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let half = limits.memory_bytes_max / 2;
        Arc::new(Admission {
            held: HeldMemory::new(half, limits.admission),
            work: WorkMemory::new(half),
            counts: AdmissionCounts::default(),
        })
    }

    /// The whole budget.
    pub(crate) fn bytes_max(&self) -> usize {
        self.held.bytes_max() + self.work.bytes_max()
    }
}

/// The memory of a small request while it is executed: its body, its values, and what is staged for the
/// commit.
pub(crate) fn small_request_cost(body_bytes: usize) -> usize {
    body_bytes * SMALL_REQUEST_FACTOR
}

impl AdmissionCounts {
    /// Counts a request that was refused.
    pub(crate) fn throttle(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a body that arrived too slowly.
    pub(crate) fn give_up_body(&self) {
        self.slow_bodies.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was closed because its answers were not read.
    pub(crate) fn give_up_reader(&self) {
        self.slow_readers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn throttled(&self) -> u64 {
        self.throttled.load(Ordering::Relaxed)
    }

    pub(crate) fn slow_bodies(&self) -> u64 {
        self.slow_bodies.load(Ordering::Relaxed)
    }

    pub(crate) fn slow_readers(&self) -> u64 {
        self.slow_readers.load(Ordering::Relaxed)
    }
}
