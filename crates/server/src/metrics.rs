//! Counters in CloudWatch's terms, for Prometheus to scrape.
//!
//! Counting is a handful of relaxed atomic additions per request; formatting is done when the page is
//! requested.

pub(crate) mod admission;
pub(crate) mod faults;
pub(crate) mod gateway;
mod histogram;
pub(crate) mod history;
pub(crate) mod migrations;
pub(crate) mod reindexes;
mod render;
pub(crate) mod routes;
pub(crate) mod storage;
mod usage;

pub(crate) use usage::Usage;

use histogram::Histogram;
use history::History;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{Error, ErrorKind, OperationName, for_each_operation};
use trestle_queue::for_each_queue_operation;
use trestle_queue::sqs::QueueOperation;

/// What the server has done since it started.
pub(crate) struct Metrics {
    started: Instant,
    connections_open: AtomicI64,
    connections_accepted: AtomicU64,
    refused_requests: AtomicU64,
    pub(crate) operations: Operations,
    pub(crate) queue_operations: QueueOperations,
    pub(crate) history: History,
}

macro_rules! define_operations {
    ($($family:ident $operation:ident $output:ident $method:ident,)*) => {
        /// The counters of each operation on tables.
        #[derive(Default)]
        pub(crate) struct Operations {
            $($method: OperationMetrics,)*
        }

        impl Operations {
            pub(crate) fn of(&self, operation: OperationName) -> &OperationMetrics {
                match operation {
                    $(OperationName::$operation => &self.$method,)*
                }
            }
        }
    };
}

macro_rules! define_queue_operations {
    ($($operation:ident $method:ident,)*) => {
        /// The counters of each operation on queues.
        #[derive(Default)]
        pub(crate) struct QueueOperations {
            $($method: OperationMetrics,)*
        }

        impl QueueOperations {
            pub(crate) fn of(&self, operation: QueueOperation) -> &OperationMetrics {
                match operation {
                    $(QueueOperation::$operation => &self.$method,)*
                }
            }
        }
    };
}

for_each_operation!(define_operations);
for_each_queue_operation!(define_queue_operations);

/// Counters of one operation.
#[derive(Default)]
pub(crate) struct OperationMetrics {
    successful_latency: Histogram,
    user_errors: AtomicU64,
    system_errors: AtomicU64,
    conditional_check_failed: AtomicU64,
    transaction_conflict: AtomicU64,
    throttled: AtomicU64,
    returned_items: AtomicU64,
    consumed_read: FractionCounter,
    consumed_write: FractionCounter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Metrics {
            started: Instant::now(),
            connections_open: AtomicI64::new(0),
            connections_accepted: AtomicU64::new(0),
            refused_requests: AtomicU64::new(0),
            operations: Operations::default(),
            queue_operations: QueueOperations::default(),
            history: History::default(),
        }
    }

    /// Counts a connection while the returned value exists.
    pub(crate) fn connection(&self) -> OpenConnection<'_> {
        self.connections_accepted.fetch_add(1, Ordering::Relaxed);
        self.connections_open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(self)
    }

    /// Counts a request that was refused before it became an operation: too large, unsigned, unknown.
    pub(crate) fn refused(&self) {
        self.refused_requests.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection that is counted as open.
pub(crate) struct OpenConnection<'a>(&'a Metrics);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OperationMetrics {
    pub(crate) fn succeeded(&self, latency: Duration, usage: &Usage) {
        self.successful_latency.record(latency);
        if usage.returned_items > 0 {
            self.returned_items
                .fetch_add(usage.returned_items, Ordering::Relaxed);
        }
        self.consumed_read.add(usage.read_units);
        self.consumed_write.add(usage.write_units);
    }

    /// Counts an operation that uses no capacity.
    pub(crate) fn answered(&self, latency: Duration) {
        self.successful_latency.record(latency);
    }

    /// Counts an invalid request.
    pub(crate) fn failed_by_caller(&self) {
        self.user_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that failed because of the server.
    pub(crate) fn failed_by_us(&self) {
        self.system_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Failed checks and lost races are counted separately and, as in CloudWatch, not as user errors.
    pub(crate) fn failed(&self, error: &Error) {
        let counter = match error.kind() {
            ErrorKind::ConditionalCheckFailed => &self.conditional_check_failed,
            ErrorKind::TransactionCanceled => return self.canceled(error),
            ErrorKind::TransactionConflict => &self.transaction_conflict,
            ErrorKind::ProvisionedThroughputExceeded | ErrorKind::Throttling => &self.throttled,
            ErrorKind::InternalServerError => &self.system_errors,
            _ => &self.user_errors,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// One transaction can fail several checks and lose several races.
    fn canceled(&self, error: &Error) {
        for reason in error.reasons() {
            let counter = match reason.code.as_str() {
                "ConditionalCheckFailed" => &self.conditional_check_failed,
                "TransactionConflict" => &self.transaction_conflict,
                _ => continue,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.user_errors.fetch_add(1, Ordering::Relaxed);
    }
}

/// A sum of fractions. Capacity is in halves of a unit, so tenths are exact.
#[derive(Default)]
struct FractionCounter {
    tenths: AtomicU64,
}

impl FractionCounter {
    fn add(&self, amount: f64) {
        if amount > 0.0 {
            self.tenths
                .fetch_add((amount * 10.0).round() as u64, Ordering::Relaxed);
        }
    }

    fn sum(&self) -> f64 {
        self.tenths.load(Ordering::Relaxed) as f64 / 10.0
    }
}
