//! What can go wrong, as callers can tell it apart.

use trestle::queue::QueueError;
use trestle::typed;

/// What a call answers with.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Whatever it is, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or belongs to another domain, or is something else.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It is too late for that.
    #[error("{0}")]
    Conflict(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The program ends before it could be done.
    #[error("the program is being stopped; this goes on after the next start")]
    Stopping,
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
