//! The numbered acceptance points of the system, each by a test named after it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod api;
mod crashes;
mod deploying;
mod expiring;
mod files;
mod migrating;
mod patterns;
mod program;
mod running;
mod support;
