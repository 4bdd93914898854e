//! What is retried, and after how long.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Error, ErrorKind};
use trestle_env::{Alarm, Clock};

/// Pauses before further attempts, each twice as long as the previous one.
pub(crate) struct RetryPause {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl RetryPause {
    /// Pauses after so many further attempts.
    pub(crate) async fn wait(&self, retries: u32) {
        let wait = self.first.saturating_mul(1 << retries.min(16)).min(self.longest);
        let mut alarm = Alarm::new(Arc::clone(&self.clock));
        let due = self.clock.now().plus(wait);
        alarm.at(due).await;
    }
}

/// Whether an error is temporary: throttling, an internal error of the database, no answer, or a transaction
/// on the same row.
pub(crate) fn is_transient(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InternalServerError
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
            | ErrorKind::TransactionConflict
            | ErrorKind::LimitExceeded
    )
}
