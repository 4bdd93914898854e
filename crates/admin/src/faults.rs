//! Calls about the faults of a server that was started with `--allow-fault-injection`.

use serde::{Deserialize, Serialize};

/// Lists the faults that are injected into requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListFaults {}

/// Replaces the rules for faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetFaults {
    /// The rules, such as `throttle,operation=UpdateItem,share=0.1`. An empty list ends all faults.
    pub rules: Vec<String>,
}

/// The answer to [`ListFaults`] and [`SetFaults`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultList {
    /// The rules, in their order: the first one that applies to a request decides.
    pub rules: Vec<FaultStatus>,
}

/// The effect of a rule since it was set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultStatus {
    /// The rule, as it was written.
    pub rule: String,
    /// Requests to which it applied.
    pub matched: u64,
    /// Those of them that got the fault.
    pub injected: u64,
}
