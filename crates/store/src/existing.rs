//! Opening what is there, and nothing else.

use crate::{ErrorKind, FjallStore, Result, Settings, StoreError};
use std::path::Path;

/// Every data directory has this file, from its first moment on.
const FORMAT_FILE: &str = "FORMAT";

impl FjallStore {
    /// Opens the store in `dir` as [`FjallStore::open`] does, but refuses a directory that holds none instead of
    /// making one. For tools that look at data.
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
