//! The errors of calls.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use trestle_api::ErrorKind;
use trestle_binding::BindError;
use trestle_reindex::ReindexError;

/// Why a call was not executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdminError {
    /// The kind of error.
    pub code: AdminErrorCode,
    /// The reason, and the next step.
    pub message: String,
    /// All errors in a model file or a route file, each with its position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The reasons for refusing a model or a migration: a `Report` or a `MigrationPlan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminErrorCode {
    /// The request does not match the call's parameters.
    Invalid,
    /// The model file or the route file has errors.
    Unsound,
    /// The caller has no permission.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The endpoint has no administration: it is not a Trestle server, or the server was built without it.
    NoAdministration,
    /// The state of the database prevents the call. Nothing was changed.
    Refused,
    /// The server failed.
    Failed,
    /// No answer arrived: the server may or may not have executed the call.
    NoAnswer,
}

impl AdminErrorCode {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Invalid | Self::Unsound => 400,
            Self::Forbidden => 403,
            Self::NotFound | Self::NoAdministration => 404,
            Self::Refused => 409,
            Self::Failed | Self::NoAnswer => 500,
        }
    }
}

impl AdminError {
    /// An error with only a message.
    pub fn new(code: AdminErrorCode, message: impl Into<String>) -> Self {
        AdminError {
            code,
            message: message.into(),
            problems: Vec::new(),
            report: None,
        }
    }

    /// The request does not match the call's parameters.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::Invalid, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::NotFound, message)
    }

    /// The endpoint has no administration.
    pub fn no_administration(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::NoAdministration, message)
    }

    /// The server failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(AdminErrorCode::Failed, message.to_string())
    }

    /// The state of the database prevents the call; `report` has the reasons.
    pub fn refused(message: impl Into<String>, report: &impl Serialize) -> Self {
        match serde_json::to_value(report) {
            Ok(report) => AdminError {
                report: Some(report),
                ..Self::new(AdminErrorCode::Refused, message)
            },
            Err(error) => {
                debug_assert!(false, "a report is no JSON: {error}");
                Self::failed(format!("internal error: a report is no JSON: {error}"))
            }
        }
    }

    /// What was found where a model or a migration was refused, if it is of this type.
    #[must_use]
    pub fn found<T: DeserializeOwned>(&self) -> Option<T> {
        let report = self.report.as_ref()?;
        T::deserialize(report).ok()
    }

    /// A file has errors.
    pub fn unsound(what: &str, problems: Vec<String>) -> Self {
        AdminError {
            message: format!("{what} cannot be used: {}", problems.join("\n")),
            problems,
            ..Self::new(AdminErrorCode::Unsound, "")
        }
    }
}

impl From<BindError> for AdminError {
    fn from(error: BindError) -> Self {
        let code = match &error {
            BindError::Unsound(problems) => {
                let problems = problems.iter().map(ToString::to_string).collect();
                return AdminError::unsound("the model", problems);
            }
            BindError::NoModel { .. } | BindError::NoMigration { .. } => AdminErrorCode::NotFound,
            BindError::OnTheMove { .. } | BindError::NothingMoves { .. } | BindError::NotNow { .. } => {
                AdminErrorCode::Refused
            }
            _ => AdminErrorCode::Failed,
        };
        AdminError::new(code, error.to_string())
    }
}

impl From<ReindexError> for AdminError {
    fn from(error: ReindexError) -> Self {
        let code = match &error {
            ReindexError::Refused(_) => AdminErrorCode::Invalid,
            ReindexError::Unknown(_) => AdminErrorCode::NotFound,
            ReindexError::NothingListens(_) => AdminErrorCode::Refused,
            ReindexError::Database(error) if error.kind() == ErrorKind::Validation => AdminErrorCode::Invalid,
            _ => AdminErrorCode::Failed,
        };
        AdminError::new(code, error.to_string())
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AdminError {}
