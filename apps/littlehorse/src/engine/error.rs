//! What can go wrong, as callers can tell it apart.

use trestle::{queue::QueueError, typed};

/// What a call answers with.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Unless the database or a queue failed, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or belongs to another tenant.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The run is in a state that does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Others were faster each time, or the database has too much to do.
    #[error("there is too much to do; try again")]
    Busy,
    /// The request makes no sense, or is too large.
    #[error("{0}")]
    Invalid(String),
    /// A workflow that is stored is not one of this version.
    #[error("what is stored cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The database failed.
    #[error(transparent)]
    Database(typed::Error),
    /// A queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl From<typed::Error> for Error {
    fn from(error: typed::Error) -> Self {
        use typed::Error::{Bookmark, Invalid, Refused};
        match error {
            Refused(_) | Invalid(_) | Bookmark { .. } => Error::Invalid(error.to_string()),
            error if error.is_transient() => Error::Busy,
            error => Error::Database(error),
        }
    }
}
