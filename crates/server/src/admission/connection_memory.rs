//! The memory of one connection: answers that its client has not read.

use super::{Admission, FREE_BYTES, HeldMemory, LeasedBytes, pace};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;

/// A connection with more unsent bytes than this gets no further request executed.
const UNSENT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A connection with fewer unsent bytes is not watched: the limit on idle time closes it.
const WATCHED_BYTES: usize = 64 * 1024;

/// An answer of this size is large.
pub(crate) const LARGE_ANSWER_BYTES: usize = 64 * 1024;

/// The memory of one connection.
pub(crate) struct ConnectionMemory {
    admission: Arc<Admission>,
    /// Bytes of answers that were passed to the connection and are not all written.
    unsent: AtomicUsize,
    /// Bytes of large bodies that are arriving or are executed.
    bodies: AtomicUsize,
    /// Bytes written to the connection so far.
    written: AtomicU64,
    /// Whether the last answer was large.
    large_answers: AtomicBool,
    /// Notified when unsent bytes decrease.
    fewer: Notify,
    /// Notified when there are enough unsent bytes to watch.
    watched: Notify,
}

/// An answer that is not written yet.
struct Unsent {
    connection: Arc<ConnectionMemory>,
    bytes: usize,
}

impl ConnectionMemory {
    pub(crate) fn new(admission: Arc<Admission>) -> Arc<Self> {
        Arc::new(ConnectionMemory {
            admission,
            unsent: AtomicUsize::new(0),
            bodies: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            large_answers: AtomicBool::new(false),
            fewer: Notify::new(),
            watched: Notify::new(),
        })
    }

    pub(super) fn held(&self) -> &HeldMemory {
        &self.admission.held
    }

    /// Whether so many more bytes are within a connection's fair share of all large bodies.
    pub(super) fn may_send(&self, more: usize) -> bool {
        self.bodies.load(Ordering::Relaxed) + more <= self.held().fair_share()
    }

    pub(super) fn add_body(&self, bytes: usize) {
        self.bodies.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove_body(&self, bytes: usize) {
        self.bodies.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Whether the client has read enough of earlier answers to be given another.
    pub(crate) fn is_read(&self) -> bool {
        self.unsent() <= UNSENT_BYTES_MAX
    }

    /// Whether the last answer was large.
    pub(crate) fn has_large_answers(&self) -> bool {
        self.large_answers.load(Ordering::Relaxed)
    }

    /// Returns when the client has read enough of earlier answers to be given another.
    pub(crate) async fn reads(&self) {
        while !self.is_read() {
            let fewer = self.fewer.notified();
            if !self.is_read() {
                fewer.await;
            }
        }
    }

    /// Counts an answer until it is written. On HTTP/1.1 there are two at most, so small ones are not counted.
    pub(crate) fn hold_answer(self: &Arc<Self>, answer: Bytes, is_http1: bool) -> Bytes {
        let bytes = answer.len();
        if self.has_large_answers() != (bytes >= LARGE_ANSWER_BYTES) {
            self.large_answers
                .store(bytes >= LARGE_ANSWER_BYTES, Ordering::Relaxed);
        }
        if bytes == 0 || (is_http1 && bytes <= FREE_BYTES) {
            return answer;
        }
        self.held().take_anyway(bytes);
        let unsent = self.unsent.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unsent >= WATCHED_BYTES {
            self.watched.notify_one();
        }
        let lease = Unsent {
            connection: Arc::clone(self),
            bytes,
        };
        LeasedBytes::wrap(answer, lease)
    }

    /// Returns when the client has stopped reading its answers.
    pub(crate) async fn stops_reading(&self) {
        loop {
            self.watched.notified().await;
            let mut slow_for = 0;
            let mut seen = self.written.load(Ordering::Relaxed);
            while self.unsent() >= WATCHED_BYTES {
                tokio::time::sleep(pace::READER_PERIOD).await;
                let written = self.written.load(Ordering::Relaxed);
                slow_for = pace::slow_periods(slow_for, written - seen);
                seen = written;
                if pace::is_reader_too_slow(slow_for, self.held().is_short()) {
                    self.admission.counts.give_up_reader();
                    return;
                }
            }
        }
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.connection.unsent.fetch_sub(self.bytes, Ordering::Relaxed);
        self.connection.held().release(self.bytes);
        self.connection.fewer.notify_waiters();
    }
}
