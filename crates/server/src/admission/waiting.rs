//! Requests that wait for memory.

use super::Throttled;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// A waiter checks again after this time even if it was not woken: there may be free memory that the woken
/// waiter cannot use.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Requests that wait for memory, and how long they may wait.
pub(super) struct Waiters {
    count: AtomicUsize,
    wake: Notify,
    patience: Duration,
}

/// One request that waits.
pub(super) struct MemoryWait<'a> {
    waiters: &'a Waiters,
    until: Instant,
}

impl Waiters {
    pub(super) fn new(patience: Duration) -> Self {
        Waiters {
            count: AtomicUsize::new(0),
            wake: Notify::new(),
            patience,
        }
    }

    pub(super) fn are_there(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(super) fn wake_one(&self) {
        if self.are_there() {
            self.wake.notify_one();
        }
    }

    pub(super) fn join(&self) -> MemoryWait<'_> {
        self.count.fetch_add(1, Ordering::Relaxed);
        MemoryWait {
            waiters: self,
            until: Instant::now() + self.patience,
        }
    }
}

impl MemoryWait<'_> {
    /// Returns when it is time to check for memory; an error when the time is over.
    pub(super) async fn turn(&mut self) -> Result<(), Throttled> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Throttled);
        }
        // Both outcomes mean the same.
        let _ = timeout(left.min(LOOK_AGAIN), self.waiters.wake.notified()).await;
        Ok(())
    }
}

/// A waiter that leaves wakes the next one: there may be enough memory for both.
impl Drop for MemoryWait<'_> {
    fn drop(&mut self) {
        self.waiters.count.fetch_sub(1, Ordering::Relaxed);
        self.waiters.wake_one();
    }
}
