//! `Remote` against a server of our own, and against servers that misbehave.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod faults;
mod operations;
mod own_server;
mod routes;
mod scripted;
mod trust;
