//! Warehouse as its clients see it: over HTTP, with the real npm in tests of npm. Tests of the system's
//! acceptance points are named after their numbers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test may stop it"
)]

mod building;
mod heads;
mod http;
mod imported;
mod lines;
mod load;
mod npm;
mod program;
mod publishing;
mod support;
