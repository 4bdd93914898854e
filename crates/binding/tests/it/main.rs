//! Models on a real engine: what applying one changes, what it refuses, and what holds afterwards.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod audit;
mod constraints;
mod counts;
mod effects;
mod fill;
mod heads;
mod identities;
mod migration;
mod rows;
mod stored;
mod support;
mod systems;
mod tables;
mod updates;
mod writes;
