//! Why a request failed, in classes for clients.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use trestle_queue::{ErrorCode, QueueError};
use trestle_reindex::ReindexError;
use trestle_typed as typed;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The result of a call of an application.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call of an application failed. Errors of the typed client, of queues and of reindexes become one with `?`.
///
/// As an answer it is `{"error": "…"}` with the status of its class. The text of [`Error::Failed`] goes to the log only:
/// it may contain internals that a client must not see.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// 400: the request is invalid, or too large.
    #[error("{0}")]
    Invalid(String),
    /// 401: the client must authenticate with a key as bearer token.
    #[error("{0}")]
    Unauthorized(String),
    /// 403: this client is not allowed to do that.
    #[error("{0}")]
    Forbidden(String),
    /// 404: it does not exist.
    #[error("{0}")]
    NotFound(String),
    /// 409: the present state does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// 503: the same request may succeed later.
    #[error("{0}")]
    Busy(String),
    /// 500: another fault, which the client cannot correct.
    #[error("{0}")]
    Failed(Cause),
}

impl Error {
    /// The request is invalid, for this reason.
    pub fn invalid(reason: impl ToString) -> Self {
        Error::Invalid(reason.to_string())
    }

    /// "there is no …".
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Error::NotFound(format!("there is no {what}"))
    }

    /// Another fault.
    pub fn failed(cause: impl Into<Cause>) -> Self {
        Error::Failed(cause.into())
    }

    /// The HTTP status of its class.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Error::Forbidden(_) => StatusCode::FORBIDDEN,
            Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The text for the client. The text of [`Error::Failed`] goes to the log.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Error::Failed(error) => {
                tracing::error!(%error, "a request failed");
                "the request failed; the log of the server says why".to_owned()
            }
            told => told.to_string(),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        let asks = matches!(self, Error::Unauthorized(_)).then_some([(WWW_AUTHENTICATE, "Bearer")]);
        (status, asks, Json(json!({ "error": self.told() }))).into_response()
    }
}

impl From<typed::Error> for Error {
    fn from(error: typed::Error) -> Self {
        use typed::Error::{Bookmark, NotFound};
        match error {
            Bookmark { .. } => Error::invalid(error),
            error if error.is_invalid() => Error::invalid(error),
            NotFound(_) => Error::NotFound(error.to_string()),
            error if error.is_condition() || error.is_taken() => Error::Conflict(error.to_string()),
            error if error.is_transient() => Error::Busy(error.to_string()),
            error => Error::failed(error),
        }
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        typed::Error::from(error).into()
    }
}

impl From<QueueError> for Error {
    fn from(error: QueueError) -> Self {
        match error.code() {
            ErrorCode::QueueDoesNotExist => Error::NotFound(error.to_string()),
            _ => Error::failed(error),
        }
    }
}

impl From<ReindexError> for Error {
    fn from(error: ReindexError) -> Self {
        match error {
            ReindexError::Unknown(_) => Error::NotFound(error.to_string()),
            ReindexError::Database(error) => error.into(),
            refused => Error::Conflict(refused.to_string()),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::failed(error)
    }
}

/// The application's own data is not the expected JSON. Data of clients is read by axum's `Json`.
impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Error::failed(error)
    }
}
