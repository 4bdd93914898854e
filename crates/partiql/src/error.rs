//! Why a statement was refused.

use crate::span::Span;

/// A refusal, in DynamoDB's words. The operation answers it as a `ValidationException`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StatementError(String);

impl StatementError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The text cannot be read at all. An empty `detail` is DynamoDB's answer to characters it cannot split
    /// into tokens.
    pub(crate) fn not_well_formed(detail: &str) -> Self {
        Self(format!(
            "Statement wasn't well formed, can't be processed: {detail}"
        ))
    }

    /// A refusal that points at a token of the statement.
    pub(crate) fn at(message: impl std::fmt::Display, span: Span) -> Self {
        Self(format!("{message} at {span}"))
    }
}

pub(crate) type Result<T> = std::result::Result<T, StatementError>;
