//! The database as Trestle's own parts use it: queues and routes write their tables, and routes read changes that clients do
//! not see any more.

use std::future::IntoFuture;
use std::sync::Arc;

use trestle_api::{Database, Request, ResponseFuture};

use crate::opened::Opened;

/// A handle for queues and routes. It keeps the database open, and it is not handed out.
#[derive(Clone)]
pub(crate) struct Internal(pub(crate) Arc<Opened>);

impl Database for Internal {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        // The one place where changes are read that are older than the retention.
        Box::pin(self.0.engine.start_for_routes(request).into_future())
    }
}
