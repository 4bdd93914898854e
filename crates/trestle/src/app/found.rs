//! Rows that may be missing.

use std::fmt::Display;

use trestle_typed as typed;

use super::{Error, Result};

/// For rows that a request names and that may be missing.
pub trait OrNotFound<T> {
    /// The row, or the error "there is no …", which is a 404.
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

/// For reads and deletes of rows that a client names.
pub trait OrNothing<T> {
    /// The row, or nothing if the model refuses the key: no row can have it, so this is the same as a missing
    /// row.
    ///
    /// Not for writes of values that a client sends: refusals of the model must be reported for these
    /// ([`Error::Invalid`]).
    ///
    /// ```no_run
    /// # mod shop { trestle::model!("examples/shop.toml"); }
    /// use trestle::app::{self, OrNotFound as _, OrNothing as _};
    ///
    /// # async fn read(db: shop::Shop<trestle::Embedded>, id: &str) -> app::Result<shop::Customer> {
    /// let found = db.get(shop::CustomerKey::new(id)).await.or_nothing()?;
    /// found.or_not_found("such customer")
    /// # }
    /// ```
    fn or_nothing(self) -> std::result::Result<T, typed::Error>;
}

impl<T: Default> OrNothing<T> for std::result::Result<T, typed::Error> {
    fn or_nothing(self) -> Self {
        match self {
            Err(typed::Error::Refused(_)) => Ok(T::default()),
            found => found,
        }
    }
}
