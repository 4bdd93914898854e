//! What is wrong with a file of the engine, and what to do about it.

use crate::{ErrorKind, StoreError};
use std::io;
use std::path::{Path, PathBuf};

/// The advice at the end of every message about a damaged file.
pub(in crate::fjall_store) const WAY_OUT: &str = "Nothing was changed. Copy the directory first. Then put the file back \
     from a copy of the same moment, or restore a backup with `trestle restore`. docs/internals/format.md, \"When a start is \
     refused\", says more";

/// A file that is not what was written.
#[derive(Debug)]
pub(super) struct Fault {
    path: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Missing,
    Unreadable(io::Error),
    Wrong { offset: u64, reason: String },
}

impl Fault {
    /// The system could not read the file, or a part of it.
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::NotFound => What::Missing,
            _ => What::Unreadable(error),
        };
        Fault {
            path: path.to_path_buf(),
            what,
        }
    }

    /// The bytes from `offset` on are not what was written.
    pub(super) fn at(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Fault {
            path: path.to_path_buf(),
            what: What::Wrong {
                offset,
                reason: reason.into(),
            },
        }
    }

    /// As an error that names the file, the place, what is affected and what to do.
    pub(super) fn into_error(self, affected: &str) -> StoreError {
        let path = self.path.display();
        let message = match self.what {
            What::Unreadable(error) => return StoreError::io("cannot read", &self.path, error),
            What::Missing => format!("{path} is missing. Affected: {affected}. {WAY_OUT}"),
            What::Wrong { offset, reason } => {
                format!("{path} is damaged at byte {offset}: {reason}. Affected: {affected}. {WAY_OUT}")
            }
        };
        StoreError::new(ErrorKind::Damaged, message)
    }
}
