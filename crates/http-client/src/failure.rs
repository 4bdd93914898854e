//! Why there is no answer.

use crate::endpoint::Endpoint;
use std::error::Error as _;
use std::fmt::Display;
use std::io;

/// Why there is no answer, in words and for code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What to make of it.
    pub kind: FailureKind,
    /// In words, with the endpoint.
    pub message: String,
}

/// What a failure means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Nobody is there, or nobody was in time. Nothing was sent.
    NoConnection,
    /// Whoever is there could not prove to be who was meant. Nothing was sent.
    Untrusted,
    /// Whoever is there does not speak this protocol.
    NotHttp,
    /// The request was sent, or may have been, and the answer did not arrive.
    Lost,
    /// The answer is larger than allowed.
    TooLarge,
}

impl FailureKind {
    /// Whether the request may have arrived.
    pub fn may_have_arrived(self) -> bool {
        matches!(self, FailureKind::Lost | FailureKind::TooLarge)
    }
}

impl Failure {
    pub(crate) fn no_connection(endpoint: &Endpoint, why: &dyn Display) -> Self {
        Failure {
            kind: FailureKind::NoConnection,
            message: format!("no connection to {}: {why}", endpoint.authority),
        }
    }

    pub(crate) fn lost(endpoint: &Endpoint, why: &dyn Display) -> Self {
        Failure {
            kind: FailureKind::Lost,
            message: format!("no answer from {}: {why}", endpoint.authority),
        }
    }

    pub(crate) fn too_large(endpoint: &Endpoint, bytes: usize) -> Self {
        Failure {
            kind: FailureKind::TooLarge,
            message: format!(
                "no answer from {}: it is longer than {bytes} bytes",
                endpoint.authority
            ),
        }
    }

    fn not_http(endpoint: &Endpoint, why: &dyn Display) -> Self {
        let (spoken, other) = if endpoint.is_https {
            ("HTTPS", "http://")
        } else {
            ("HTTP", "https://")
        };
        Failure {
            kind: FailureKind::NotHttp,
            message: format!(
                "what answers at {} does not speak {spoken}: {why}; should the URL begin with {other}?",
                endpoint.authority
            ),
        }
    }

    /// A handshake that failed.
    pub(crate) fn of_tls(endpoint: &Endpoint, error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(rustls::Error::InvalidCertificate(why)) => Failure {
                kind: FailureKind::Untrusted,
                message: format!("the certificate of {} is not trusted: {why}", endpoint.authority),
            },
            Some(rustls::Error::InvalidMessage(why)) => {
                Failure::not_http(endpoint, &format_args!("{why:?} instead of TLS"))
            }
            _ => Failure::no_connection(endpoint, error),
        }
    }

    /// An exchange that failed.
    pub(crate) fn of_exchange(endpoint: &Endpoint, error: &hyper::Error) -> Self {
        if error.is_parse() {
            return Failure::not_http(endpoint, error);
        }
        match error.source() {
            Some(source) => Failure::lost(endpoint, &format_args!("{error}: {source}")),
            None => Failure::lost(endpoint, error),
        }
    }
}
