//! Applying the model of a typed client to a database.

use trestle_binding::{BindError, Report};
use trestle_typed::Model;

use crate::WithModels;

/// Why a model was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The model cannot be bound to the database.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The state of the database prevents it; nothing was changed.
    #[error("{0}")]
    Refused(Box<Report>),
    /// The server that stores the models of the endpoint refused the model, or did not respond.
    #[error("the server at the endpoint: {0}")]
    Server(String),
}

/// Applies the model: its tables are created or altered, and its keys, checks and effects are part of every
/// commit from then on. A repetition changes nothing; a program calls it at every start.
///
/// Generated clients have it as `apply_to`. For rows that are older than the model, and for a dry run, see
/// [`WithModels::apply_model_with`].
pub fn apply<M: Model>(db: &impl WithModels) -> Result<Report, ApplyError> {
    db.apply_model(M::definition().text())
}
