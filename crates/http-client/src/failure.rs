//! Why a request got no response.

use crate::endpoint::Endpoint;
use std::error::Error as _;
use std::fmt;
use std::io;

/// Why a request got no response, for people and for code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The host that was called, with its port.
    pub authority: String,
    /// The reason, without the host.
    pub why: String,
}

/// What a failure means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// No server was reached, or it did not accept in time. Nothing was sent.
    NoConnection,
    /// The server could not prove its identity. Nothing was sent.
    Untrusted,
    /// The server does not use this protocol, and cannot have understood the request.
    NotHttp,
    /// The request was sent, or may have been, and no response arrived.
    Lost,
    /// The response is larger than allowed.
    TooLarge,
}

impl FailureKind {
    /// Whether the request may have been executed.
    pub fn may_have_arrived(self) -> bool {
        matches!(self, FailureKind::Lost | FailureKind::TooLarge)
    }

    /// Whether trying again may help.
    pub fn is_passing(self) -> bool {
        matches!(self, FailureKind::NoConnection | FailureKind::Lost)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning = match self.kind {
            FailureKind::NoConnection => "no connection to",
            FailureKind::Untrusted => "no trust in the certificate of",
            FailureKind::NotHttp | FailureKind::Lost | FailureKind::TooLarge => "no answer from",
        };
        write!(f, "{beginning} {}: {}", self.authority, self.why)
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, endpoint: &Endpoint, why: impl fmt::Display) -> Self {
        Failure {
            kind,
            authority: endpoint.authority.clone(),
            why: why.to_string(),
        }
    }

    pub(crate) fn no_connection(endpoint: &Endpoint, why: impl fmt::Display) -> Self {
        Failure::new(FailureKind::NoConnection, endpoint, why)
    }

    pub(crate) fn lost(endpoint: &Endpoint, why: impl fmt::Display) -> Self {
        Failure::new(FailureKind::Lost, endpoint, why)
    }

    fn not_http(endpoint: &Endpoint, why: impl fmt::Display) -> Self {
        let (spoken, other) = if endpoint.is_https {
            ("HTTPS", "http://")
        } else {
            ("HTTP", "https://")
        };
        let why = format!("it does not speak {spoken} ({why}); should the URL begin with {other}?");
        Failure::new(FailureKind::NotHttp, endpoint, why)
    }

    /// A handshake that failed.
    pub(crate) fn of_tls(endpoint: &Endpoint, error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(rustls::Error::InvalidCertificate(why)) => {
                Failure::new(FailureKind::Untrusted, endpoint, why)
            }
            Some(rustls::Error::InvalidMessage(_)) => Failure::not_http(endpoint, error),
            _ => Failure::no_connection(endpoint, error),
        }
    }

    /// An exchange that failed.
    pub(crate) fn of_exchange(endpoint: &Endpoint, error: &hyper::Error) -> Self {
        if error.is_parse() {
            return Failure::not_http(endpoint, error);
        }
        match error.source() {
            Some(source) => Failure::lost(endpoint, format_args!("{error}: {source}")),
            None => Failure::lost(endpoint, error),
        }
    }
}
