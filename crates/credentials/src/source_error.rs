//! Why a source has no credentials.

use std::fmt;

/// Why a source has no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceError {
    /// The source is not configured: the next source is tried.
    NotSetUp(String),
    /// The source is configured but fails: no other source is tried.
    Failed(String),
}

impl SourceError {
    pub(crate) fn not_set_up(why: impl Into<String>) -> Self {
        SourceError::NotSetUp(why.into())
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        SourceError::Failed(why.into())
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::NotSetUp(why) | SourceError::Failed(why) => f.write_str(why),
        }
    }
}
