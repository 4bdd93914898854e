//! Faults that are injected into requests, for tests of clients.
//!
//! `rule` parses a rule, `draw` decides which requests get its fault, `inject` carries it out, `held_back`
//! removes a part of a batch. Without [`Faults`], the cost is one check of an empty option per request.

mod draw;
mod held_back;
mod inject;
mod rule;

pub(crate) use inject::Faulted;
pub use rule::{Fault, FaultRule, FaultRuleError};

use draw::RuleInForce;
use std::cell::LazyCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use trestle_api::{Access, OperationName, table_name};

/// The rules in force, which can be replaced while requests are answered.
#[derive(Default)]
pub struct Faults {
    rules: RwLock<Arc<[RuleInForce]>>,
    /// Whether there are rules at all, so that most requests need no further check.
    is_on: AtomicBool,
    /// The faults so far, by [`Fault::number`].
    injected: [AtomicU64; Fault::NAMES.len()],
}

/// What a rule has done since it came into force.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultCount {
    /// The rule.
    pub rule: FaultRule,
    /// Requests that it matched.
    pub matched: u64,
    /// Those of them that got the fault.
    pub injected: u64,
}

/// The fault that a request gets.
pub(crate) struct Hit {
    fault: Fault,
    /// The tables of the rule; all, if there are none.
    tables: Vec<String>,
}

impl Faults {
    /// Faults by these rules.
    #[must_use]
    pub fn new(rules: Vec<FaultRule>) -> Self {
        let faults = Faults::default();
        faults.set(rules);
        faults
    }

    /// Replaces the rules. Without any, nothing is injected.
    pub fn set(&self, rules: Vec<FaultRule>) {
        let is_on = !rules.is_empty();
        let rules = rules.into_iter().map(RuleInForce::new).collect();
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        self.is_on.store(is_on, Ordering::Release);
    }

    /// The rules in order, with what each did.
    #[must_use]
    pub fn list(&self) -> Vec<FaultCount> {
        let count = |rule: &RuleInForce| FaultCount {
            rule: rule.rule.clone(),
            matched: rule.matched(),
            injected: rule.injected(),
        };
        self.in_force().iter().map(count).collect()
    }

    /// The fault of the first rule that applies to a request.
    pub(crate) fn pick(&self, operation: OperationName, body: &[u8]) -> Option<Hit> {
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        let named = LazyCell::new(|| named_tables(operation, body));
        let rules = self.in_force();
        let hit = rules
            .iter()
            .find(|rule| matches(&rule.rule, operation, || named.as_slice()) && rule.draw())?;
        let fault = hit.rule.fault;
        if let Some(count) = self.injected.get(fault.number()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Some(Hit {
            fault,
            tables: hit.rule.tables.clone(),
        })
    }

    /// How often each fault was injected since the server started.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let injected = self.injected.iter().map(|count| count.load(Ordering::Relaxed));
        Fault::NAMES.into_iter().zip(injected)
    }

    fn in_force(&self) -> Arc<[RuleInForce]> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn matches<'a>(rule: &FaultRule, operation: OperationName, named: impl FnOnce() -> &'a [String]) -> bool {
    let is_operation = rule.operations.is_empty() || rule.operations.contains(&operation);
    is_operation && (rule.tables.is_empty() || named().iter().any(|table| rule.tables.contains(table)))
}

/// The tables that a request names. A request that cannot be decoded names none; it is refused as usual.
fn named_tables(operation: OperationName, body: &[u8]) -> Vec<String> {
    let Ok(request) = trestle_wire::decode(operation, body) else {
        return Vec::new();
    };
    match request.access() {
        Access::Statements(texts) => {
            let parsed = texts
                .into_iter()
                .filter_map(|text| trestle_partiql::parse(text).ok());
            parsed
                .map(|parsed| table_name(parsed.table()).to_owned())
                .collect()
        }
        Access::Read | Access::Write => request.named_tables().into_iter().map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(rules: &[&str]) -> Faults {
        Faults::new(rules.iter().map(|rule| rule.parse().unwrap()).collect())
    }

    #[test]
    fn a_rule_is_for_its_operations_and_tables_and_the_first_that_hits_decides() {
        let faults = faults(&[
            "internal,operation=GetItem,table=orders",
            "throttle,table=orders",
            "unavailable",
        ]);
        let fault = |operation, body: &str| faults.pick(operation, body.as_bytes()).map(|hit| hit.fault);
        let orders = r#"{"TableName":"orders","Key":{"pk":{"S":"a"}}}"#;
        let arn =
            r#"{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/orders","Key":{"pk":{"S":"a"}}}"#;
        let statement = r#"{"Statement":"SELECT * FROM orders WHERE pk = 'a'"}"#;
        assert_eq!(fault(OperationName::GetItem, orders), Some(Fault::Internal));
        assert_eq!(fault(OperationName::GetItem, arn), Some(Fault::Internal));
        assert_eq!(fault(OperationName::DeleteItem, orders), Some(Fault::Throttle));
        assert_eq!(
            fault(OperationName::ExecuteStatement, statement),
            Some(Fault::Throttle)
        );
        assert_eq!(
            fault(OperationName::GetItem, "not JSON"),
            Some(Fault::Unavailable)
        );
        let counted: Vec<_> = faults
            .list()
            .iter()
            .map(|count| (count.matched, count.injected))
            .collect();
        assert_eq!(counted, [(2, 2), (2, 2), (1, 1)]);
        faults.set(Vec::new());
        assert_eq!(
            faults
                .pick(OperationName::GetItem, orders.as_bytes())
                .map(|hit| hit.fault),
            None
        );
    }
}
