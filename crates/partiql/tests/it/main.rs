//! Claims about PartiQL statements: what they mean, how they find items, and how they are refused.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the exemption for tests covers test functions, not what they share"
)]

mod meaning;
mod plans;
mod properties;
mod refusals;

use trestle_expr::KeyAttribute;
use trestle_item::{AttributeValue, ScalarType};
use trestle_partiql::{Keys, Statement, StatementError, parse};

/// Reads and binds a statement.
fn bind(text: &str, parameters: &[AttributeValue]) -> Result<Statement, StatementError> {
    parse(text)?.bind(parameters)
}

/// A statement without parameters that must be good.
fn statement(text: &str) -> Statement {
    bind(text, &[]).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn key(name: &str, kind: ScalarType) -> KeyAttribute {
    KeyAttribute {
        name: name.to_owned(),
        kind,
    }
}

/// Runs `check` with the keys of a table of partitions `pk` and sort keys `sk`, texts and numbers.
fn with_composite<T>(check: impl FnOnce(Keys<'_>) -> T) -> T {
    let (hash, range) = (key("pk", ScalarType::S), key("sk", ScalarType::N));
    check(Keys::new(&[hash], &[range]).unwrap())
}

/// Runs `check` with the keys of a table of partitions `pk` alone.
fn with_hash<T>(check: impl FnOnce(Keys<'_>) -> T) -> T {
    check(Keys::new(&[key("pk", ScalarType::S)], &[]).unwrap())
}
