//! Memory and processors for large requests while they are decoded and executed.
//!
//! Decoding 16 MB takes tens of milliseconds, in which no other connection of the same thread would be
//! served. It runs on separate threads, at most one per processor at a time.

use std::num::NonZero;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trestle_api::Error;
use trestle_wire::JsonSize;

/// Larger bodies are decoded on a separate thread.
const APART_BYTES: usize = 256 * 1024;

/// Memory is counted in these units, so that a semaphore can count it.
const UNIT_BYTES: usize = 1024;

/// The most large requests that run at a time, each on a thread that waits for the commit.
const REQUESTS_MAX: usize = 64;

/// The memory of a decoded body in bytes, measured in the worst cases: a JSON object becomes a value, an
/// entry or a map of one entry; an element is at least a value.
const OBJECT_BYTES: usize = 100;
const ELEMENT_BYTES: usize = 32;

/// Memory and processors for large requests.
pub(crate) struct WorkMemory {
    units_max: usize,
    units: Arc<Semaphore>,
    processors: Arc<Semaphore>,
}

/// Memory for one large request, until it is dropped.
pub(crate) struct WorkPermit(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

/// A processor for a computation, until it is dropped.
pub(crate) struct Processor(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

impl WorkMemory {
    pub(super) fn new(bytes_max: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let units_max = (bytes_max / UNIT_BYTES).clamp(1, u32::MAX as usize);
        WorkMemory {
            units_max,
            units: Arc::new(Semaphore::new(units_max)),
            processors: Arc::new(Semaphore::new(processors)),
        }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.units_max * UNIT_BYTES
    }

    /// Bytes that large requests use now.
    pub(crate) fn bytes(&self) -> usize {
        (self.units_max - self.units.available_permits()) * UNIT_BYTES
    }

    /// Memory to execute a large request, in the order of arrival. How long that takes depends only on this
    /// server. A request that needs more than the whole budget waits until it is alone.
    pub(super) async fn permit(&self, bytes: usize) -> Result<WorkPermit, Error> {
        let least = self.units_max / REQUESTS_MAX;
        let units = (bytes / UNIT_BYTES).max(least).clamp(1, self.units_max);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.units).acquire_many_owned(units).await;
        permit.map(WorkPermit).map_err(|_| closed())
    }

    /// A processor for a long computation, in the order of arrival.
    pub(super) async fn processor(&self) -> Result<Processor, Error> {
        let permit = Arc::clone(&self.processors).acquire_owned().await;
        permit.map(Processor).map_err(|_| closed())
    }

    /// Runs a computation on a separate thread, once a processor is free for it.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let _processor = self.processor().await?;
        on_own_thread(compute).await
    }
}

/// Runs `work` on a separate thread.
pub(crate) async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::internal("the request failed in an unexpected way; the log has details"))
}

/// Whether a body of this size is hashed and decoded on a separate thread.
pub(crate) fn is_apart(body_bytes: usize) -> bool {
    body_bytes > APART_BYTES
}

/// The semaphores are never closed.
fn closed() -> Error {
    Error::internal("the server takes no more work")
}

/// The memory of a decoded body and of what it stages for the commit, estimated from its structure.
pub(super) fn cost(body: &[u8]) -> usize {
    let size = JsonSize::of(body);
    2 * body.len() + size.objects * OBJECT_BYTES + size.further_elements * ELEMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_needs_more_than_everything_runs_alone() {
        let work = WorkMemory::new(1 << 20);
        let permit = work.permit(2 << 20).await.unwrap();
        assert_eq!(work.bytes(), 1 << 20);
        assert!(work.units.try_acquire().is_err());
        drop(permit);
        assert_eq!(work.bytes(), 0);
    }

    #[tokio::test]
    async fn no_more_than_so_many_run_at_a_time() {
        let work = WorkMemory::new(REQUESTS_MAX << 20);
        let _permit = work.permit(1).await.unwrap();
        assert_eq!(work.bytes(), 1 << 20);
    }
}
