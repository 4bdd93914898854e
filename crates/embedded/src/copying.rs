//! Operations for a copy of tables to another database: writing Trestle's own tables that contain data of
//! models, and pausing writes.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Database, Error, Request, ResponseFuture};
use trestle_engine::PausedTable;
use trestle_model::is_kept_about_rows;

use crate::Embedded;

impl Embedded {
    /// A handle that can also write Trestle's own tables with data of models about rows, because a copy of
    /// the rows includes them. No model that has such data may be in force here: the writes bypass the
    /// models.
    #[must_use]
    pub fn for_copy(&self) -> Arc<dyn Database> {
        Arc::new(CopyHandle(self.clone()))
    }

    /// Makes the rows of tables read-only: for the given time, or until [`Embedded::resume_writes`], also
    /// after the database was closed. When this returns, all earlier writes are in the tables and their
    /// streams, and no later ones follow.
    pub fn pause_writes(&self, tables: &[String], time: Option<Duration>) -> Result<(), Error> {
        self.opened().engine.pause_writes(tables, time)
    }

    /// Resumes writes to tables.
    pub fn resume_writes(&self, tables: &[String]) -> Result<(), Error> {
        self.opened().engine.resume_writes(tables)
    }

    /// The tables whose rows are read-only now, by name.
    #[must_use]
    pub fn paused_tables(&self) -> Vec<PausedTable> {
        self.opened().engine.paused_tables()
    }
}

struct CopyHandle(Embedded);

impl Database for CopyHandle {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request.own_table_written() {
            Some(table) if is_kept_about_rows(table) => {
                Box::pin(self.0.opened().engine.start(request).into_future())
            }
            _ => self.0.execute(request),
        }
    }
}
