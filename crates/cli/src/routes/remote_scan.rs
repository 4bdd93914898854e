//! How the rows of an endpoint are read for backfills.

use std::sync::Arc;
use std::time::Duration;
use trestle_env::Timestamp;
use trestle_events::{EndpointClock, ScanSettings, UnknownClock};
use trestle_remote::Remote;

/// How long after a write its record may appear in the stream, unless something else is said.
pub(crate) const STREAM_DELAY: Duration = Duration::from_secs(15);

/// Rows of an endpoint, whose records appear in the stream after this time at the latest.
pub(crate) fn settings(remote: &Remote, stream_delay: Duration) -> ScanSettings {
    ScanSettings {
        clock: Arc::new(RemoteClock(remote.clone())),
        stream_delay,
    }
}

/// The endpoint's clock, as its answers tell it.
struct RemoteClock(Remote);

impl EndpointClock for RemoteClock {
    fn span(&self, at: Timestamp) -> (Timestamp, Timestamp) {
        self.0.clock_span(at).unwrap_or_else(|| UnknownClock.span(at))
    }
}
