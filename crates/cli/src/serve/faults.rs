//! Faults that a server injects into requests, if its start options allow it.

use crate::config::FaultsConfig;
use crate::exit::Failure;
use std::sync::Arc;
use trestle_admin::{AdminError, FaultList, FaultStatus, SetFaults};
use trestle_server::{FaultCount, FaultRule, FaultRuleError, Faults};

/// The faults of a server; `None` unless its settings allow them or contain some.
pub(super) fn begin(config: &FaultsConfig) -> Result<Option<Arc<Faults>>, Failure> {
    let rules = read(&config.rules).map_err(Failure::usage)?;
    if rules.is_empty() && config.allow != Some(true) {
        return Ok(None);
    }
    tracing::warn!(
        "fault injection is allowed: requests may be throttled, refused, delayed or left without an answer; this is for tests only"
    );
    warn_of(&config.rules);
    Ok(Some(Arc::new(Faults::new(rules))))
}

/// Answers [`trestle_admin::ListFaults`].
pub(super) fn list(faults: Option<&Arc<Faults>>) -> Result<FaultList, AdminError> {
    Ok(listed(faults.ok_or_else(not_allowed)?))
}

/// Answers [`SetFaults`].
pub(super) fn set(faults: Option<&Arc<Faults>>, call: &SetFaults) -> Result<FaultList, AdminError> {
    let faults = faults.ok_or_else(not_allowed)?;
    let rules = read(&call.rules).map_err(|error| AdminError::invalid(error.to_string()))?;
    warn_of(&call.rules);
    if call.rules.is_empty() {
        tracing::info!("no faults are injected any more");
    }
    faults.set(rules);
    Ok(listed(faults))
}

fn read(rules: &[String]) -> Result<Vec<FaultRule>, FaultRuleError> {
    rules.iter().map(|rule| rule.parse()).collect()
}

fn warn_of(rules: &[String]) {
    for rule in rules {
        tracing::warn!("faults are injected into requests: {rule}");
    }
}

fn listed(faults: &Faults) -> FaultList {
    let status = |count: FaultCount| FaultStatus {
        rule: count.rule.to_string(),
        matched: count.matched,
        injected: count.injected,
    };
    FaultList {
        rules: faults.list().into_iter().map(status).collect(),
    }
}

fn not_allowed() -> AdminError {
    AdminError::not_found(
        "this server injects no faults; start it with --allow-fault-injection to set rules, for tests only",
    )
}
