//! Expressions and legacy parameters as in requests: tables of texts and DynamoDB's results.

// Clippy exempts test functions only; a helper that fails is a failed test too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod condition_errors;
mod condition_truth;
mod key_conditions;
mod legacy;
mod parameters;
mod projections;
mod robustness;
mod round_trip;
mod update_effects;
mod update_errors;
