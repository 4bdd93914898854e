//! How a directory is opened.

use std::time::Duration;

/// How a store on disk is opened. Nothing here is written down: every opening may choose anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What a returned commit survives.
    pub durability: Durability,
    /// Memory for blocks read from disk; filled as they are read.
    pub cache_bytes: u64,
    /// With [`Durability::Buffered`]: how often commits are forced to the disk.
    pub sync_interval: Duration,
    /// What to do when the journal is damaged in a place that no crash explains.
    pub on_damage: OnDamage,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            durability: Durability::Fsync,
            cache_bytes: 128 * 1024 * 1024,
            sync_interval: Duration::from_millis(500),
            on_damage: OnDamage::Refuse,
        }
    }
}

/// What a returned commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A power cut: the journal is forced to the disk before the commit returns.
    #[default]
    Fsync,
    /// The end of the process, however it ends, because the bytes have been handed to the operating system. A power
    /// cut may take the commits of about the last [`Settings::sync_interval`]: always the newest ones, never one
    /// out of the middle.
    Buffered,
}

/// What to do when the journal is damaged in a place that no crash explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnDamage {
    /// Do not open; the error names the file and the offset.
    #[default]
    Refuse,
    /// Give up the damaged batch **and every later one**, acknowledged or not, keep their bytes in a file beside
    /// the data, and open what came before. For the day when there is no backup.
    CutJournal,
}
