//! Models on a real engine: what applying one changes, what it refuses, and what holds afterwards.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod fill;
mod heads;
mod rows;
mod stored;
mod support;
mod systems;
mod tables;
mod writes;
