//! Models over an endpoint that does not know them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test may stop it"
)]

mod capabilities_off;
mod duty;
mod dynalite;
mod forwarding;
mod histories;
mod leases;
mod left_intents;
mod left_looks;
mod limits;
mod migrations;
mod moments;
mod moves_without_transactions;
mod past_writes;
mod probing;
mod real_endpoint;
mod requests;
mod rows_meanwhile;
mod same_as_embedded;
mod several_gateways;
mod statements;
mod support;
mod without_transactions;
