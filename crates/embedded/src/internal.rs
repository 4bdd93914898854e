//! The database for Trestle's own parts: queues and routes write their tables, and routes read changes that
//! clients do not see any more.

use std::future::IntoFuture;
use std::sync::Arc;

use trestle_api::{Database, Error, Request, ResponseFuture, RowPage};
use trestle_binding::stored;
use trestle_events::RowSource;
use trestle_item::Item;

use crate::opened::Opened;

/// A handle for queues and routes. It keeps the database open, and is not given to clients.
#[derive(Clone)]
pub(crate) struct Internal(pub(crate) Arc<Opened>);

impl Database for Internal {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        // The only place that reads changes older than the retention.
        Box::pin(self.0.engine.start_for_routes(request).into_future())
    }
}

/// The order of rows depends on the models in force, and each version of a model is stored under its own
/// name.
impl RowSource for Internal {
    fn page(&self, table: &str, after: Option<&Item>, limit: u32) -> Result<RowPage, Error> {
        self.0.engine.row_page(table, after, limit, stored::PREFIX)
    }
}
