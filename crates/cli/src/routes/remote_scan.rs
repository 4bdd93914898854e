//! How the rows of an endpoint are read for backfills.

use std::sync::Arc;
use std::time::Duration;
use trestle_events::ScanSettings;
use trestle_remote::Remote;

/// The default time after a write within which its record appears in the stream.
pub(crate) const STREAM_DELAY: Duration = Duration::from_secs(15);

/// Rows of an endpoint, whose records appear in the stream after this time at the latest.
pub(crate) fn settings(remote: &Remote, stream_delay: Duration) -> ScanSettings {
    let remote = remote.clone();
    ScanSettings {
        clock: Arc::new(move |at| remote.clock_span(at)),
        stream_delay,
    }
}
