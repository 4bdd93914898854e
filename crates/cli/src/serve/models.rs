//! The models of a server: those that are stored with its data, and those given at the start.

use crate::exit::{Code, Failure};
use crate::model::keeper::{Keeper, Log};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trestle_binding::{ApplyOptions, BindError, Binding};
use trestle_engine::Engine;
use trestle_env::Clock;

/// Loads what is stored, then applies what was given.
pub(super) fn open(engine: Engine, clock: &Arc<dyn Clock>, files: &[PathBuf]) -> Result<Keeper, Failure> {
    let binding = Binding::read(engine, Arc::clone(clock)).map_err(Failure::failed)?;
    // Applied first: a file may replace a stored model that does not load.
    for file in files {
        apply(&binding, file)?;
    }
    binding
        .enforce()
        .map_err(|error| Failure::new(Code::BadModel, error))?;
    for model in binding.list() {
        tracing::info!(
            "model {}, version {}, is in effect for {}",
            model.name,
            model.version,
            model.tables.join(", ")
        );
    }
    Ok(Keeper(Arc::new(binding)))
}

fn apply(binding: &Binding, file: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the model file {}: {error}", file.display())))?;
    let applied = binding.apply(&text, ApplyOptions::default(), &mut Log);
    let report = applied.map_err(|error| match error {
        BindError::Unsound(_) | BindError::StoredUnsound { .. } => {
            Failure::new(Code::BadModel, format!("{}: {error}", file.display()))
        }
        other => Failure::failed(format!("cannot apply {}: {other}", file.display())),
    })?;
    if report.is_refused() {
        return Err(Failure::new(
            Code::ModelRefused,
            format!("cannot apply {}:\n{report}", file.display()),
        ));
    }
    for line in report.to_string().lines() {
        tracing::info!("{}: {line}", file.display());
    }
    Ok(())
}
