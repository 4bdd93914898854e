//! The import: records become rows, which are checked, written and compared.

mod check;
mod decide;
mod misfit;
mod reader;
mod row;
#[cfg(feature = "live")]
mod scan;
mod state;
mod totals;
mod verify;
mod write;

use trestle_api::Error;

pub use check::Checked;
pub use decide::Decision;
pub use misfit::{Collision, Misfit, RecordPlace};
pub use state::ImportState;
pub use totals::{EntityCounts, ImportTotals};
pub use verify::Verified;
pub use write::{Import, ImportSettings};

/// Receives events and progress of an import.
pub trait Observer {
    /// A row does not fit.
    fn misfit(&mut self, misfit: &Misfit);
    /// An imported row was not written because of an existing row, or the database refused it.
    fn collision(&mut self, collision: &Collision);
    /// The progress, in bytes of the files.
    fn progress(&mut self, work: &'static str, done: u64, all: u64, rows: u64);
}

/// Why the work ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A file cannot be read, or has other columns.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The database cannot be reached, or refused a request that does not concern a row.
    #[error(transparent)]
    Database(#[from] Error),
    /// Rows do not fit, and nothing was written.
    #[error(
        "{0} rows do not fit, and nothing was written; correct what the report names, or skip these rows with --skip-unfit"
    )]
    Unfit(u64),
    /// The live cluster does not respond, or responds unexpectedly.
    #[error("{table}: {reason}")]
    Cluster {
        /// The table that was read.
        table: String,
        /// The reason.
        reason: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}
