//! `Remote` against a Trestle server in the process, and against servers that misbehave.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod credentials;
mod faults;
mod forwarding;
mod operations;
mod own_server;
mod proxy;
mod routes;
mod scripted;
mod trust;
