//! Tests of the program: its output and its exit codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod backup;
mod bench;
mod configuration;
mod copy;
mod copy_endpoint;
mod delete_collection;
mod docs;
#[cfg(unix)]
mod endpoint_check;
mod error_texts;
#[cfg(unix)]
mod faults;
mod file_sizes;
#[cfg(unix)]
mod gateway_past_writes;
#[cfg(unix)]
mod gateway_routes;
mod import_cassandra;
mod log_lines;
mod migrate;
mod model;
mod model_proposals;
mod models_in_database;
#[cfg(unix)]
mod private_files;
mod regions;
mod reindex;
mod reindex_faults;
mod reindex_server;
mod repairing;
mod route_commands;
mod routes;
mod routes_run;
mod running;
mod secured;
mod serve_with_model;
mod serving;
mod stream_shards;
mod tail;
mod upgrade;
mod usage;
