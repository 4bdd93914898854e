//! The promises of the store, tested on both implementations.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod archive;
mod closing;
mod conformance;
mod damage;
mod directory;
#[cfg(unix)]
mod disk_full;
mod killed;
mod model;
#[cfg(unix)]
mod modes;
mod read_only;
mod reads;
mod selection;
mod space;
mod support;
