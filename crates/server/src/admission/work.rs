//! Memory and processors for large requests while they are decoded and executed.
//!
//! Decoding 16 MB takes tens of milliseconds, in which no other connection of the same thread would be served. It happens on
//! threads of its own, and on fewer of them than there are processors.

use super::SMALL_BODY_BYTES;
use std::num::NonZero;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trestle_api::Error;

/// Bodies of more bytes than this are decoded on a thread of their own.
const APART_BYTES: usize = 256 * 1024;

/// Memory is counted in these units, so that a semaphore can count it.
const UNIT_BYTES: usize = 1024;

/// The most large requests that are executed at a time, each on a thread that waits for the commit.
const REQUESTS_MAX: usize = 64;

/// What decoding makes of a body, in bytes, measured in the worst cases: an object of JSON becomes a value, an entry or a
/// map of one entry; an element is at least a value.
const OBJECT_BYTES: usize = 100;
const ELEMENT_BYTES: usize = 32;

/// Memory and processors for large requests.
pub(crate) struct Work {
    units_max: usize,
    units: Arc<Semaphore>,
    processors: Arc<Semaphore>,
}

/// Memory for one large request, until it is dropped.
#[derive(Debug)]
pub(crate) struct WorkPermit {
    _units: OwnedSemaphorePermit,
    is_apart: bool,
}

impl WorkPermit {
    /// Whether the request is decoded on a thread of its own.
    pub(crate) fn is_apart(&self) -> bool {
        self.is_apart
    }
}

impl Work {
    pub(super) fn new(bytes_max: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let units_max = (bytes_max / UNIT_BYTES).clamp(1, u32::MAX as usize);
        Work {
            units_max,
            units: Arc::new(Semaphore::new(units_max)),
            processors: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.units_max * UNIT_BYTES
    }

    /// Bytes that large requests take now.
    pub(crate) fn bytes(&self) -> usize {
        (self.units_max - self.units.available_permits()) * UNIT_BYTES
    }

    /// Memory to execute a request, in the order of arrival; a small one needs none. Only this server's speed decides how
    /// long it takes. A request that would take more than all of it waits until it is alone.
    pub(crate) async fn permit(&self, body: &[u8]) -> Result<Option<WorkPermit>, Error> {
        if body.len() <= SMALL_BODY_BYTES {
            return Ok(None);
        }
        let least = self.units_max / REQUESTS_MAX;
        let units = (cost(body) / UNIT_BYTES).max(least).clamp(1, self.units_max);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.units).acquire_many_owned(units).await;
        Ok(Some(WorkPermit {
            _units: permit.map_err(|_| closed())?,
            is_apart: body.len() > APART_BYTES,
        }))
    }

    /// Runs what takes long on a thread of its own, once a processor is free for it.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(Processor) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let processor = Arc::clone(&self.processors).acquire_owned().await;
        let processor = Processor(processor.map_err(|_| closed())?);
        let done = tokio::task::spawn_blocking(move || work(processor)).await;
        done.map_err(|_| Error::internal("the request failed in an unexpected way; the log has details"))
    }
}

/// Whether a body of this size is hashed and decoded on a thread of its own.
pub(crate) fn is_apart(body_bytes: usize) -> bool {
    body_bytes > APART_BYTES
}

/// A processor to compute on; dropped when only waiting is left.
pub(crate) struct Processor(#[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit);

/// The semaphores are never closed.
fn closed() -> Error {
    Error::internal("the server takes no more work")
}

/// What a body takes when it is decoded and what it writes is staged for the commit, estimated from its structure.
fn cost(body: &[u8]) -> usize {
    let (objects, elements) = structure(body);
    2 * body.len() + objects * OBJECT_BYTES + elements * ELEMENT_BYTES
}

/// How many objects JSON text has, and how many elements and members follow another.
fn structure(body: &[u8]) -> (usize, usize) {
    let (mut objects, mut elements) = (0, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => objects += 1,
            b',' => elements += 1,
            _ => {}
        }
    }
    (objects, elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_structure_outside_of_strings_counts() {
        assert_eq!(structure(br#"{"a":[{"S":"{,\",{"},{"N":"1"}]}"#), (3, 1));
    }

    #[tokio::test]
    async fn a_request_that_needs_more_than_everything_runs_alone() {
        let work = Work::new(1 << 20);
        let body = vec![b'{'; SMALL_BODY_BYTES + 1];
        let permit = work.permit(&body).await.unwrap();
        assert_eq!(work.bytes(), 1 << 20);
        assert!(work.units.try_acquire().is_err());
        drop(permit);
        assert_eq!(work.bytes(), 0);
    }

    #[tokio::test]
    async fn a_small_request_needs_none() {
        let work = Work::new(1 << 20);
        let permit = work.permit(&vec![b'{'; SMALL_BODY_BYTES]).await.unwrap();
        assert!(permit.is_none());
    }
}
