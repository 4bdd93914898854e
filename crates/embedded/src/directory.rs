//! Verifies, backs up and restores a data directory that no process has open. No database is opened on it, no
//! model is enforced and no background work runs.

use std::path::Path;

use trestle_api::Error;
use trestle_engine::{BlockSize, StoreSettings, View};
use trestle_env::{Clock, SystemClock};
use trestle_store::{DirectoryAccess, FileCheck, StoreError};

use crate::{Verified, VerifyOptions, VerifyWatcher, verify};

pub use trestle_engine::{RestoreError, backup_directory, restore as restore_directory};
pub use trestle_store::archive::check as check_backup;

/// Why a directory could not be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// It cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be read completely.
    #[error(transparent)]
    Read(#[from] Error),
}

/// Verifies everything in a data directory: every byte of its files, storage, and what the stored models derive.
pub fn verify_directory(
    directory: &Path,
    access: DirectoryAccess,
    options: VerifyOptions,
    watcher: &mut dyn VerifyWatcher,
) -> Result<Verified, VerifyError> {
    let settings = StoreSettings {
        access,
        file_check: FileCheck::Everything,
        ..StoreSettings::default()
    };
    let mut view = View::of_directory(directory, settings)?;
    let verified = verify(&mut view, SystemClock::new().now(), options, watcher)?;
    Ok(Verified {
        block_kib: view.block_size().map(BlockSize::kib),
        ..verified
    })
}
