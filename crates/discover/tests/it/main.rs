//! Tests of the public interface: rows or a file in; a model file that loads, and notes, out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod chance;
mod entries;
mod random;
mod reading;
mod sample;
mod systems;
mod tables;
mod workbench;
