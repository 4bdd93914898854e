//! A real server on a free port, called over sockets: every property of the protocol has its test here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod admin;
mod admission;
mod backup;
mod bodies;
mod client;
mod compression;
mod connections;
mod console;
mod cors;
mod faults;
mod listening;
mod metrics;
mod protocol;
mod queues;
mod roles;
mod shutdown;
mod signatures;
mod test_server;
mod tls;
