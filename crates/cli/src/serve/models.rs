//! The models of a server: stored with its data, or given at the start.

use crate::administration::models::Log;
use crate::exit::{Code, Failure};
use std::path::{Path, PathBuf};
use trestle_binding::{BindError, Report};
use trestle_embedded::{ApplyOptions, Models, Standing};
use trestle_embedded::{Embedded, OpenError};

/// Applies the given files, then puts all stored models to work.
pub(super) fn begin(db: &Embedded, files: &[PathBuf]) -> Result<(), Failure> {
    // Applied first: a file may replace a stored model that does not load.
    apply_files(db.models(), files)?;
    db.begin_work().map_err(|error| match error {
        OpenError::Models(error) => Failure::new(Code::BadModel, error),
        other => Failure::failed(other),
    })?;
    log_in_force(db.models());
    Ok(())
}

/// Applies the files with new versions.
pub(super) fn apply_files(models: &Models, files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|file| apply(models, file))
}

/// Logs which models are in force.
pub(super) fn log_in_force(models: &Models) {
    for model in models.list() {
        tracing::info!(
            "model {}, version {}, is in effect for {}",
            model.name,
            model.version,
            model.tables.join(", ")
        );
    }
}

/// Applies a file with a new version. An earlier version changes nothing: a server that is restarted with its
/// original file does not undo later versions.
fn apply(models: &Models, file: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the model file {}: {error}", file.display())))?;
    let standing = models.standing(&text).map_err(Failure::failed)?;
    if let Some(warning) = stays(&text, file, standing) {
        tracing::warn!("{warning}");
        return Ok(());
    }
    let applied = models.apply(&text, ApplyOptions::default(), &mut Log);
    let report = applied.map_err(|error| not_applied(file, &error))?;
    if report.is_refused() {
        return Err(refused(file, &report));
    }
    for line in report.to_string().lines() {
        tracing::info!("{}: {line}", file.display());
    }
    Ok(())
}

/// Why the version in force stays, if it differs from the file and the file is not newer.
fn stays(text: &str, file: &Path, standing: Standing) -> Option<String> {
    let file = file.display();
    let name = trestle_model::load(text)
        .model
        .map(|model| model.name().to_owned())?;
    match standing {
        Standing::New | Standing::InForce => None,
        Standing::Planned { in_force } => Some(format!(
            "a migration of model {name} to {file} is planned; version {in_force} is in force until it is started: `trestle \
             migrate start` begins it"
        )),
        Standing::Earlier { version, in_force } => Some(format!(
            "{file} is version {version} of model {name}; version {in_force} is in force and stays so. Start the server with the \
             file of version {in_force} (`trestle model list {name}` prints it). To go back, `trestle model apply {file}` applies \
             it again, or `trestle migrate plan {file}` if its keys differ"
        )),
    }
}

fn not_applied(file: &Path, error: &BindError) -> Failure {
    let file = file.display();
    match error {
        BindError::Unsound(_) | BindError::StoredUnsound { .. } => {
            Failure::new(Code::BadModel, format!("{file}: {error}"))
        }
        BindError::OnTheMove { .. } => Failure::new(
            Code::ModelRefused,
            format!("cannot apply {file}: {error}; until then start the server without `--model {file}`"),
        ),
        other => Failure::failed(format!("cannot apply {file}: {other}")),
    }
}

fn refused(file: &Path, report: &Report) -> Failure {
    let file = file.display();
    Failure::new(
        Code::ModelRefused,
        format!(
            "cannot apply {file}:\n{report}\nthe server starts without `--model {file}`, with the version in force; then \
             `trestle model apply {file} --fill` fills in rows, and `trestle migrate plan {file}` moves them to other keys"
        ),
    )
}
