//! Tests of the application. Those named `point_…` are the acceptance points of the README.

mod engine;
mod figure;
mod history;
mod http;
mod keys;
mod killed;
mod layouts;
mod migrating;
mod recovery;
mod refusals;
mod stale;
mod support;
