//! What may not be there.

use std::fmt::Display;

use super::{Error, Result};

/// For what a request names and the database may not have.
pub trait OrNotFound<T> {
    /// What is there, or the error "there is no …", which is a 404.
    ///
    /// ```
    /// use trestle::app::{Error, OrNotFound as _};
    ///
    /// assert_eq!(Some(1).or_not_found("order 1").unwrap(), 1);
    /// let missing = None::<u32>.or_not_found(format_args!("order {}", 2)).unwrap_err();
    /// assert!(matches!(missing, Error::NotFound(why) if why == "there is no order 2"));
    /// ```
    fn or_not_found(self, what: impl Display) -> Result<T>;
}

impl<T> OrNotFound<T> for Option<T> {
    fn or_not_found(self, what: impl Display) -> Result<T> {
        self.ok_or_else(|| Error::not_found(what))
    }
}
