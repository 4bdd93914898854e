//! How the rows of an endpoint are read for backfills.

use std::sync::Arc;
use std::time::Duration;
use trestle_events::ScanSettings;
use trestle_remote::Remote;

/// How long after a write its record may appear in the stream, unless something else is said.
pub(crate) const STREAM_DELAY: Duration = Duration::from_secs(15);

/// Rows of an endpoint, whose records appear in the stream after this time at the latest.
pub(crate) fn settings(remote: &Remote, stream_delay: Duration) -> ScanSettings {
    let remote = remote.clone();
    ScanSettings {
        clock: Arc::new(move |at| remote.clock_span(at)),
        stream_delay,
    }
}
