//! One process per directory.

use super::directory::Directory;
use crate::{ErrorKind, Result, StoreError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

/// Holds the directory until dropped. The operating system gives it free when the process ends, however it ends.
pub(super) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    pub(super) fn acquire(directory: &Directory) -> Result<Self> {
        let path = directory.lock_file();
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = open.map_err(|error| StoreError::io("cannot open", &path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory.root(), &mut file)),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("cannot lock", &path, error)),
        }
        let lock = DirectoryLock { file };
        lock.write_owner()
            .map_err(|error| StoreError::io("cannot write", &path, error))?;
        Ok(lock)
    }

    /// For the message the next process prints; the lock itself does not need it.
    fn write_owner(&self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        writeln!(&self.file, "{}", std::process::id())
    }
}

fn in_use(root: &Path, file: &mut File) -> StoreError {
    let mut owner = String::new();
    // A system may refuse to read a locked file; the message then does without the number.
    let known = file.read_to_string(&mut owner).is_ok();
    let owner = match owner.trim().parse::<u32>() {
        Ok(id) if known => format!("process {id}"),
        _ => "another process".to_string(),
    };
    let root = root.display();
    let message = format!("data directory {root} is in use by {owner}; stop it or choose another directory");
    StoreError::new(ErrorKind::InUse, message)
}
