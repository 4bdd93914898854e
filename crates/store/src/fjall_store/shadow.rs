//! A directory that is read without changing it.
//!
//! The engine cannot open without writing: it takes a lock, cuts journals and removes what it no longer
//! needs. So for [`DirectoryAccess::ReadOnly`](crate::DirectoryAccess::ReadOnly) it opens a shadow: a
//! temporary directory with copies of the small files and of the journals, and symbolic links to the tables,
//! which are never changed once they are written. The engine's changes happen there, and are removed with it.
//!
//! If a process has the directory open, everything is copied, because tables may be removed at any moment.
//! Journals are listed first and copied last. If all listed journals still exist by then, every row is in a
//! table or in a journal of the copy; otherwise the copy is refused as damaged.

use super::directory::Directory;
use super::lock;
use crate::{ErrorKind, Result, StoreError};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
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
    /// For a directory that no process has open.
    pub(super) fn of(original: Directory) -> Result<Self> {
        check_has_data(&original)?;
        let claim = lock::claim_to_read(&original)?;
        let folder = Self::folder(&original)?;
        copy_folder(original.root(), folder.path(), link).map_err(|error| cannot_copy(&original, error))?;
        Ok(Shadow {
            folder,
            original,
            _claim: claim,
        })
    }

    /// For a directory that a process may have open.
    pub(super) fn of_live(original: Directory) -> Result<Self> {
        check_has_data(&original)?;
        let folder = Self::folder(&original)?;
        let journals = original.journals()?;
        copy_live(&original, &Directory::at(folder.path())).map_err(|error| cannot_copy(&original, error))?;
        let shadow = Shadow {
            folder,
            original,
            _claim: None,
        };
        let copied = shadow.directory()?.journals()?;
        let is_copied = |journal: &PathBuf| copied.iter().any(|copy| copy.file_name() == journal.file_name());
        match journals.iter().find(|journal| !is_copied(journal)) {
            None => Ok(shadow),
            Some(journal) => {
                let message = format!("journal {} went while it was being copied", journal.display());
                Err(StoreError::new(ErrorKind::Damaged, message))
            }
        }
    }

    fn folder(original: &Directory) -> Result<TempDir> {
        TempDir::with_prefix("trestle-").map_err(|error| cannot_copy(original, error))
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

fn check_has_data(original: &Directory) -> Result<()> {
    if !original.is_new()? {
        return Ok(());
    }
    let message = format!("{} has no data yet", original.root().display());
    Err(StoreError::new(ErrorKind::Format, message))
}

fn cannot_copy(original: &Directory, error: io::Error) -> StoreError {
    StoreError::io("cannot make a temporary copy of", original.root(), error)
}

/// The note of the last commit is read first, so that it is not newer than the journals, which are copied last.
fn copy_live(original: &Directory, copy: &Directory) -> io::Result<()> {
    let note = match fs::read(original.synced_note()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read?),
    };
    copy_folder(original.root(), copy.root(), copy_file)?;
    // They are links to journals that may no longer exist.
    fs::remove_dir_all(copy.second_names()).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    for journal in fs::read_dir(original.engine())? {
        let journal = journal?;
        if journal.file_type()?.is_file() {
            copy_file(&journal.path(), &copy.engine().join(journal.file_name()))?;
        }
    }
    note.map_or(Ok(()), |note| fs::write(copy.synced_note(), note))
}

/// Copies everything except tables, which `take` handles.
fn copy_folder(from: &Path, to: &Path, take: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&source, &target, take)?;
        } else if from.ends_with(TABLES_FOLDER) {
            take(&fs::canonicalize(&source)?, &target)?;
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
