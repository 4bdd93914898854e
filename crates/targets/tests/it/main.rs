//! Targets at work: real servers on free ports, real programs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod batches;
#[cfg(unix)]
mod command;
mod documented;
mod event_bridge;
mod faults;
mod https;
mod outages;
mod own_server;
mod server;
mod signed;
mod sqs;
mod webhook;
