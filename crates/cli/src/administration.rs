//! The administration for commands: of a running server, or of a directory that no server has open.

pub(crate) mod collections;
pub(crate) mod copies;
mod directory;
pub(crate) mod models;
mod place;
mod progress;
pub(crate) mod reindexes;
mod running_server;
pub(crate) mod touches;
mod waiting;

pub(crate) use directory::DirectoryAdministration;
pub(crate) use place::PlaceFlags;
pub(crate) use running_server::{RunningServer, no_answer};

use crate::exit::{Code, Failure};
use crate::model::line;
use serde::de::DeserializeOwned;
use trestle_admin::{AdminError, AdminErrorCode};

/// The hint for commands that also work without a server.
pub(crate) const USE_DATA: &str = "for a database that is not running, use --data";

/// The hint for commands that need a server.
pub(crate) const START_ONE: &str = "start one with `trestle serve`, or say where it is with --endpoint";

impl From<AdminError> for Failure {
    fn from(error: AdminError) -> Self {
        let code = match error.code {
            AdminErrorCode::Unsound => Code::BadModel,
            AdminErrorCode::Refused => Code::ModelRefused,
            AdminErrorCode::Invalid
            | AdminErrorCode::Forbidden
            | AdminErrorCode::NotFound
            | AdminErrorCode::NoAdministration
            | AdminErrorCode::Failed
            | AdminErrorCode::NoAnswer => Code::Failed,
        };
        Failure::new(code, error)
    }
}

/// The report in the error of a refused call: it contains the reasons.
pub(crate) fn reported<R: DeserializeOwned>(error: AdminError) -> Result<R, Failure> {
    match error.report {
        Some(report) => serde_json::from_slice(report.to_string().as_bytes())
            .map_err(|error| Failure::failed(format!("the answer cannot be understood: {error}"))),
        None => Err(error.into()),
    }
}

/// Prints an answer as JSON in a line.
pub(crate) fn print_json(answer: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(answer);
    line(&json.map_err(|error| Failure::failed(format!("the answer is not JSON: {error}")))?);
    Ok(())
}
