//! One process per directory.

use super::directory::Directory;
use super::shadow::Shadow;
use crate::{ErrorKind, Result, StoreError, private};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// How often, and how many times, the lock is retried after its owner has ended: for half a second.
const WAIT_FOR_LOCK: Duration = Duration::from_millis(10);
const WAITS_FOR_LOCK: usize = 50;

/// Holds the directory until dropped. The operating system releases it when the process ends, however it
/// ends.
pub(super) struct DirectoryLock {
    file: File,
    /// A shadow directory, removed together with the lock.
    shadow: Option<Shadow>,
}

/// Makes sure that no process has the directory open for as long as the file is kept, and writes nothing. A copy of a directory
/// need not have the file.
pub(super) fn claim_to_read(directory: &Directory) -> Result<Option<File>> {
    let path = directory.lock_file();
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("cannot open", &path, error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(in_use(directory.root(), &mut file)),
        Err(TryLockError::Error(error)) => Err(StoreError::io("cannot lock", &path, error)),
    }
}

impl DirectoryLock {
    pub(super) fn acquire(directory: &Directory) -> Result<Self> {
        let path = directory.lock_file();
        let open = private::file_options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = open.map_err(|error| StoreError::io("cannot open", &path, error))?;
        match lock(&mut file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory.root(), &mut file)),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("cannot lock", &path, error)),
        }
        let lock = DirectoryLock { file, shadow: None };
        lock.write_owner()
            .map_err(|error| StoreError::io("cannot write", &path, error))?;
        Ok(lock)
    }

    /// The lock of a shadow.
    pub(super) fn of_shadow(shadow: Shadow) -> Result<Self> {
        let mut lock = Self::acquire(&shadow.directory()?)?;
        lock.shadow = Some(shadow);
        Ok(lock)
    }

    /// The original directory, if the locked one is its shadow.
    pub(super) fn original(&self) -> Option<&Directory> {
        self.shadow.as_ref().map(Shadow::original)
    }

    /// An error of the locked directory, for people.
    pub(super) fn translate(&self, error: StoreError) -> StoreError {
        match &self.shadow {
            Some(shadow) => shadow.translate(error),
            None => error,
        }
    }

    /// For the error message of another process, and for [`lock`].
    fn write_owner(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        writeln!(&self.file, "{}", std::process::id())
    }
}

/// Takes the lock. If a process is killed while it starts another one, the child holds the lock until it
/// executes its own program. So the lock is retried when its owner has ended.
fn lock(file: &mut File) -> std::result::Result<(), TryLockError> {
    for _ in 0..WAITS_FOR_LOCK {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if owner(file).is_some_and(has_ended) => {
                std::thread::sleep(WAIT_FOR_LOCK);
            }
            tried => return tried,
        }
    }
    file.try_lock()
}

/// The process that last had the lock. A system may refuse to read a locked file; then it is not known.
fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    file.rewind().ok()?;
    text.trim().parse().ok()
}

#[cfg(unix)]
fn has_ended(process: u32) -> bool {
    let id = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn has_ended(_process: u32) -> bool {
    false
}

fn in_use(root: &Path, file: &mut File) -> StoreError {
    let owner = owner(file).map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
    let root = root.display();
    let message = format!("data directory {root} is in use by {owner}; stop it or choose another directory");
    StoreError::new(ErrorKind::InUse, message)
}
