//! Why an archive could not be written or read.

use crate::StoreError;
use std::fmt;
use std::io;

/// Why an archive could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes are not those of an archive that was written to its end.
    #[error("the backup is damaged at byte {offset}: {problem}")]
    Damaged {
        /// The offset of the part that is not as it was written.
        offset: u64,
        /// What is wrong with it.
        problem: Problem,
    },
    /// It is an archive, but of a version that this program does not know.
    #[error(
        "the backup is of version {archive} with rows of format {rows}; this program reads version {ours} with rows of \
         format {rows_ours}. Use the version of Trestle that wrote it.",
        ours = super::ARCHIVE_VERSION,
        rows_ours = super::ROWS_VERSION
    )]
    Version {
        /// The archive's version.
        archive: u32,
        /// The version of the rows inside.
        rows: u32,
    },
    /// The archive could not be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ArchiveError {
    pub(super) fn damaged(offset: u64, problem: Problem) -> Self {
        ArchiveError::Damaged { offset, problem }
    }
}

/// What is wrong with an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It does not begin with the header of a backup.
    NotABackup,
    /// It stops before its end.
    CutShort,
    /// A part does not match its checksum: damaged, missing, repeated or exchanged.
    Checksum,
    /// A part's numbers contradict its bytes.
    Malformed,
    /// Rows are not in order.
    Order,
    /// The totals at the end differ from the rows before it.
    Totals,
    /// There are bytes after the end.
    Trailing,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::NotABackup => "this is no backup of Trestle",
            Problem::CutShort => "it ends too early; the copy is incomplete",
            Problem::Checksum => "the checksum does not match",
            Problem::Malformed => "a part does not say what it should",
            Problem::Order => "rows are out of order",
            Problem::Totals => "there are more or fewer rows than were written",
            Problem::Trailing => "something follows its end",
        })
    }
}
