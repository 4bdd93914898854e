//! No answer.

use trestle_api::{Error, OperationName};
use trestle_http_client::{Failure, FailureKind, Repeat};

/// The endpoint gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoAnswer {
    /// What to do about it.
    pub kind: FailureKind,
    message: String,
}

impl NoAnswer {
    /// The advice for a failure on the way to `url`.
    #[must_use]
    pub fn at(url: &str, failure: &Failure) -> Self {
        let why = &failure.why;
        let message = match failure.kind {
            FailureKind::NoConnection => format!("no server at {url}: {why}"),
            FailureKind::Untrusted => format!(
                "the certificate of {url} is not trusted: {why}; name the PEM file of its authority with ca_file or \
                 AWS_CA_BUNDLE"
            ),
            FailureKind::NotHttp | FailureKind::Lost | FailureKind::TooLarge => {
                format!("no answer from {url}: {why}")
            }
        };
        NoAnswer {
            kind: failure.kind,
            message,
        }
    }

    /// Whether the request may be sent again.
    pub(crate) fn to(operation: OperationName, url: &str, failure: &Failure, repeat: Repeat) -> Self {
        let mut lost = NoAnswer::at(url, failure);
        if failure.kind.may_have_arrived() && repeat == Repeat::Never {
            lost.message += &unknown(operation);
        }
        lost
    }
}

/// The addition to the message about a write whose answer is lost.
pub(crate) fn unknown(operation: OperationName) -> String {
    format!("; whether the {operation} was carried out is not known: look before you send it again")
}

impl From<NoAnswer> for Error {
    fn from(lost: NoAnswer) -> Self {
        Error::internal(lost.message)
    }
}
