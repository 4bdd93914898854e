//! Tests of the administration's description.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod openapi;
