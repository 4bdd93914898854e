//! Where the rows of a backfill come from.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Error, RowPage};
use trestle_env::Timestamp;
use trestle_item::Item;

/// Where the rows of backfills come from.
#[derive(Clone)]
pub enum RowReading {
    /// A database in the same process, which reads them together with the position of the streams.
    AtOneMoment(Arc<dyn RowSource>),
    /// An endpoint, which is asked with `Scan`.
    Scanned(ScanSettings),
}

/// Reads rows and the position of the streams at one moment. A database in the same process can do that; the operations of
/// a remote one cannot.
pub trait RowSource: Send + Sync {
    /// Reads up to `limit` rows behind the row with the key `after`.
    fn page(&self, table: &str, after: Option<&Item>, limit: u32) -> Result<RowPage, Error>;
}

/// What has to be known of an endpoint to bring the rows of a `Scan` and the records of a stream into one order.
#[derive(Clone)]
pub struct ScanSettings {
    /// Its clock, which dates the records of its streams.
    pub clock: Arc<dyn EndpointClock>,
    /// So much time after a write, its record can be read.
    pub stream_delay: Duration,
}

/// What is known of the clock of an endpoint.
pub trait EndpointClock: Send + Sync {
    /// The earliest and the latest time that it may have shown when the clock of this process showed `at`.
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp);
}

/// A clock of which nothing is known but that it is not altogether wrong.
#[derive(Clone, Copy, Debug)]
pub struct UnknownClock;

/// No two clocks differ by more: requests with such a time are refused by those who sign them.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(15 * 60);

impl EndpointClock for UnknownClock {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        (at.minus(CLOCK_DIFFERENCE_MAX), at.plus(CLOCK_DIFFERENCE_MAX))
    }
}

/// A function that says `None` while it knows nothing.
impl<F: Fn(Timestamp) -> Option<(Timestamp, Timestamp)> + Send + Sync> EndpointClock for F {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        self(at).unwrap_or_else(|| UnknownClock.span(at))
    }
}

impl ScanSettings {
    /// Records of Amazon DynamoDB can be read within a second as a rule, those of ScyllaDB Alternator after ten.
    pub const STREAM_DELAY: Duration = Duration::from_secs(15);
    /// Times of records are rounded down: by Amazon DynamoDB to the second, by DynamoDB Local to the minute.
    const RECORD_TIME_UNIT: Duration = Duration::from_secs(60);
    /// Times of records are approximate.
    const RECORD_TIME_DIFFERENCE: Duration = Duration::from_secs(5);

    /// What has been written by now has records that are not dated later than this.
    pub(crate) fn records_up_to(&self, now: Timestamp) -> Timestamp {
        self.clock.span(now).1.plus(Self::RECORD_TIME_DIFFERENCE)
    }
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            clock: Arc::new(UnknownClock),
            stream_delay: Self::STREAM_DELAY,
        }
    }
}

impl RowReading {
    /// What is written from now on has records that are not dated before this.
    pub(crate) fn records_from(&self, now: Timestamp) -> Timestamp {
        match self {
            Self::AtOneMoment(_) => now,
            Self::Scanned(scan) => scan.clock.span(now).0.minus(ScanSettings::RECORD_TIME_UNIT),
        }
    }

    /// Whether they are read from an endpoint.
    pub(crate) fn are_scanned(&self) -> bool {
        matches!(self, Self::Scanned(_))
    }
}
