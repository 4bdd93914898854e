//! Opening an existing directory without creating one.

use crate::{ErrorKind, FjallStore, Result, Settings, StoreError};
use std::path::Path;

/// Every data directory has this file, as soon as it is created.
const FORMAT_FILE: &str = "FORMAT";

impl FjallStore {
    /// Opens the store in `dir` as [`FjallStore::open`] does, but refuses a directory without a store instead
    /// of creating one. For tools that inspect data.
    pub fn open_existing(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        let dir = dir.as_ref();
        if !dir.join(FORMAT_FILE).is_file() {
            let what = if dir.is_dir() {
                "is no data directory of Trestle: it has no file FORMAT"
            } else {
                "does not exist or is no directory"
            };
            let message = format!("{} {what}", dir.display());
            return Err(StoreError::new(ErrorKind::Format, message));
        }
        FjallStore::open(dir, settings)
    }
}
