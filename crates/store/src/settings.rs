//! How a directory is opened.

use crate::BlockSize;
use std::time::Duration;

/// How a store on disk is opened. Each opening may choose other settings, except where a field says that its
/// value is permanent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What a returned commit survives.
    pub durability: Durability,
    /// Memory for blocks read from disk; filled as they are read.
    pub cache_bytes: u64,
    /// How large the blocks of tables are. Permanent: stored when a directory is created, and a directory
    /// with another size is refused. `None` takes the size that the directory has, and the default for a new
    /// one.
    pub block_size: Option<BlockSize>,
    /// With [`Durability::Buffered`]: how often commits are forced to the disk.
    pub sync_interval: Duration,
    /// What to do when the journal is damaged in a place that no crash explains.
    pub on_damage: OnDamage,
    /// Whether the directory may be changed.
    pub access: DirectoryAccess,
    /// How much of the files is compared with checksums before they are used.
    pub file_check: FileCheck,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            durability: Durability::Fsync,
            cache_bytes: 128 * 1024 * 1024,
            block_size: None,
            sync_interval: Duration::from_millis(500),
            on_damage: OnDamage::Refuse,
            access: DirectoryAccess::ReadWrite,
            file_check: FileCheck::Opening,
        }
    }
}

/// What a returned commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A power cut: the journal is forced to the disk before the commit returns.
    #[default]
    Fsync,
    /// The end of the process, however it ends, because the bytes have been handed to the operating system. A
    /// power cut may take the commits of about the last [`Settings::sync_interval`]: always the newest ones,
    /// never one from the middle.
    Buffered,
}

/// What to do when the journal is damaged in a place that no crash explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnDamage {
    /// Do not open; the error names the file and the offset.
    #[default]
    Refuse,
    /// Give up the damaged batch **and every later one**, acknowledged or not, keep their bytes in a file
    /// beside the data, and open what came before. For the case that there is no backup.
    CutJournal,
}

/// Whether the directory may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DirectoryAccess {
    /// Reads and writes.
    #[default]
    ReadWrite,
    /// Writes, deletes and locks nothing in the directory, and refuses commits. What opening has to write
    /// goes to a temporary directory with a copy of the journals, which is removed when the store is closed.
    ReadOnly,
    /// The same for a directory that a process may have open: reads what that process has written so far from
    /// a temporary copy of all files. For small directories.
    Live,
}

/// How much of the files is compared with checksums before they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileCheck {
    /// The files that determine which rows exist: the journals, the lists of tables, the head and end of each
    /// table. Other blocks of tables are compared when they are read.
    #[default]
    Opening,
    /// Every byte of every file.
    Everything,
}
