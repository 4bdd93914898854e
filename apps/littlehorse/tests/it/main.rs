//! Tests of the application. Those named `point_…` are the acceptance points of the README.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod crashes;
mod deleting;
mod engine;
mod figure;
mod history;
mod http;
mod kept;
mod keys;
mod killed;
mod layouts;
mod migrating;
mod program;
mod recovery;
mod refusals;
mod stale;
mod support;
