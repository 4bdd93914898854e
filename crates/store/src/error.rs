//! What can go wrong, classed by what the caller can do about it.

use std::fmt;
use std::io;
use std::path::Path;

/// A failure of the store: a kind to act on and a message for people.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The system's message, with advice where the message alone does not show what to do.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => format!(
            "{error}. The process may not write files of this size: raise the limit (`ulimit -f unlimited`, LimitFSIZE= of \
             systemd) and restart"
        ),
        _ => error.to_string(),
    }
}

/// What the caller can do. A kind is part of the interface, a message is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request exceeds what the store can hold, such as a key that is too long. Change the request.
    Invalid,
    /// Another process has the directory open. Close the other process, or use another directory.
    InUse,
    /// The directory was written by a version that this one does not understand. The message says what to do.
    Format,
    /// Bytes on disk are not what was written. The message names the place; `docs/internals/format.md` says
    /// what to do.
    Damaged,
    /// The system refused to read or write: disk full, permission, hardware. Nothing of the request is visible.
    Io,
    /// An earlier write failed, so the store accepts none until the disk works again; reads go on. Try again later.
    Stopped,
}

impl StoreError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        StoreError {
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn with_source(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        StoreError {
            kind,
            message: message.into(),
            source: Some(Box::new(source)),
        }
    }

    /// A system call on `path` failed while the store was `doing` something.
    pub(crate) fn io(doing: impl fmt::Display, path: &Path, source: io::Error) -> Self {
        let message = format!("{doing} {}: {}", path.display(), reason(&source));
        StoreError {
            kind: ErrorKind::Io,
            message,
            source: Some(Box::new(source)),
        }
    }

    /// The same error with the path of another directory.
    pub(crate) fn with_path_replaced(mut self, from: &Path, to: &Path) -> Self {
        let (from, to) = (from.display().to_string(), to.display().to_string());
        self.message = self.message.replace(&from, &to);
        self
    }

    /// What the caller can do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
