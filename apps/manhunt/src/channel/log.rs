//! Notices written to the log, where no other channel is configured.

use async_trait::async_trait;

use super::{Channel, Failure, Notice};

/// Writes notices to the log.
#[derive(Clone, Copy, Debug)]
pub struct Log;

#[async_trait]
impl Channel for Log {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let (attempt, destination) = (&notice.attempt_id, &notice.destination);
        tracing::info!(attempt, destination, text = notice.text, "a notice");
        Ok(())
    }
}
