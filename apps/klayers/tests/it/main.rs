//! The numbered acceptance points of the system, each by a test named after it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod api;
mod crashes;
mod deploying;
mod expiring;
mod files;
#[allow(dead_code, reason = "the program around the function is not called")]
#[path = "../../examples/import.rs"]
mod import;
mod migrating;
mod original;
mod patterns;
mod program;
mod running;
mod support;
