//! Writes that may find that it is too late, or that another write came first.

use crate::Error;

/// For writes whose condition may fail without that being an error.
pub trait Held<T> {
    /// What the write gave, or `None` if a condition did not hold: then nothing was written. Any other error stays one.
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
