//! `trestle endpoint`: what a remote endpoint can do.

use crate::administration::print_json;
use crate::exit::Failure;
use crate::model::line;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::{Args, Subcommand};
use trestle_gateway::Capabilities;

/// What is asked of an endpoint.
#[derive(Debug, Subcommand)]
pub(crate) enum EndpointCommand {
    /// Find out what an endpoint can do: transactions, conditions, streams, indexes.
    ///
    /// Makes two tables whose names begin with `trestle-probe-`, writes about forty small rows and deletes the tables.
    Probe(ProbeFlags),
}

/// Flags of `trestle endpoint probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn endpoint(command: &EndpointCommand) -> Result<(), Failure> {
    match command {
        EndpointCommand::Probe(flags) => probe(flags),
    }
}

fn probe(flags: &ProbeFlags) -> Result<(), Failure> {
    let remote = flags.server.remote()?;
    let found = runtime::on_this_thread()?.block_on(Capabilities::probe(&remote));
    let found =
        found.map_err(|error| Failure::failed(format!("cannot probe {}: {error}", remote.endpoint())))?;
    match flags.json {
        true => print_json(&found),
        false => {
            found.to_string().lines().for_each(line);
            Ok(())
        }
    }
}
