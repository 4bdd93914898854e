//! Errors of the engine as errors of the store.

use super::guard::WAY_OUT;
use super::keyspaces;
use crate::{ErrorKind, Space, StoreError};
use fjall::LsmError;
use std::io;
use std::path::Path;

/// The code by which Unix systems report a sector that the disk cannot read (EIO).
const UNREADABLE_SECTOR: i32 = 5;

/// The engine failed while the store was `doing` something with an open directory.
pub(super) fn while_doing(doing: &str, error: fjall::Error) -> StoreError {
    let message = format!("{doing} failed: {}", reason(&error));
    StoreError::with_source(kind(&error), message, error)
}

/// The engine met unreadable bytes of a space, in a file that could not be determined.
pub(super) fn while_doing_in(doing: &str, engine: &Path, space: Space, error: fjall::Error) -> StoreError {
    let folder = keyspaces::folder_of(space);
    let message = format!(
        "{doing} of space {space} failed in {}: {}. Run `trestle verify`; {WAY_OUT}",
        engine.join("keyspaces").join(folder.to_string()).display(),
        reason(&error)
    );
    StoreError::with_source(ErrorKind::Damaged, message, error)
}

/// Whether bytes on the disk, rather than a temporary fault of the system, can be the reason.
pub(super) fn may_be_damage(error: &fjall::Error) -> bool {
    match io_error(error) {
        Some(error) => is_hole(error.kind()) || error.raw_os_error() == Some(UNREADABLE_SECTOR),
        None => kind(error) == ErrorKind::Damaged,
    }
}

/// The engine could not open the directory.
pub(super) fn while_opening(path: &Path, error: fjall::Error) -> StoreError {
    let kind = match io_error(&error) {
        // Files that end early or are missing are damage, not a temporary fault of the system.
        Some(error) if is_hole(error.kind()) => ErrorKind::Damaged,
        _ => kind(&error),
    };
    let message = format!(
        "cannot open the database in {}: {}. {WAY_OUT}",
        path.display(),
        reason(&error)
    );
    StoreError::with_source(kind, message, error)
}

fn is_hole(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
    )
}

fn kind(error: &fjall::Error) -> ErrorKind {
    match error {
        error if io_error(error).is_some() => ErrorKind::Io,
        fjall::Error::Poisoned => ErrorKind::Stopped,
        fjall::Error::Locked => ErrorKind::InUse,
        fjall::Error::InvalidVersion(_) | fjall::Error::Storage(LsmError::InvalidVersion(_)) => {
            ErrorKind::Format
        }
        _ => ErrorKind::Damaged,
    }
}

fn reason(error: &fjall::Error) -> String {
    if let Some(error) = io_error(error) {
        return crate::error::reason(error);
    }
    match error {
        fjall::Error::Poisoned => "an earlier write failed".into(),
        fjall::Error::Locked => "another process has it open".into(),
        fjall::Error::InvalidVersion(_) => "it has another version of the engine's format".into(),
        fjall::Error::Storage(LsmError::ChecksumMismatch { .. }) => {
            "a block does not match its checksum".into()
        }
        fjall::Error::Storage(LsmError::Unrecoverable) => "table files are missing or unreadable".into(),
        other => format!("unreadable bytes ({other:?})"),
    }
}

fn io_error(error: &fjall::Error) -> Option<&io::Error> {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(LsmError::Io(error)) => Some(error),
        _ => None,
    }
}
