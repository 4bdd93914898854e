//! Why a copy does not go on.

use trestle_admin::AdminError;
use trestle_api::Error;

/// Why a copy does not go on. The message names the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Something in one of the databases is in the way. Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The two sides differ, after all.
    #[error("{0}")]
    Differs(String),
    /// A database did not do what it was asked for.
    #[error("{what}: {error}")]
    Database {
        /// What it was asked for.
        what: String,
        /// What it said.
        error: Error,
    },
    /// The administration of a server did not do what it was asked for.
    #[error("{what}: {error}")]
    Administration {
        /// What it was asked for.
        what: String,
        /// What it said.
        error: AdminError,
    },
    /// The state file cannot be read or written.
    #[error("{0}")]
    State(String),
    /// A fault of ours.
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
