//! Patterns held against EventBridge's documentation, and against a naive reading of it.

#![allow(clippy::unwrap_used, reason = "a helper of a test may stop it")]

mod documented;
mod envelope;
mod faults;
mod naive;
mod properties;
