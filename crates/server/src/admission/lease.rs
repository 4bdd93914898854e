//! Memory that is counted until it is dropped.

use super::held::First;
use super::{ConnectionMemory, Share, Throttled};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of the budget, on behalf of a connection.
pub(crate) struct Lease {
    connection: Arc<ConnectionMemory>,
    bytes: usize,
    first: Option<First>,
}

impl Lease {
    pub(crate) fn new(connection: Arc<ConnectionMemory>) -> Self {
        Lease {
            connection,
            bytes: 0,
            first: None,
        }
    }

    /// Grows for a request that is small.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), Throttled> {
        let more = bytes.saturating_sub(self.bytes);
        self.connection.held().take(more, Share::Small).await?;
        self.bytes += more;
        Ok(())
    }

    /// Grows with a large body.
    pub(crate) async fn grow_with_body(&mut self, bytes: usize) -> Result<(), Throttled> {
        let more = bytes.saturating_sub(self.bytes);
        let held = self.connection.held();
        held.take_for_body(more, &mut self.first).await?;
        self.bytes += more;
        Ok(())
    }

    /// Grows with a large body if nothing has to be waited for.
    pub(crate) fn try_grow_with_body(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let held = self.connection.held();
        let grown = held.try_take_for_body(more, &mut self.first);
        if grown {
            self.bytes += more;
        }
        grown
    }

    /// The body has arrived: it holds up no other any more.
    pub(crate) fn arrived(&mut self) {
        self.first = None;
    }

    /// Whether other requests wait for memory.
    pub(crate) fn others_wait(&self) -> bool {
        self.connection.held().is_short()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.connection.held().release(self.bytes);
        }
    }
}

/// Bytes that give their lease back when the last reference to them is dropped.
pub(crate) struct LeasedBytes<L> {
    bytes: Bytes,
    _lease: L,
}

impl<L: Send + 'static> LeasedBytes<L> {
    pub(crate) fn wrap(bytes: Bytes, lease: L) -> Bytes {
        Bytes::from_owner(LeasedBytes { bytes, _lease: lease })
    }
}

impl<L> AsRef<[u8]> for LeasedBytes<L> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
