//! Exports become rows: as a user of the crate meets it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod fixture;
mod importing;
mod mappings;
mod proposals;
mod types;
mod warehouse;
