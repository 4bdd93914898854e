//! Opening a directory that no server has open, for commands with `--data`.

use crate::exit::{Code, Failure};
use crate::verify::cannot_open;
use std::path::Path;
use trestle_embedded::{Background, DirectoryAccess, Embedded, OpenError, Options};

/// For commands that only read rows: nothing is changed, even if a stored model does not load.
pub(crate) fn to_read(directory: &Path) -> Result<Embedded, Failure> {
    let opened = Embedded::open_for_repair(directory, existing(Background::Nothing));
    opened.map_err(|error| failure(directory, &error))
}

/// For commands that only read a small directory that a running process may have open.
pub(crate) fn to_look(directory: &Path) -> Result<Embedded, Failure> {
    let mut options = existing(Background::Nothing);
    options.store.access = DirectoryAccess::Live;
    let opened = Embedded::open_for_repair(directory, options);
    opened.map_err(|error| failure(directory, &error))
}

/// For commands on models, which also correct and remove those that do not load.
pub(crate) fn for_models(directory: &Path) -> Result<Embedded, Failure> {
    let opened = Embedded::open_for_repair(directory, existing(Background::Tables));
    opened.map_err(|error| failure(directory, &error))
}

/// The same for the first command on a database: a missing directory is created.
pub(crate) fn for_first_model(directory: &Path) -> Result<Embedded, Failure> {
    let options = Options {
        must_exist: false,
        ..existing(Background::Tables)
    };
    let opened = Embedded::open_for_repair(directory, options);
    opened.map_err(|error| failure(directory, &error))
}

/// For commands that write or move rows: models are in force, without background work.
pub(crate) fn to_write(directory: &Path) -> Result<Embedded, Failure> {
    let opened = Embedded::open(directory, existing(Background::Tables));
    opened.map_err(|error| failure(directory, &error))
}

fn existing(background: Background) -> Options {
    Options {
        background,
        must_exist: true,
        ..Options::default()
    }
}

/// Why a command cannot use a directory.
pub(crate) fn failure(directory: &Path, error: &OpenError) -> Failure {
    match (error, error.store_error()) {
        (_, Some(error)) => cannot_open(directory, error),
        (OpenError::Models(error), _) => Failure::new(Code::BadModel, error),
        (error, _) => Failure::failed(format!("cannot open {}: {error}", directory.display())),
    }
}
