//! Calls and texts, written to the log: no line to the telephone network comes with an example.

use async_trait::async_trait;

use super::{Channel, Notice};

/// Tells the log instead of a telephone.
#[derive(Clone, Copy, Debug)]
pub struct Log;

#[async_trait]
impl Channel for Log {
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        let (attempt, destination) = (&notice.attempt_id, &notice.destination);
        tracing::info!(attempt, destination, text = notice.text, "a notice");
        Ok(())
    }
}
