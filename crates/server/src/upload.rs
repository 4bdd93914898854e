//! A request's body before it is read, and its connection.

use crate::admission::{ConnectionMemory, Lease};
use crate::body::drain;
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap};
use hyper::{Request, Version};
use std::sync::Arc;

/// A body that was not read yet. If it is dropped, its bytes are discarded as they arrive, so that the client
/// receives the refusal.
pub(crate) struct Upload {
    /// Empty once it is being read.
    body: Option<Incoming>,
    connection: Arc<ConnectionMemory>,
    /// On HTTP/1.1 a connection has one request at a time.
    pub(crate) is_alone: bool,
    /// The client waits for permission to send.
    waits: bool,
}

impl Upload {
    pub(crate) fn new(
        request: Request<Incoming>,
        connection: Arc<ConnectionMemory>,
    ) -> (hyper::http::request::Parts, Self) {
        let (head, body) = request.into_parts();
        let upload = Upload {
            body: Some(body),
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

    /// What the connection holds.
    pub(crate) fn connection(&self) -> Arc<ConnectionMemory> {
        Arc::clone(&self.connection)
    }

    /// The bytes that will arrive at least.
    pub(crate) fn announced(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.size_hint().lower())
    }

    /// The body, to be read.
    pub(crate) fn into_body(mut self) -> Option<Incoming> {
        self.body.take()
    }
}

/// A client that waits for permission to send has not sent anything, and reading would grant the permission.
impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(body) = self.body.take()
            && !self.waits
            && !body.is_end_stream()
        {
            drain(body);
        }
    }
}

/// Whether a connection has one request at a time.
pub(crate) fn is_http1(version: Version) -> bool {
    version < Version::HTTP_2
}

fn waits(headers: &HeaderMap) -> bool {
    headers.contains_key(header::EXPECT)
}
