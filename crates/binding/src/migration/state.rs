//! The state of a migration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a migration. Each is stored in one commit with its effect on reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigrationState {
    /// It was checked and can begin; nothing has changed.
    Planned,
    /// The new version is in effect; both places are read, and a row that is written moves. No other rows
    /// move yet.
    Dual,
    /// Rows that no client writes are moved, too.
    Sweeping,
    /// No row was left; every row is checked once more.
    Verifying,
    /// No row is in a former place: reads use one place again. Keys of the previous version are still
    /// understood.
    Verified,
    /// The previous version is no longer understood.
    Done,
    /// The previous version is in effect again; rows move back.
    RollingBack,
    /// Every row is back in its place.
    RolledBack,
}

impl MigrationState {
    /// Whether keys of two layouts are understood.
    #[must_use]
    pub fn is_under_way(self) -> bool {
        match self {
            Self::Dual | Self::Sweeping | Self::Verifying | Self::Verified | Self::RollingBack => true,
            Self::Planned | Self::Done | Self::RolledBack => false,
        }
    }

    /// Whether rows may be in former places.
    #[must_use]
    pub fn may_hold_rows(self) -> bool {
        self.is_under_way() && self != Self::Verified
    }

    /// Its name, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Dual => "dual",
            Self::Sweeping => "sweeping",
            Self::Verifying => "verifying",
            Self::Verified => "verified",
            Self::Done => "done",
            Self::RollingBack => "rolling-back",
            Self::RolledBack => "rolled-back",
        }
    }
}

impl fmt::Display for MigrationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('-', " "))
    }
}
