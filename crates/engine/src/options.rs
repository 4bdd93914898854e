//! Settings of an engine: plain data.

use std::time::Duration;

/// How an engine behaves. The defaults suit an application server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The region in ARNs and stream records.
    pub region: String,
    /// The account in ARNs.
    pub account: String,
    /// The address that DescribeEndpoints answers with.
    pub endpoint: String,
    /// How many shards a new stream has. With one, change records are stored in the order in which they are
    /// written, so that merging tables need not copy them.
    pub stream_shards: u16,
    /// A shard to which more bytes have been written is split into two.
    pub stream_shard_bytes_max: u64,
    /// How long change records are kept.
    pub stream_retention: Duration,
    /// The most bytes of change records that are kept beyond the retention because routes need them. Beyond
    /// that, the routes give up the oldest records.
    pub held_changes_bytes_max: u64,
    /// How long a new table stays `CREATING`.
    pub create_table_delay: Duration,
    /// How long a changed table stays `UPDATING`.
    pub update_table_delay: Duration,
    /// How long a dropped table stays `DELETING`.
    pub delete_table_delay: Duration,
    /// How often expired items are searched.
    pub expiry_interval: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            region: "us-east-1".into(),
            account: "000000000000".into(),
            endpoint: "127.0.0.1:8000".into(),
            stream_shards: 1,
            stream_shard_bytes_max: 4 << 30,
            stream_retention: Duration::from_secs(24 * 60 * 60),
            held_changes_bytes_max: 10_000_000_000,
            create_table_delay: Duration::ZERO,
            update_table_delay: Duration::ZERO,
            delete_table_delay: Duration::ZERO,
            expiry_interval: Duration::from_secs(1),
        }
    }
}
