//! The values for a statement's `?`s.

use trestle_item::AttributeValue;

use crate::error::{Result, StatementError};

/// The request's parameters. More than the statement has `?`s are accepted, as DynamoDB does.
#[derive(Clone, Copy)]
pub(crate) struct Parameters<'a>(pub(crate) &'a [AttributeValue]);

impl<'a> Parameters<'a> {
    /// The value for the `?` at `place`, counted from zero.
    pub(crate) fn get(self, place: usize) -> Result<&'a AttributeValue> {
        self.0
            .get(place)
            .ok_or_else(|| StatementError::new("Number of parameters in request and statement don't match."))
    }
}
