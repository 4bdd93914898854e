//! The sources of rows for backfills.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Error, RowPage};
use trestle_env::Timestamp;
use trestle_item::Item;

/// The source of rows for backfills.
#[derive(Clone)]
pub enum RowReading {
    /// A database in the same process, which reads them together with the position of the streams.
    AtOneMoment(Arc<dyn RowSource>),
    /// An endpoint, which is read with `Scan`.
    Scanned(ScanSettings),
}

/// Reads rows and the position of the streams at one moment. A database in the same process can do that; the operations of
/// a remote one cannot.
pub trait RowSource: Send + Sync {
    /// Reads up to `limit` rows after the row with the key `after`.
    fn page(&self, table: &str, after: Option<&Item>, limit: u32) -> Result<RowPage, Error>;
}

/// The properties of an endpoint that are needed to order the rows of a `Scan` and the records of a stream.
#[derive(Clone)]
pub struct ScanSettings {
    /// Its clock, which dates the records of its streams.
    pub clock: Arc<dyn EndpointClock>,
    /// The time after a write in which its record becomes readable.
    pub stream_delay: Duration,
}

/// Information about the clock of an endpoint.
pub trait EndpointClock: Send + Sync {
    /// The earliest and the latest time that it may have shown when the clock of this process showed `at`.
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp);
}

/// A clock about which only a coarse bound is known.
#[derive(Clone, Copy, Debug)]
pub struct UnknownClock;

/// The maximum difference of clocks: services refuse signed requests with a larger one.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(15 * 60);

impl EndpointClock for UnknownClock {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        (at.minus(CLOCK_DIFFERENCE_MAX), at.plus(CLOCK_DIFFERENCE_MAX))
    }
}

/// A function that returns `None` while nothing is known.
impl<F: Fn(Timestamp) -> Option<(Timestamp, Timestamp)> + Send + Sync> EndpointClock for F {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        self(at).unwrap_or_else(|| UnknownClock.span(at))
    }
}

impl ScanSettings {
    /// Records of Amazon DynamoDB are normally readable within a second, those of ScyllaDB Alternator after
    /// ten.
    pub const STREAM_DELAY: Duration = Duration::from_secs(15);
    /// Times of records are rounded down: by Amazon DynamoDB to the second, by DynamoDB Local to the minute.
    const RECORD_TIME_UNIT: Duration = Duration::from_secs(60);
    /// Times of records are approximate.
    const RECORD_TIME_DIFFERENCE: Duration = Duration::from_secs(5);

    /// The records of writes up to now have no later time than this.
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
    /// The records of writes from now on have no earlier time than this.
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
