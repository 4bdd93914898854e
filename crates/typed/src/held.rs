//! Writes whose condition may fail because another write came first.

use crate::Error;

/// For writes whose failed condition is not an error.
pub trait Held<T> {
    /// The result of the write, or `None` if a condition did not hold and nothing was written. Other errors
    /// stay errors.
    fn held(self) -> Result<Option<T>, Error>;
}

impl<T> Held<T> for Result<T, Error> {
    fn held(self) -> Result<Option<T>, Error> {
        match self {
            Ok(given) => Ok(Some(given)),
            Err(error) if error.is_condition() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
