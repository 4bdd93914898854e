//! Time to live: `UpdateTimeToLive` and `DescribeTimeToLive`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Turns the expiry of items on or off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UpdateTimeToLive {
    /// Name or ARN of the table.
    pub table_name: String,
    /// The requested setting.
    pub time_to_live_specification: TimeToLiveSpecification,
}

/// The requested setting, repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateTimeToLiveOutput {
    /// As in the request.
    pub time_to_live_specification: TimeToLiveSpecification,
}

/// Whether items expire, and by which attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TimeToLiveSpecification {
    /// Whether items expire.
    pub enabled: bool,
    /// The attribute that holds the time, in seconds since 1970.
    pub attribute_name: String,
}

/// Asks whether items expire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DescribeTimeToLive {
    /// Name or ARN of the table.
    pub table_name: String,
}

/// Whether items expire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeTimeToLiveOutput {
    /// The answer.
    pub time_to_live_description: TimeToLiveDescription,
}

/// The state of a table's expiry.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TimeToLiveDescription {
    /// Whether it is on.
    pub time_to_live_status: TimeToLiveStatus,
    /// The attribute that holds the time; absent when off.
    pub attribute_name: Option<String>,
}

wire_enum! {
    /// Whether expiry is on.
    pub enum TimeToLiveStatus {
        /// Off.
        Disabled = "DISABLED",
        /// Being turned on.
        Enabling = "ENABLING",
        /// On.
        Enabled = "ENABLED",
        /// Being turned off.
        Disabling = "DISABLING",
    }
}
