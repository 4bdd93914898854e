//! Applying the model of a typed client to the embedded engine.

use std::sync::Arc;

use trestle_binding::{ApplyOptions, BindError, Binding, Nobody, Report};
use trestle_engine::Engine;
use trestle_typed::Model;

/// Why a model was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// It cannot be bound to the database.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Something is in the way; nothing was changed.
    #[error("{0}")]
    Refused(Box<Report>),
}

/// Makes the database what the model says: its tables are created or altered, and its keys, checks and effects are part
/// of every commit from then on. Repeating it does nothing more; a program calls it whenever it starts.
///
/// Generated clients have it as `apply_to`. For rows that are older than the model, and for a dry run, see
/// [`Binding::apply`].
pub fn apply<M: Model>(engine: &Engine) -> Result<Report, ApplyError> {
    let binding = Binding::open(engine.clone(), Arc::clone(engine.clock()))?;
    let report = binding.apply(M::definition().text(), ApplyOptions::default(), &mut Nobody)?;
    if report.is_refused() {
        return Err(ApplyError::Refused(Box::new(report)));
    }
    Ok(report)
}
