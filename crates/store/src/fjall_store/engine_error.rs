//! The engine's errors in our words.

use crate::{ErrorKind, StoreError};
use fjall::LsmError;
use std::io;
use std::path::Path;

/// The engine failed while the store was `doing` something with an open directory.
pub(super) fn while_doing(doing: &str, error: fjall::Error) -> StoreError {
    let message = format!("{doing} failed: {}", reason(&error));
    StoreError::with_source(kind(&error), message, error)
}

/// The engine could not open the directory.
pub(super) fn while_opening(path: &Path, error: fjall::Error) -> StoreError {
    let kind = match io_error(&error) {
        // Files that end early or are missing are damage, not a passing trouble of the system.
        Some(error) if is_hole(error.kind()) => ErrorKind::Damaged,
        _ => kind(&error),
    };
    let message = format!(
        "cannot open the database in {}: {}; see docs/format.md",
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
        return error.to_string();
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
