//! The one public error.

mod cancellation;
mod kind;
mod stock;
mod taken;

use std::fmt;

use trestle_item::Item;

pub use cancellation::{CancellationCode, CancellationReason};
pub use kind::ErrorKind;
pub use taken::Taken;

/// Why a request failed: its kind, and a message in DynamoDB's words.
#[derive(Clone, PartialEq)]
pub struct Error {
    // Boxed so that a `Result` on the hot path is not as wide as the rare failure.
    details: Box<Details>,
}

#[derive(Clone, PartialEq)]
struct Details {
    kind: ErrorKind,
    message: String,
    item: Option<Item>,
    reasons: Vec<CancellationReason>,
    taken: Option<Taken>,
    is_of_request: bool,
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            details: Box::new(Details {
                kind,
                message: message.into(),
                item: None,
                reasons: Vec::new(),
                taken: None,
                is_of_request: false,
            }),
        }
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.details.kind
    }

    /// The failure in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.details.message
    }

    /// The item that failed the condition, if the request asked for it.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        self.details.item.as_ref()
    }

    /// Why each part of a transaction failed, in order; empty for other kinds.
    #[must_use]
    pub fn reasons(&self) -> &[CancellationReason] {
        &self.details.reasons
    }

    /// The value that belongs to another row, if that is the reason.
    #[must_use]
    pub fn taken_value(&self) -> Option<&Taken> {
        self.details.taken.as_ref()
    }

    /// Whether the request alone is at fault, so that no table was read. Some servers use another message for
    /// that.
    #[must_use]
    pub fn is_of_request(&self) -> bool {
        self.details.is_of_request
    }

    /// The same failure, marked as found in the request alone.
    #[must_use]
    pub fn of_request(mut self) -> Self {
        self.details.is_of_request = true;
        self
    }

    /// The same failure with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.details.message = message.into();
        self
    }

    /// Adds the value that belongs to another row.
    #[must_use]
    pub fn with_taken(mut self, taken: Option<Taken>) -> Self {
        self.details.taken = taken;
        self
    }

    /// Adds the item that failed the condition.
    #[must_use]
    pub fn with_item(mut self, item: Option<Item>) -> Self {
        self.details.item = item;
        self
    }

    /// Adds the reasons of a cancelled transaction, for code that decodes errors.
    #[must_use]
    pub fn with_reasons(mut self, reasons: Vec<CancellationReason>) -> Self {
        self.details.reasons = reasons;
        self
    }
}

impl fmt::Display for Error {
    /// The message, or the kind's name where DynamoDB gives no message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            "" => f.write_str(self.kind().as_str()),
            message => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            kind,
            message,
            item,
            reasons,
            taken,
            is_of_request: _,
        } = &*self.details;
        let mut out = f.debug_struct("Error");
        out.field("kind", kind).field("message", message);
        if item.is_some() {
            out.field("item", item);
        }
        if !reasons.is_empty() {
            out.field("reasons", reasons);
        }
        if taken.is_some() {
            out.field("taken", taken);
        }
        out.finish()
    }
}

impl std::error::Error for Error {}

impl From<trestle_item::ValueError> for Error {
    fn from(error: trestle_item::ValueError) -> Self {
        Self::validation(error.to_string())
    }
}

impl From<trestle_expr::ExprError> for Error {
    fn from(error: trestle_expr::ExprError) -> Self {
        Self::validation(error.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_transaction_lists_its_codes_in_order() {
        let error = Error::transaction_canceled(vec![
            CancellationReason::none(),
            CancellationReason::condition_failed(None),
        ]);
        assert_eq!(
            error.message(),
            "Transaction cancelled, please refer cancellation reasons for specific reasons \
             [None, ConditionalCheckFailed]"
        );
    }

    #[test]
    fn a_reason_that_is_none_is_only_a_code() {
        assert_eq!(
            serde_json::to_string(&CancellationReason::none()).unwrap(),
            r#"{"Code":"None"}"#
        );
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn an_error_without_a_message_shows_its_kind() {
        assert_eq!(
            Error::unknown_operation().to_string(),
            "UnknownOperationException"
        );
    }
}
