//! What can go wrong, as callers can tell it apart.

use std::io;

use trestle::queue::QueueError;
use trestle::reindex::ReindexError;
use trestle::typed;

/// What a call answers with.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("there is no {0}")]
    NotFound(String),
    /// The request cannot be met as it is.
    #[error("{0}")]
    Invalid(String),
    /// Another request is in the way.
    #[error("{0}")]
    Conflict(String),
    /// A payload is not what its source should send.
    #[error("the payload of {id} cannot be transformed: {reason}")]
    Payload {
        /// The record.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The object store failed.
    #[error("the object store: {0}")]
    Objects(#[from] io::Error),
    /// The full-text index failed.
    #[error("the full-text index: {0}")]
    Index(String),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] typed::Error),
    /// A queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A reindex was refused, or cannot go on.
    #[error(transparent)]
    Reindex(#[from] ReindexError),
}

impl Error {
    pub(crate) fn invalid(reason: impl ToString) -> Self {
        Error::Invalid(reason.to_string())
    }
}

impl From<trestle::Error> for Error {
    fn from(error: trestle::Error) -> Self {
        Error::Database(error.into())
    }
}
