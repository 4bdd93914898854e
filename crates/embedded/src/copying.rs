//! What a copy of tables to another database needs: writing rows of Trestle's own tables that belong to models, and tables that
//! are read and not written for a while.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Database, Error, Request, ResponseFuture};
use trestle_engine::PausedTable;
use trestle_model::is_kept_about_rows;

use crate::Embedded;

impl Embedded {
    /// A handle that also writes the tables of Trestle's own that hold what models keep about rows: a copy of the rows takes
    /// them along. No model may be in force here that has such rows: they would be written behind its back.
    #[must_use]
    pub fn for_copy(&self) -> Arc<dyn Database> {
        Arc::new(CopyHandle(self.clone()))
    }

    /// Lets the rows of tables be read and not written: for so long, or until [`Embedded::resume_writes`], also after the database
    /// was closed. When it returns, everything that was written before is in the tables and their streams, and nothing
    /// comes behind it.
    pub fn pause_writes(&self, tables: &[String], time: Option<Duration>) -> Result<(), Error> {
        self.opened().engine.pause_writes(tables, time)
    }

    /// Resumes writes to tables.
    pub fn resume_writes(&self, tables: &[String]) -> Result<(), Error> {
        self.opened().engine.resume_writes(tables)
    }

    /// The tables whose rows are not written now, by name.
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
