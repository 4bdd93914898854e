//! Latencies in little memory: logarithmic buckets, each at most 1.6 % wide.

use std::time::Duration;

/// Each power of two is divided into 2^6 buckets.
const FINE_BITS: u32 = 6;
const FINE: usize = 1 << FINE_BITS;
const BUCKETS: usize = FINE * (64 - FINE_BITS as usize + 1);

/// The number of occurrences of each latency.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            total: 0,
        }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(bucket(nanos)) {
            *count += 1;
            self.total += 1;
        }
    }

    /// Adds the contents of another histogram.
    pub(crate) fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    pub(crate) fn count(&self) -> u64 {
        self.total
    }

    /// The latency that this share did not exceed, in microseconds; 0 if there are none.
    pub(crate) fn micros_at(&self, share: f64) -> f64 {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(bucket) / 1_000.0;
            }
        }
        0.0
    }
}

fn bucket(nanos: u64) -> usize {
    let Some(shift) = (63 - FINE_BITS).checked_sub(nanos.leading_zeros()) else {
        return nanos as usize;
    };
    ((shift as usize + 1) << FINE_BITS) + ((nanos >> shift) as usize & (FINE - 1))
}

/// The middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> f64 {
    if bucket < FINE {
        return bucket as f64;
    }
    let width = (1u64 << ((bucket >> FINE_BITS) - 1)) as f64;
    width * ((FINE + (bucket & (FINE - 1))) as f64 + 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_lies_near_the_middle_of_its_bucket() {
        for nanos in [1u64, 63, 64, 65, 127, 128, 1_000, 99_999, 7_654_321, u64::MAX / 3] {
            let error = (middle(bucket(nanos)) - nanos as f64).abs() / nanos as f64;
            assert!(error < 0.016, "{nanos} is off by {error}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn buckets_are_in_order_without_gaps() {
        let numbers: Vec<usize> = (0..5_000).map(bucket).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] <= 1));
    }

    #[test]
    fn percentiles_are_ranks() {
        let mut histogram = Histogram::default();
        for micros in 1..=1_000 {
            histogram.record(Duration::from_micros(micros));
        }
        let near = |share: f64, expected: f64| (histogram.micros_at(share) / expected - 1.0).abs() < 0.016;
        assert!(near(0.5, 500.0) && near(0.99, 990.0) && near(1.0, 1_000.0));
        assert_eq!(histogram.count(), 1_000);
    }

    #[test]
    fn an_empty_histogram_has_no_latency() {
        assert_eq!(Histogram::default().micros_at(0.5), 0.0);
    }
}
