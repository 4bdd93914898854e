//! The typed client as applications use it: only through the public crate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may stop it")]

mod any_database;
mod app;
mod app_answers;
mod app_files;
mod batches;
mod changes;
mod collections;
mod compile_fail;
mod conditions;
mod entries;
mod errors;
mod events;
mod gateways;
mod guide;
mod json;
mod kept;
mod klayers;
mod large_values;
mod littlehorse;
mod manhunt;
mod migrate;
mod models;
mod named_routes;
mod objects;
mod paging;
mod queues;
mod reindexer;
mod reindexing;
mod releases;
mod remote;
mod support;
mod transactions;
mod types;
mod warehouse;
mod without_model;
mod yielding;
