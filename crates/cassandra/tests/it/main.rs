//! Tests of imports through the public interface.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod fixture;
mod importing;
mod mappings;
mod proposals;
mod types;
mod warehouse;
