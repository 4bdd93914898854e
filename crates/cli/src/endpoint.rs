//! `trestle endpoint`: what a remote endpoint can do.

mod check;

use self::check::CheckFlags;
use crate::administration::print_json;
use crate::exit::Failure;
use crate::model::line;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::{Args, Subcommand};
use trestle_env::{Clock, SystemClock};
use trestle_gateway::{Capabilities, StoredProbe};

/// What is asked of an endpoint.
#[derive(Debug, Subcommand)]
pub(crate) enum EndpointCommand {
    /// Test what an endpoint supports: transactions, conditions, streams, indexes.
    ///
    /// Creates two tables whose names begin with `trestle-probe-`, writes about two hundred small rows and deletes the tables. The
    /// result is stored at the endpoint, in the table `_trestle.endpoint`, where gateways find it.
    Probe(ProbeFlags),
    /// Test everything that a gateway does at an endpoint: derived keys, every effect, PartiQL, concurrent writers, audit and repair, a
    /// route, a migration; and a copy of a table and back.
    ///
    /// Creates about fifteen tables whose names begin with `trestle-check-`, and deletes them, also if it fails or is stopped. Ends with
    /// code 0 if every step passed or was skipped because the endpoint lacks what it needs, and with 5 if one failed.
    Check(CheckFlags),
}

/// Flags of `trestle endpoint probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Show the stored result of the last probe
    #[arg(long)]
    stored: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn endpoint(command: &EndpointCommand) -> Result<(), Failure> {
    match command {
        EndpointCommand::Probe(flags) => probe(flags),
        EndpointCommand::Check(flags) => check::check(flags),
    }
}

fn probe(flags: &ProbeFlags) -> Result<(), Failure> {
    let remote = flags.server.remote()?;
    let runtime = runtime::on_this_thread()?;
    let url = remote.endpoint();
    if flags.stored {
        let stored = runtime.block_on(StoredProbe::read(&remote));
        let stored = stored
            .map_err(|error| Failure::failed(format!("cannot read what is stored at {url}: {error}")))?;
        return match stored {
            Some(stored) => show(flags, &stored),
            None => Err(Failure::failed(format!(
                "{url} was never probed: run `trestle endpoint probe --endpoint {url}`"
            ))),
        };
    }
    let found = runtime.block_on(Capabilities::probe(&remote));
    let found = found.map_err(|error| Failure::failed(format!("cannot probe {url}: {error}")))?;
    let found = StoredProbe::new(found, SystemClock::new().now());
    let stored = runtime.block_on(found.store(&remote));
    show(flags, &found)?;
    // The result is valid even if it could not be stored.
    if let Err(error) = stored {
        tracing::warn!("what was found is not stored at {url}: {error}");
    }
    Ok(())
}

fn show(flags: &ProbeFlags, found: &StoredProbe) -> Result<(), Failure> {
    match flags.json {
        true => print_json(found),
        false => {
            line(&format!("probed                  {}", found.probed));
            found.capabilities.to_string().lines().for_each(line);
            Ok(())
        }
    }
}
