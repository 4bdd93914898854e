//! The call about the endpoint of a gateway.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_binding::PastWritesStatus;

/// What a gateway knows of its endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadGateway {}

/// The answer to [`ReadGateway`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// The endpoint's URL; absent on a server with data of its own, of which there is nothing else to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What the endpoint can do, as `trestle endpoint probe` has found out and stored; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Value>,
    /// Rows that changed without a gateway.
    pub past_writes: PastWritesStatus,
}
