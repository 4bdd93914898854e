//! Why a benchmark could not be run.

use std::fmt::Display;

/// Why a benchmark could not be run, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BenchError(String);

impl BenchError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        BenchError(message.into())
    }
}

/// Adds what was being done when something failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl Display) -> Result<T, BenchError>;
}

impl<T, E: Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl Display) -> Result<T, BenchError> {
        self.map_err(|error| BenchError(format!("{what}: {error}")))
    }
}
