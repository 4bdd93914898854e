//! `DescribeContinuousBackups`, which tools call after creating a table.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::EpochSeconds;

/// Asks whether a table can be restored to a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DescribeContinuousBackups {
    /// Name or ARN of the table.
    pub table_name: String,
}

/// Whether a table can be restored to a point in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeContinuousBackupsOutput {
    /// The answer.
    pub continuous_backups_description: ContinuousBackupsDescription,
}

/// The state of a table's continuous backups. The default says that there are none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ContinuousBackupsDescription {
    /// Whether changes are kept at all.
    pub continuous_backups_status: ContinuousBackupsStatus,
    /// Whether, and to when, the table can be restored.
    pub point_in_time_recovery_description: Option<PointInTimeRecoveryDescription>,
}

/// The state of a table's point-in-time recovery. The default says that there is none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PointInTimeRecoveryDescription {
    /// Whether it is on.
    pub point_in_time_recovery_status: PointInTimeRecoveryStatus,
    /// How far back it reaches.
    pub recovery_period_in_days: Option<u32>,
    /// The earliest time to restore to.
    pub earliest_restorable_date_time: Option<EpochSeconds>,
    /// The latest time to restore to.
    pub latest_restorable_date_time: Option<EpochSeconds>,
}

wire_enum! {
    /// Whether continuous backups are on.
    pub enum ContinuousBackupsStatus {
        /// Off.
        Disabled = "DISABLED",
        /// On.
        Enabled = "ENABLED",
    }
}

wire_enum! {
    /// Whether point-in-time recovery is on.
    pub enum PointInTimeRecoveryStatus {
        /// Off.
        Disabled = "DISABLED",
        /// On.
        Enabled = "ENABLED",
    }
}
