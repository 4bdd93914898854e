//! Throughput: billing mode, limits and description. Trestle stores these settings and never throttles.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{IndexStatus, TableStatus};
use crate::EpochSeconds;

wire_enum! {
    /// How throughput is paid for.
    pub enum BillingMode {
        /// Reserved units.
        Provisioned = "PROVISIONED",
        /// Per request.
        PayPerRequest = "PAY_PER_REQUEST",
    }
}

/// The billing mode of a table that is or was on demand.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BillingModeSummary {
    /// The mode now.
    pub billing_mode: BillingMode,
    /// When it last became on demand.
    pub last_update_to_pay_per_request_date_time: Option<EpochSeconds>,
}

/// Units to reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ProvisionedThroughput {
    /// Read units per second.
    pub read_capacity_units: i64,
    /// Write units per second.
    pub write_capacity_units: i64,
}

/// Units reserved, and how often that changed. All zero for on-demand tables.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ProvisionedThroughputDescription {
    /// When it was last raised.
    pub last_increase_date_time: Option<EpochSeconds>,
    /// When it was last lowered.
    pub last_decrease_date_time: Option<EpochSeconds>,
    /// How often it was lowered today.
    pub number_of_decreases_today: i64,
    /// Read units per second.
    pub read_capacity_units: i64,
    /// Write units per second.
    pub write_capacity_units: i64,
}

/// The most an on-demand table may use; -1 lifts a bound.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct OnDemandThroughput {
    /// Read units per second.
    pub max_read_request_units: Option<i64>,
    /// Write units per second.
    pub max_write_request_units: Option<i64>,
}

/// The throughput that a table should be able to take at once.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct WarmThroughput {
    /// Read units per second.
    pub read_units_per_second: Option<i64>,
    /// Write units per second.
    pub write_units_per_second: Option<i64>,
}

/// The throughput that a table can take at once.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TableWarmThroughputDescription {
    /// Read units per second.
    pub read_units_per_second: Option<i64>,
    /// Write units per second.
    pub write_units_per_second: Option<i64>,
    /// Whether it is in effect.
    pub status: Option<TableStatus>,
}

/// The throughput that a global index can take at once.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GlobalSecondaryIndexWarmThroughputDescription {
    /// Read units per second.
    pub read_units_per_second: Option<i64>,
    /// Write units per second.
    pub write_units_per_second: Option<i64>,
    /// Whether it is in effect.
    pub status: Option<IndexStatus>,
}
