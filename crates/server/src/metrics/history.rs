//! Samples of the last hour, so that the console has charts without another tool.

use super::histogram::{BOUNDS_US, Snapshot};
use super::{Metrics, OperationMetrics};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use trestle_admin::{MetricsHistory, MetricsSample, OperationSample, RouteSample, StorageSample};
use trestle_api::OperationName;
use trestle_embedded::{OperationReads, StorageReads};
use trestle_queue::sqs::QueueOperation;

/// The length of a sample.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// An hour of them.
const SAMPLES_MAX: usize = 360;

/// The samples of the last hour.
#[derive(Default)]
pub(crate) struct History(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    samples: VecDeque<MetricsSample>,
    /// The counters at the end of the last sample.
    operations: HashMap<&'static str, Counted>,
    storage: Option<StorageReads>,
    refused: u64,
}

/// The counters of an operation at one moment.
#[derive(Clone, Default)]
struct Counted {
    at_most: [u64; BOUNDS_US.len()],
    succeeded: u64,
    user_errors: u64,
    system_errors: u64,
    throttled: u64,
}

impl History {
    /// Adds the work since the last sample.
    pub(crate) fn record(
        &self,
        metrics: &Metrics,
        storage: Option<StorageReads>,
        routes: Vec<RouteSample>,
        now_s: u64,
    ) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut operations = Vec::new();
        for (name, counters) in counters(metrics) {
            let now = Counted::of(counters);
            let before = recorded.operations.get(name).cloned().unwrap_or_default();
            if let Some(sample) = now.since(&before, name) {
                operations.push(sample);
                recorded.operations.insert(name, now);
            }
        }
        let refused = metrics.refused_requests.load(Ordering::Relaxed);
        let open = metrics.connections_open.load(Ordering::Relaxed);
        let sample = MetricsSample {
            at: now_s,
            connections: u64::try_from(open).unwrap_or_default(),
            refused: refused.saturating_sub(recorded.refused),
            operations,
            storage: read_since(recorded.storage.as_ref(), storage.as_ref()),
            routes,
        };
        recorded.storage = storage;
        recorded.refused = refused;
        if recorded.samples.len() == SAMPLES_MAX {
            recorded.samples.pop_front();
        }
        recorded.samples.push_back(sample);
    }

    /// The samples that ended after a time.
    pub(crate) fn read(&self, metrics: &Metrics, after: Option<u64>) -> MetricsHistory {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let after = after.unwrap_or_default();
        let samples = recorded.samples.iter().filter(|sample| sample.at > after);
        MetricsHistory {
            interval_seconds: INTERVAL.as_secs(),
            uptime_seconds: metrics.started.elapsed().as_secs(),
            samples: samples.cloned().collect(),
        }
    }
}

fn counters(metrics: &Metrics) -> impl Iterator<Item = (&'static str, &OperationMetrics)> {
    let of_tables = OperationName::ALL.iter();
    let of_tables = of_tables.map(|name| (name.as_str(), metrics.operations.of(*name)));
    let of_queues = QueueOperation::ALL.iter();
    let of_queues = of_queues.map(|name| (name.as_str(), metrics.queue_operations.of(*name)));
    of_tables.chain(of_queues)
}

/// What storage read since the last sample, by operation.
fn read_since(before: Option<&StorageReads>, now: Option<&StorageReads>) -> Vec<StorageSample> {
    let Some(now) = now else { return Vec::new() };
    let read = before.map_or_else(|| now.clone(), |before| now.since(before));
    let operations = OperationName::ALL.iter();
    let operations = operations.map(|name| (name.as_str(), read.of(*name)));
    let all = operations.chain([("other", read.other())]);
    let some = all.filter(|(_, reads)| *reads != OperationReads::default());
    some.map(|(operation, reads)| StorageSample {
        operation: operation.to_owned(),
        point_lookups: reads.point_lookups,
        ranges: reads.ranges,
        double_reads: reads.double_reads,
        blocks_from_disk: reads.blocks_from_disk,
        blocks_from_cache: reads.blocks_from_cache,
    })
    .collect()
}

impl Counted {
    fn of(metrics: &OperationMetrics) -> Self {
        let Snapshot { at_most, count, .. } = metrics.successful_latency.snapshot();
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Counted {
            at_most,
            succeeded: count,
            user_errors: read(&metrics.user_errors) + read(&metrics.conditional_check_failed),
            system_errors: read(&metrics.system_errors),
            throttled: read(&metrics.throttled),
        }
    }

    /// The work since `before`; `None` if there was none.
    fn since(&self, before: &Self, name: &str) -> Option<OperationSample> {
        let mut at_most = self.at_most;
        for (count, earlier) in at_most.iter_mut().zip(before.at_most) {
            *count = count.saturating_sub(earlier);
        }
        let succeeded = self.succeeded.saturating_sub(before.succeeded);
        let sample = OperationSample {
            name: name.to_owned(),
            succeeded,
            user_errors: self.user_errors.saturating_sub(before.user_errors),
            system_errors: self.system_errors.saturating_sub(before.system_errors),
            throttled: self.throttled.saturating_sub(before.throttled),
            p50_us: bound(&at_most, succeeded.div_ceil(2)),
            p99_us: bound(&at_most, succeeded - succeeded / 100),
        };
        let any = sample.succeeded + sample.user_errors + sample.system_errors + sample.throttled;
        (any > 0).then_some(sample)
    }
}

/// The bound below which this share lies, or the highest bound.
fn bound(at_most: &[u64], wanted: u64) -> u64 {
    if wanted == 0 {
        return 0;
    }
    let bucket = at_most.partition_point(|count| *count < wanted);
    let last = BOUNDS_US.len() - 1;
    BOUNDS_US.get(bucket.min(last)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_api::{Database as _, Wait as _};
    use trestle_embedded::{Embedded, Options};

    const SONGS: &str = r#"{"TableName": "songs", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "song", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "song", "KeyType": "HASH"}]}"#;
    const SONG: &str = r#"{"TableName": "songs", "Key": {"song": {"S": "So What"}}}"#;

    fn behind(route: &str, lag_records: u64) -> RouteSample {
        RouteSample {
            route: route.to_owned(),
            lag_records,
            lag_ms: 0,
        }
    }

    fn ask(db: &Embedded, operation: OperationName, request: &str) {
        let request = trestle_wire::read_request(operation, request.as_bytes()).unwrap();
        db.execute(request).wait().unwrap();
    }

    #[test]
    fn a_sample_tells_of_its_own_time_only() {
        let (history, metrics) = (History::default(), Metrics::new());
        for _ in 0..99 {
            metrics
                .operations
                .of(OperationName::GetItem)
                .answered(Duration::from_micros(80));
        }
        metrics
            .operations
            .of(OperationName::GetItem)
            .answered(Duration::from_millis(3));
        history.record(&metrics, None, vec![behind("mail", 7)], 10);
        metrics.operations.of(OperationName::PutItem).failed_by_us();
        history.record(&metrics, None, vec![behind("mail", 0)], 20);
        let read = history.read(&metrics, None);
        let [first, second] = &read.samples[..] else {
            panic!("{read:?}")
        };
        let get = &first.operations[0];
        assert_eq!(
            (get.name.as_str(), get.succeeded, get.p50_us, get.p99_us),
            ("GetItem", 100, 100, 100)
        );
        assert_eq!(
            [&first.routes[..], &second.routes],
            [[behind("mail", 7)], [behind("mail", 0)]]
        );
        assert_eq!(second.operations.len(), 1);
        assert_eq!(
            (
                second.operations[0].name.as_str(),
                second.operations[0].system_errors
            ),
            ("PutItem", 1)
        );
        assert_eq!(history.read(&metrics, Some(10)).samples, read.samples[1..]);
    }

    #[test]
    fn a_sample_has_what_storage_read_in_its_own_time() {
        let (history, metrics) = (History::default(), Metrics::new());
        let db = Embedded::in_memory(Options::default()).unwrap();
        ask(&db, OperationName::CreateTable, SONGS);
        let look = |times: u32| {
            for _ in 0..times {
                ask(&db, OperationName::GetItem, SONG);
            }
            Some(db.storage_reads())
        };
        history.record(&metrics, look(3), Vec::new(), 10);
        history.record(&metrics, look(2), Vec::new(), 20);
        history.record(&metrics, look(0), Vec::new(), 30);
        let lookups = |sample: &MetricsSample| {
            let of_get = sample.storage.iter().find(|read| read.operation == "GetItem");
            of_get.map(|read| read.point_lookups)
        };
        let read = history.read(&metrics, None);
        let found: Vec<_> = read.samples.iter().map(lookups).collect();
        assert_eq!(found, [Some(3), Some(2), None]);
    }

    #[test]
    fn no_more_than_an_hour_is_kept() {
        let (history, metrics) = (History::default(), Metrics::new());
        for at in 1..=SAMPLES_MAX as u64 + 5 {
            history.record(&metrics, None, Vec::new(), at);
        }
        let read = history.read(&metrics, None);
        assert_eq!((read.samples.len(), read.samples[0].at), (SAMPLES_MAX, 6));
    }
}
