//! The call that returns the metrics of the last hour.

use serde::{Deserialize, Serialize};

/// Reads the metrics of the last hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadMetrics {
    /// Only samples that ended after this time, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// The answer to [`ReadMetrics`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsHistory {
    /// The length of a sample.
    pub interval_seconds: u64,
    /// How long the server has been running.
    pub uptime_seconds: u64,
    /// The samples, oldest first.
    pub samples: Vec<MetricsSample>,
}

/// The metrics of a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsSample {
    /// When it ended, in seconds since 1970.
    pub at: u64,
    /// Connections that were open at the end.
    pub connections: u64,
    /// Requests that were refused before they became an operation.
    pub refused: u64,
    /// Requested operations, by name.
    pub operations: Vec<OperationSample>,
    /// What storage read, for operations that read something. Background work is `other`. Empty for a
    /// gateway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageSample>,
    /// The running routes, by name, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSample>,
}

/// The lag of a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteSample {
    /// The route.
    pub route: String,
    /// Records behind the newest of the stream, as far as they have been counted.
    pub lag_records: u64,
    /// Age of the oldest change that was not done, in milliseconds.
    pub lag_ms: u64,
}

/// What storage read for one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageSample {
    /// The operation's name, or `other`.
    pub operation: String,
    /// Lookups of one key.
    pub point_lookups: u64,
    /// Ranges that were read, regardless of the number of rows in each.
    pub ranges: u64,
    /// Lookups under old keys during a migration.
    pub double_reads: u64,
    /// Blocks that were read from files.
    pub blocks_from_disk: u64,
    /// Blocks that were found in the cache.
    pub blocks_from_cache: u64,
}

/// The requests of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationSample {
    /// Its name.
    pub name: String,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that were invalid, or whose condition did not hold.
    pub user_errors: u64,
    /// Requests that the server could not execute.
    pub system_errors: u64,
    /// Requests that were throttled.
    pub throttled: u64,
    /// The median time of successful requests, in microseconds: the upper bound of a bucket.
    pub p50_us: u64,
    /// The 99th percentile of the same.
    pub p99_us: u64,
}
