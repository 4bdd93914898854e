//! The call that tells what a server did in the last hour.

use serde::{Deserialize, Serialize};

/// What the server did in the last hour.
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
    /// How much time a sample is about.
    pub interval_seconds: u64,
    /// How long the server runs.
    pub uptime_seconds: u64,
    /// The samples, oldest first.
    pub samples: Vec<MetricsSample>,
}

/// What was done between two moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsSample {
    /// When it ended, in seconds since 1970.
    pub at: u64,
    /// Connections that were open at the end.
    pub connections: u64,
    /// Requests that never became an operation.
    pub refused: u64,
    /// Operations that were asked for, by name.
    pub operations: Vec<OperationSample>,
    /// What storage did to read rows, of operations that read something. Work in the background is `other`. A gateway has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageSample>,
    /// The routes at work, by name, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSample>,
}

/// How far behind a route was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteSample {
    /// The route.
    pub route: String,
    /// Records behind the newest of the stream, as far as they had been counted.
    pub lag_records: u64,
    /// Age of the oldest change that was not done, in milliseconds.
    pub lag_ms: u64,
}

/// What storage did to read rows for one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageSample {
    /// The operation's name, or `other`.
    pub operation: String,
    /// Lookups of one key.
    pub point_lookups: u64,
    /// Ranges that were read, whatever the number of rows in each.
    pub ranges: u64,
    /// Lookups under old keys during a migration.
    pub double_reads: u64,
    /// Blocks that were read from files.
    pub blocks_from_disk: u64,
    /// Blocks that were found in the cache.
    pub blocks_from_cache: u64,
}

/// What was done of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationSample {
    /// Its name.
    pub name: String,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that made no sense, or whose condition did not hold.
    pub user_errors: u64,
    /// Requests that the server could not carry out.
    pub system_errors: u64,
    /// Requests that were throttled.
    pub throttled: u64,
    /// Half of those that succeeded took at most this long, in microseconds: the bound of a bucket.
    pub p50_us: u64,
    /// So did all but one in a hundred.
    pub p99_us: u64,
}
