//! Latencies in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in microseconds; slower requests are in one more bucket without a bound.
pub(super) const BOUNDS_US: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
];

/// The distribution of requests by duration.
#[derive(Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

/// A histogram at one moment.
pub(super) struct Snapshot {
    /// Requests at or below each bound, cumulative as Prometheus requires.
    pub(super) at_most: [u64; BOUNDS_US.len()],
    pub(super) count: u64,
    pub(super) sum_s: f64,
}

impl Histogram {
    pub(super) fn record(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < micros);
        if let Some(counter) = self.buckets.get(bucket) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let mut count = 0;
        let mut at_most = [0; BOUNDS_US.len()];
        for (bucket, counter) in self.buckets.iter().enumerate() {
            count += counter.load(Ordering::Relaxed);
            if let Some(slot) = at_most.get_mut(bucket) {
                *slot = count;
            }
        }
        Snapshot {
            at_most,
            count,
            sum_s: self.sum_us.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lands_at_and_above_its_bound() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_micros(50));
        histogram.record(Duration::from_micros(51));
        histogram.record(Duration::from_secs(60));
        let snapshot = histogram.snapshot();
        assert_eq!(snapshot.at_most[..3], [1, 2, 2]);
        assert_eq!(snapshot.at_most.last(), Some(&2));
        assert_eq!(snapshot.count, 3);
        assert!((snapshot.sum_s - 60.000_101).abs() < 1e-9);
    }
}
