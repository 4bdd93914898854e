//! Tests of an open database as programs, the server and tools use it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod expiry_while_closed;
mod held_changes;
mod lifetime;
mod models;
mod own_tables;
mod reindex;
mod repair;
mod routes;
mod support;
mod touch;
