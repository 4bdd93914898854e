//! Memory that clients hold: arriving bodies, small requests, unread answers.

use super::Throttled;
use super::waiting::{MemoryWait, Waiters};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much of the memory may be in use before a further use has to wait. A part is always left for small
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// A large body that is arriving.
    LargeBody,
    /// The one large body that is allowed to finish although there are too many, and operations with large answers.
    LargeAnswer,
    /// A small request.
    Small,
}

impl Share {
    fn of(self, bytes_max: usize) -> usize {
        let eighths = match self {
            Share::LargeBody => 5,
            Share::LargeAnswer => 7,
            Share::Small => 8,
        };
        bytes_max / 8 * eighths
    }
}

/// The memory that clients hold, and the requests that wait for it.
pub(crate) struct HeldMemory {
    bytes_max: usize,
    bytes: AtomicUsize,
    waiters: Waiters,
    /// Bodies that wait for one another would wait forever; the holder of this right goes first.
    first: Arc<Semaphore>,
}

/// The right of one large body to finish before the others.
pub(crate) type First = OwnedSemaphorePermit;

impl HeldMemory {
    pub(super) fn new(bytes_max: usize, patience: Duration) -> Self {
        HeldMemory {
            bytes_max,
            bytes: AtomicUsize::new(0),
            waiters: Waiters::new(patience),
            first: Arc::new(Semaphore::new(1)),
        }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How much the large bodies of one connection may take while others want to send, too.
    pub(super) fn fair_share(&self) -> usize {
        self.bytes_max / 4
    }

    /// Bytes held now.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether requests wait for memory.
    pub(crate) fn is_short(&self) -> bool {
        self.waiters.are_there()
    }

    /// Takes so many bytes if the share has them.
    pub(super) fn try_take(&self, bytes: usize, share: Share) -> bool {
        let max = share.of(self.bytes_max);
        let grown = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= max);
        self.bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .is_ok()
    }

    /// Takes bytes that already exist, such as those of an answer, after [`HeldMemory::room_for`].
    pub(super) fn take_anyway(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiters.wake_one();
    }

    /// Takes so many bytes of a share as soon as it has them.
    pub(super) async fn take(&self, bytes: usize, share: Share) -> Result<(), Throttled> {
        if self.try_take(bytes, share) {
            return Ok(());
        }
        let mut waiting = self.waiters.join();
        while !self.try_take(bytes, share) {
            waiting.turn().await?;
        }
        Ok(())
    }

    /// Takes so many bytes for a large body if it may go `first`.
    pub(super) fn try_take_first(&self, bytes: usize, first: &mut Option<First>) -> bool {
        if first.is_none() {
            *first = Arc::clone(&self.first).try_acquire_owned().ok();
        }
        first.is_some() && self.try_take(bytes, Share::LargeAnswer)
    }

    /// Waits for memory.
    pub(super) fn wait(&self) -> MemoryWait<'_> {
        self.waiters.join()
    }

    pub(crate) fn has_room(&self, share: Share) -> bool {
        self.bytes() <= share.of(self.bytes_max)
    }

    /// Returns when a share has room. Nothing is taken, because the size of an answer is known only
    /// afterwards.
    pub(crate) async fn room_for(&self, share: Share) -> Result<(), Throttled> {
        if self.has_room(share) {
            return Ok(());
        }
        let mut waiting = self.waiters.join();
        while !self.has_room(share) {
            waiting.turn().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    const PATIENCE: Duration = Duration::from_millis(100);

    fn held() -> HeldMemory {
        HeldMemory::new(800, PATIENCE)
    }

    #[tokio::test]
    async fn large_bodies_leave_a_part_for_answers_and_small_requests() {
        let held = held();
        held.take(500, Share::LargeBody).await.unwrap();
        assert_eq!(held.take(1, Share::LargeBody).await, Err(Throttled));
        held.take(200, Share::LargeAnswer).await.unwrap();
        assert_eq!(held.take(1, Share::LargeAnswer).await, Err(Throttled));
        held.take(100, Share::Small).await.unwrap();
        assert_eq!(held.take(1, Share::Small).await, Err(Throttled));
        assert_eq!(held.bytes(), 800, "what was refused took nothing");
    }

    #[test]
    fn one_of_several_bodies_that_wait_for_each_other_goes_first() {
        let held = held();
        assert!(held.try_take(500, Share::LargeBody));
        let (mut one, mut other) = (None, None);
        assert!(held.try_take_first(150, &mut one));
        assert!(!held.try_take_first(10, &mut other), "one at a time");
        held.release(400);
        drop(one);
        assert!(held.try_take_first(150, &mut other));
    }

    #[tokio::test]
    async fn memory_that_is_given_back_wakes_a_waiter() {
        let held = held();
        held.take(800, Share::Small).await.unwrap();
        assert!(!held.is_short());
        let mut waiting = pin!(held.take(10, Share::Small));
        assert!(
            tokio::time::timeout(PATIENCE / 2, waiting.as_mut())
                .await
                .is_err()
        );
        assert!(held.is_short());
        held.release(10);
        waiting.await.unwrap();
        assert!(!held.is_short());
    }
}
