//! A directory that is read and left as it is.
//!
//! The engine cannot open without writing: it takes a lock, cuts journals and removes what it no longer needs. So for
//! [`DirectoryAccess::ReadOnly`](crate::DirectoryAccess::ReadOnly) it opens a shadow: a temporary directory with copies of the small files and of
//! the journals, and symbolic links to the tables, which are never changed once they are written. What the engine does happens
//! there, and goes with it.

use super::directory::Directory;
use super::lock;
use crate::{ErrorKind, Result, StoreError};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::TempDir;

/// The folder of a keyspace that holds its tables.
const TABLES_FOLDER: &str = "tables";

/// Removed when dropped.
pub(super) struct Shadow {
    folder: TempDir,
    original: Directory,
    /// No server has the original open meanwhile.
    _claim: Option<File>,
}

impl Shadow {
    pub(super) fn of(original: Directory) -> Result<Self> {
        if original.is_new()? {
            let message = format!("{} has no data yet", original.root().display());
            return Err(StoreError::new(ErrorKind::Format, message));
        }
        let claim = lock::claim_to_read(&original)?;
        let cannot = |error| StoreError::io("cannot make a temporary copy of", original.root(), error);
        let folder = TempDir::with_prefix("trestle-").map_err(cannot)?;
        copy_folder(original.root(), folder.path()).map_err(cannot)?;
        Ok(Shadow {
            folder,
            original,
            _claim: claim,
        })
    }

    pub(super) fn directory(&self) -> Result<Directory> {
        Directory::prepare(self.folder.path())
    }

    pub(super) fn original(&self) -> &Directory {
        &self.original
    }

    /// The error as if it had happened in the original.
    pub(super) fn translate(&self, error: StoreError) -> StoreError {
        error.with_path_replaced(self.folder.path(), self.original.root())
    }
}

/// Tables are linked, everything else is copied.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&source, &target)?;
        } else if from.ends_with(TABLES_FOLDER) {
            link(&fs::canonicalize(&source)?, &target)?;
        } else {
            copy_file(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(source: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(source, target)
}

#[cfg(not(unix))]
fn link(source: &Path, target: &Path) -> io::Result<()> {
    copy_file(source, target)
}

/// Leaves out zeros: most of a new journal is nothing else.
fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(source)?, File::create(target)?);
    let mut piece = vec![0; 64 * 1024];
    let mut len = 0;
    loop {
        let read = from.read(&mut piece)?;
        let bytes = piece.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return to.set_len(len);
        }
        if bytes.iter().any(|byte| *byte != 0) {
            to.seek(SeekFrom::Start(len))?;
            to.write_all(bytes)?;
        }
        len += read as u64;
    }
}
