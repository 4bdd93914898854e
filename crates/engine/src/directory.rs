//! Data directories: opened as a database, or read, verified and backed up while no process has them open.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use trestle_env::{Clock, SystemClock};
use trestle_store::archive::{self, ArchiveError, Header, Totals};
use trestle_store::{FjallStore, Settings, Store, StoreError};

use crate::verify::{Summary, Watcher, verify};
use crate::{Engine, OpenError, Options, View};

impl Engine {
    /// Opens the database in `directory`, which is created if it does not exist.
    ///
    /// Only one process can have it open.
    pub fn open(directory: &Path, settings: Settings, options: Options) -> Result<Self, OpenError> {
        Self::on(
            Arc::new(FjallStore::open(directory, settings)?),
            Arc::new(SystemClock::new()),
            options,
        )
    }
}

impl View {
    /// The rows of a data directory that no other process has open. No hook is installed, and no background
    /// work runs. A last batch that a crash left incomplete is cut off and kept in a separate file, as with
    /// every opening.
    pub fn of_directory(directory: &Path, settings: Settings) -> Result<Self, StoreError> {
        let store = FjallStore::open_existing(directory, settings)?;
        let mut view = Self::of_store(&store);
        view.directory = Some(Box::new(store));
        Ok(view)
    }
}

/// [`verify`] for a data directory that no other process has open.
///
/// A last batch that a crash left incomplete is cut off and kept in a separate file, as with every opening.
/// Nothing else is changed. A directory that does not exist is not created.
pub fn verify_directory(
    directory: &Path,
    settings: Settings,
    watcher: &mut dyn Watcher,
) -> Result<Summary, StoreError> {
    let store = FjallStore::open_existing(directory, settings)?;
    verify(&*store.snapshot(), watcher)
}

/// A backup of a data directory that no process has open.
pub fn backup_directory(
    directory: &Path,
    settings: Settings,
    out: &mut dyn Write,
) -> Result<Totals, ArchiveError> {
    let store = FjallStore::open_existing(directory, settings)?;
    let header = Header {
        taken_ms: SystemClock::new().now().as_millis(),
    };
    archive::write(&*store.snapshot(), header, out)
}
