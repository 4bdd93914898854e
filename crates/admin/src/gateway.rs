//! The call about the endpoint of a gateway.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_binding::PastWritesStatus;

/// The state of a gateway's endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadGateway {}

/// The answer to [`ReadGateway`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// The endpoint's URL; absent on a server with its own data, for which the other members are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The capabilities of the endpoint, as stored by `trestle endpoint probe`; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Value>,
    /// Rows that changed without a gateway.
    pub past_writes: PastWritesStatus,
}
