//! `DescribeEndpoints`.

use serde::{Deserialize, Serialize};

/// Requests the address of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribeEndpoints {}

/// The address of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DescribeEndpointsOutput {
    /// The endpoints; Trestle has one.
    pub endpoints: Vec<Endpoint>,
}

/// One endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Endpoint {
    /// Host, with the port if it is not the usual one.
    pub address: String,
    /// How long a client may cache the address.
    pub cache_period_in_minutes: i64,
}
