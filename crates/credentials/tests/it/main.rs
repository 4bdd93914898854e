//! Tests every source with a real file, a real program or a real server on this machine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod order;
#[cfg(unix)]
mod programs;
mod renewal;
mod roles;
mod service;
mod support;
