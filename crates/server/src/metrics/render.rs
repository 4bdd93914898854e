//! The text format of Prometheus.

use super::histogram::BOUNDS_US;
use super::{Metrics, OperationMetrics};
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use trestle_api::OperationName;
use trestle_queue::sqs::QueueOperation;

impl Metrics {
    /// All metrics in the Prometheus text format. Operations that were never called are left out.
    pub(crate) fn render(&self) -> String {
        let mut page = Page::default();
        let started = self.started.elapsed().as_secs_f64();
        page.single(
            "uptime_seconds",
            "gauge",
            "Time since the server started.",
            started,
        );
        let open = self.connections_open.load(Ordering::Relaxed);
        page.single("connections_open", "gauge", "Connections open now.", open);
        let accepted = self.connections_accepted.load(Ordering::Relaxed);
        page.single(
            "connections_accepted_total",
            "counter",
            "Connections accepted.",
            accepted,
        );
        let refused = self.refused_requests.load(Ordering::Relaxed);
        page.single(
            "refused_requests_total",
            "counter",
            "Requests refused before they became an operation: too large, not signed, unknown.",
            refused,
        );
        self.render_operations(&mut page);
        page.0
    }

    fn render_operations(&self, page: &mut Page) {
        let of_tables = OperationName::ALL
            .iter()
            .map(|name| (name.as_str(), self.operations.of(*name)));
        let of_queues = QueueOperation::ALL
            .iter()
            .map(|name| (name.as_str(), self.queue_operations.of(*name)));
        let mut operations: Vec<_> = of_tables.chain(of_queues).collect();
        operations.sort_by_key(|(name, _)| *name);
        page.latencies(&operations);
        for (name, help, counter) in COUNTERS {
            page.head(name, "counter", help);
            for (operation, metrics) in &operations {
                page.sample(name, operation, counter(metrics));
            }
        }
    }
}

/// One counter of an operation: its name, its help, and its value.
type Counter = (&'static str, &'static str, fn(&OperationMetrics) -> f64);

const COUNTERS: [Counter; 8] = [
    (
        "returned_item_count_total",
        "CloudWatch ReturnedItemCount.",
        |m| whole(&m.returned_items),
    ),
    (
        "consumed_read_capacity_units_total",
        "CloudWatch ConsumedReadCapacityUnits, of requests that asked for ReturnConsumedCapacity.",
        |m| m.consumed_read.sum(),
    ),
    (
        "consumed_write_capacity_units_total",
        "CloudWatch ConsumedWriteCapacityUnits, of requests that asked for ReturnConsumedCapacity.",
        |m| m.consumed_write.sum(),
    ),
    (
        "conditional_check_failed_requests_total",
        "CloudWatch ConditionalCheckFailedRequests.",
        |m| whole(&m.conditional_check_failed),
    ),
    (
        "transaction_conflict_total",
        "CloudWatch TransactionConflict.",
        |m| whole(&m.transaction_conflict),
    ),
    ("throttled_requests_total", "CloudWatch ThrottledRequests.", |m| {
        whole(&m.throttled)
    }),
    ("user_errors_total", "CloudWatch UserErrors.", |m| {
        whole(&m.user_errors)
    }),
    ("system_errors_total", "CloudWatch SystemErrors.", |m| {
        whole(&m.system_errors)
    }),
];

fn whole(counter: &AtomicU64) -> f64 {
    counter.load(Ordering::Relaxed) as f64
}

/// The page being written. Writing to a string cannot fail, so the results of `write!` are dropped.
#[derive(Default)]
pub(super) struct Page(pub(super) String);

impl Page {
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(
            self.0,
            "# HELP trestle_{name} {help}\n# TYPE trestle_{name} {kind}"
        );
    }

    pub(super) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "trestle_{name} {value}");
    }

    pub(super) fn sample(&mut self, name: &str, operation: &str, value: f64) {
        if value != 0.0 {
            self.labelled(name, "operation", operation, value);
        }
    }

    pub(super) fn labelled(&mut self, name: &str, label: &str, of: &str, value: f64) {
        self.line(name, &format!("{label}=\"{of}\""), value);
    }

    pub(super) fn line(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "trestle_{name}{{{labels}}} {value}");
    }

    fn latencies(&mut self, operations: &[(&str, &OperationMetrics)]) {
        let name = "successful_request_latency_seconds";
        self.head(name, "histogram", "CloudWatch SuccessfulRequestLatency.");
        for (operation, metrics) in operations {
            let snapshot = metrics.successful_latency.snapshot();
            if snapshot.count == 0 {
                continue;
            }
            let label = format!("operation=\"{operation}\"");
            for (bound_us, count) in BOUNDS_US.iter().zip(snapshot.at_most) {
                let bound_s = *bound_us as f64 / 1e6;
                let _ = writeln!(
                    self.0,
                    "trestle_{name}_bucket{{{label},le=\"{bound_s}\"}} {count}"
                );
            }
            let _ = writeln!(
                self.0,
                "trestle_{name}_bucket{{{label},le=\"+Inf\"}} {}",
                snapshot.count
            );
            let _ = writeln!(self.0, "trestle_{name}_sum{{{label}}} {}", snapshot.sum_s);
            let _ = writeln!(self.0, "trestle_{name}_count{{{label}}} {}", snapshot.count);
        }
    }
}
