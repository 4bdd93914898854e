//! What can go wrong, as callers can tell it apart.

use std::io;

use trestle::queue::QueueError;
use trestle::typed;

/// What a call answers with.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("there is no {0}")]
    NotFound(String),
    /// It contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The package cannot be built; trying again does not help.
    #[error("{0}")]
    Build(String),
    /// Assets cannot be stored or read.
    #[error("the asset store: {0}")]
    Assets(#[from] io::Error),
    /// The database failed.
    #[error(transparent)]
    Database(typed::Error),
    /// A queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl Error {
    pub(crate) fn invalid(reason: impl ToString) -> Self {
        Error::Invalid(reason.to_string())
    }
}

impl From<typed::Error> for Error {
    fn from(error: typed::Error) -> Self {
        match error {
            typed::Error::Refused(_) | typed::Error::Invalid(_) | typed::Error::Bookmark { .. } => {
                Error::invalid(error)
            }
            error => Error::Database(error),
        }
    }
}
