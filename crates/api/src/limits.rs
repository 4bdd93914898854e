//! `DescribeLimits`.

use serde::{Deserialize, Serialize};

/// Asks for the account's quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribeLimits {}

/// The account's quotas for provisioned throughput.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeLimitsOutput {
    /// Read units over all tables.
    pub account_max_read_capacity_units: i64,
    /// Write units over all tables.
    pub account_max_write_capacity_units: i64,
    /// Read units of one table.
    pub table_max_read_capacity_units: i64,
    /// Write units of one table.
    pub table_max_write_capacity_units: i64,
}
