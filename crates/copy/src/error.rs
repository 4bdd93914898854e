//! The errors of a copy.

use trestle_admin::AdminError;
use trestle_api::Error;

/// Why a copy cannot continue. The message names the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The state of one of the databases prevents the copy. Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The two sides differ although everything was copied.
    #[error("{0}")]
    Differs(String),
    /// A request to a database failed.
    #[error("{what}: {error}")]
    Database {
        /// The request.
        what: String,
        /// The error of the database.
        error: Error,
    },
    /// A call to the administration of a server failed.
    #[error("{what}: {error}")]
    Administration {
        /// The call.
        what: String,
        /// The error of the server.
        error: AdminError,
    },
    /// The state file cannot be read or written.
    #[error("{0}")]
    State(String),
    /// A defect of this program.
    #[error("internal error: {0}")]
    Defect(String),
}

impl CopyError {
    pub(crate) fn database(what: impl Into<String>) -> impl FnOnce(Error) -> Self {
        let what = what.into();
        move |error| Self::Database { what, error }
    }

    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
