//! Where a migration stands.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a migration stands. Each is stored in one commit with what it means for reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigrationState {
    /// It was looked at and can begin; nothing has changed.
    Planned,
    /// The new version is in effect; both places are read, and a row that is written moves. Nothing else moves rows yet.
    Dual,
    /// Rows that no client writes are moved, too.
    Sweeping,
    /// No row was left; every row is looked at once more.
    Verifying,
    /// No row is in a former place: reads look at one place again. Keys of the version before are still understood.
    Verified,
    /// The version before is history.
    Done,
    /// The version before is in effect again; rows move back.
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
