//! Why a call was not carried out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use trestle_api::ErrorKind;
use trestle_binding::BindError;
use trestle_reindex::ReindexError;

/// Why a call was not carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdminError {
    /// What sort of reason.
    pub code: AdminErrorCode,
    /// The reason, and the way out.
    pub message: String,
    /// Everything that is wrong with a model file or a route file, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What was found where a model or a migration was refused: a `Report` or a `MigrationPlan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
}

/// What sort of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminErrorCode {
    /// The request is not what the call takes.
    Invalid,
    /// The model file or the route file has errors.
    Unsound,
    /// The caller may not.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// No call can be carried out here: the endpoint is not a Trestle server, or the server was built without the administration.
    NoAdministration,
    /// The state of the database is in the way. Nothing was changed.
    Refused,
    /// The server failed.
    Failed,
    /// No answer came: the server may have carried out the call or not.
    NoAnswer,
}

impl AdminErrorCode {
    /// The status over HTTP.
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
    /// An error without more than words.
    pub fn new(code: AdminErrorCode, message: impl Into<String>) -> Self {
        AdminError {
            code,
            message: message.into(),
            problems: Vec::new(),
            report: None,
        }
    }

    /// The request is not what the call takes.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::Invalid, message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::NotFound, message)
    }

    /// No call can be carried out here.
    pub fn no_administration(message: impl Into<String>) -> Self {
        Self::new(AdminErrorCode::NoAdministration, message)
    }

    /// The server failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(AdminErrorCode::Failed, message.to_string())
    }

    /// The state of the database is in the way; what was found there.
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
