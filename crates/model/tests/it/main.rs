//! The crate as other crates use it: model files in; problems, keys, requests and descriptions out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod access;
mod database;
mod derive;
mod effects;
mod large;
mod large_values;
mod layout_change;
mod manhunt;
mod mistakes;
mod properties;
mod refusals;
mod reindex_version;
mod rows;
mod schema;
mod slips;
mod systems;
mod timestamps;
mod versions;
mod warnings;
