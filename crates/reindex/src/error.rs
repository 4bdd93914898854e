//! Why a reindex is refused or cannot continue.

use trestle_api::Error;

/// Why a reindex is refused or cannot continue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReindexError {
    /// It cannot be done as requested; the message says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// There is no such reindex.
    #[error("there is no reindex {0}; `trestle reindex list` shows those there are")]
    Unknown(String),
    /// Nothing reads the change records that the reindex would cause; `force` starts it anyway.
    #[error("{0}; to start it anyway, give --force")]
    NothingListens(String),
    /// The database refused.
    #[error(transparent)]
    Database(#[from] Error),
}

impl ReindexError {
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }

    /// A stored row that cannot be interpreted, or a defect of the code.
    pub(crate) fn defect(message: impl Into<String>) -> Self {
        Self::Database(Error::defect(message.into()))
    }
}
