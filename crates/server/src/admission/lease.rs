//! Memory that is counted until it is dropped.

use super::held::First;
use super::{ConnectionMemory, Share, Throttled};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of the budget, on behalf of a connection.
pub(crate) struct Lease {
    connection: Arc<ConnectionMemory>,
    bytes: usize,
    /// Those of them that belong to a large body.
    body_bytes: usize,
    first: Option<First>,
}

impl Lease {
    pub(crate) fn new(connection: Arc<ConnectionMemory>) -> Self {
        Lease {
            connection,
            bytes: 0,
            body_bytes: 0,
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

    /// Grows with a large body, as soon as there is memory for it.
    pub(crate) async fn grow_with_body(&mut self, bytes: usize) -> Result<(), Throttled> {
        if self.try_grow_with_body(bytes) {
            return Ok(());
        }
        let connection = Arc::clone(&self.connection);
        let mut wait = connection.held().wait();
        while !self.try_grow_with_body(bytes) {
            wait.turn().await?;
        }
        Ok(())
    }

    /// Grows with a large body if that is possible without waiting. A connection with many large bodies
    /// leaves memory to others.
    pub(crate) fn try_grow_with_body(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let held = self.connection.held();
        let is_shared = self.connection.may_send(more) && held.try_take(more, Share::LargeBody);
        let grown = is_shared || held.try_take_first(more, &mut self.first);
        if grown {
            self.bytes += more;
            self.body_bytes += more;
            self.connection.add_body(more);
        }
        grown
    }

    /// The body has arrived and delays no other any more.
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
        if self.body_bytes > 0 {
            self.connection.remove_body(self.body_bytes);
        }
        if self.bytes > 0 {
            self.connection.held().release(self.bytes);
        }
    }
}

/// Bytes that return their lease when the last reference to them is dropped.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Admission;
    use crate::settings::Limits;
    use std::time::Duration;

    /// Clients may hold 800 bytes here, and a connection's share of bodies is 200.
    fn connections() -> (Arc<ConnectionMemory>, Arc<ConnectionMemory>) {
        let limits = Limits {
            memory_bytes_max: 1_600,
            admission: Duration::from_millis(10),
            ..Limits::default()
        };
        let admission = Admission::new(&limits);
        let connect = || ConnectionMemory::new(Arc::clone(&admission));
        (connect(), connect())
    }

    #[tokio::test]
    async fn a_connection_with_many_bodies_leaves_memory_to_others() {
        let (greedy, modest) = connections();
        let mut leases: Vec<Lease> = (0..4).map(|_| Lease::new(Arc::clone(&greedy))).collect();
        assert!(leases[0].try_grow_with_body(200));
        assert!(leases[1].try_grow_with_body(200), "one more goes first");
        assert!(!leases[2].try_grow_with_body(1));
        assert_eq!(leases[3].grow_with_body(1).await, Err(Throttled));
        assert!(Lease::new(modest).try_grow_with_body(100));
    }

    #[test]
    fn what_was_taken_is_given_back() {
        let (connection, _) = connections();
        let mut lease = Lease::new(Arc::clone(&connection));
        assert!(lease.try_grow_with_body(150));
        assert!(lease.try_grow_with_body(200));
        assert_eq!(connection.held().bytes(), 200);
        drop(lease);
        assert_eq!(connection.held().bytes(), 0);
        assert!(connection.may_send(200));
    }
}
