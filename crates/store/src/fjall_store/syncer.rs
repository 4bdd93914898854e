//! Syncs buffered commits to disk at an interval.

use super::inner::Inner;
use super::repeated::Repeated;
use crate::Result;
use std::sync::Arc;
use std::time::Duration;

/// Syncs until it is dropped.
pub(super) fn start(inner: Arc<Inner>, interval: Duration) -> Result<Repeated> {
    let mut is_failing = false;
    Repeated::start("store-sync", interval, move || {
        let synced = inner.sync();
        if let Err(error) = &synced
            && !is_failing
        {
            tracing::error!(%error, "could not force commits to the disk; trying again and again");
        }
        is_failing = synced.is_err();
    })
}
