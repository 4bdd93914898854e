//! A request's body before it is read, and the connection it arrives on.

use crate::admission::{ConnectionMemory, Lease};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap};
use hyper::{Request, Version};
use std::sync::Arc;

/// A body that was not read yet.
pub(crate) struct Upload {
    pub(crate) body: Incoming,
    connection: Arc<ConnectionMemory>,
    /// On HTTP/1.1 a connection has one request at a time.
    pub(crate) is_alone: bool,
    /// The client waits for permission to send.
    pub(crate) waits: bool,
}

impl Upload {
    pub(crate) fn new(
        request: Request<Incoming>,
        connection: Arc<ConnectionMemory>,
    ) -> (hyper::http::request::Parts, Self) {
        let (head, body) = request.into_parts();
        let upload = Upload {
            body,
            connection,
            is_alone: is_http1(head.version),
            waits: waits(&head.headers),
        };
        (head, upload)
    }

    /// Memory on behalf of the connection; none yet.
    pub(crate) fn lease(&self) -> Lease {
        Lease::new(Arc::clone(&self.connection))
    }

    /// Returns when the client has read enough of earlier answers to be given another.
    pub(crate) async fn client_reads(&self) {
        self.connection.reads().await;
    }

    /// Bytes that will arrive at least.
    pub(crate) fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }
}

/// Whether a connection has one request at a time.
pub(crate) fn is_http1(version: Version) -> bool {
    version < Version::HTTP_2
}

fn waits(headers: &HeaderMap) -> bool {
    headers.contains_key(header::EXPECT)
}
