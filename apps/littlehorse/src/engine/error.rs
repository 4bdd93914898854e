//! What can go wrong, as callers can tell it apart.

use trestle::{queue::QueueError, typed};

/// What a call answers with.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Whatever it is, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there, or belongs to another tenant.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The run is in a state that does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Others changed the run whenever this tried to.
    #[error("others changed it all the time; try again")]
    Busy,
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The request is no JSON, or not that of a request.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
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
            error => Error::Database(error),
        }
    }
}
