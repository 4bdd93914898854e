//! `trestle routes`: checks route files, applies them to a running server, shows the status of routes, and
//! handles dead letters.

mod apply;
mod backfill;
mod check;
mod dead_letters;
pub(crate) mod doors;
pub(crate) mod given;
mod letters;
mod list;
pub(crate) mod remote_scan;
mod run;
mod section;
mod status;
mod stored;
mod table;
mod tail;

use crate::administration::{RunningServer, START_ONE};
use crate::args::LogFormat;
use crate::exit::Failure;
use crate::logging;
use crate::server_flags::ServerFlags;
use clap::Subcommand;
use std::io::Write;
use std::path::Path;
use trestle_admin::{AdminErrorCode, AdministrationExt, Call, ListRoutes};

/// The page that describes routes.
const PAGE: &str = "docs/reference/routes.md";

/// What can be done with routes.
#[derive(Debug, Subcommand)]
pub(crate) enum RoutesCommand {
    /// Check route files, or the routes in model files: report every mistake with its position
    Check(check::CheckFlags),
    /// Apply a route file to a server; it replaces the one that was applied before. Routes in models stay
    Apply(apply::ApplyFlags),
    /// List the routes of a server: which changes each takes, and its target
    List(list::ListFlags),
    /// Remove a route from the applied file; changes that it has not delivered become dead letters
    Remove(apply::RemoveFlags),
    /// Run the routes of a file on the streams of any endpoint, such as Amazon DynamoDB, until Ctrl-C
    Run(Box<run::RunFlags>),
    /// Deliver every row that a route takes to its target, in order with the changes; shows the progress
    Backfill(backfill::BackfillFlags),
    /// Show the status of a server's routes
    Status(status::StatusFlags),
    /// Show the changes that a route takes as they happen; nothing is delivered
    Tail(Box<tail::TailFlags>),
    /// List, show, move or drop dead letters
    DeadLetters(Box<dead_letters::DeadLettersFlags>),
    /// Deliver dead letters again
    Replay(dead_letters::ReplayFlags),
}

/// Runs one of the commands.
pub(crate) fn routes(command: &RoutesCommand) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    match command {
        RoutesCommand::Check(flags) => check::check(flags),
        RoutesCommand::Apply(flags) => apply::apply(flags),
        RoutesCommand::List(flags) => list::list(flags),
        RoutesCommand::Remove(flags) => apply::remove(flags),
        RoutesCommand::Run(flags) => run::run(flags),
        RoutesCommand::Backfill(flags) => backfill::backfill(flags),
        RoutesCommand::Status(flags) => status::status(flags),
        RoutesCommand::Tail(flags) => tail::tail(flags),
        RoutesCommand::DeadLetters(flags) => dead_letters::dead_letters(flags),
        RoutesCommand::Replay(flags) => dead_letters::replay(flags),
    }
}

/// A closed standard output is not reported; the exit code tells the outcome.
fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a message that is not part of the answer. A closed standard error is not reported.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

/// Makes a call that must succeed.
fn ask<C: Call>(server: &ServerFlags, call: C) -> Result<C::Answer, Failure> {
    Ok(RunningServer::new(server, START_ONE)?.ask(call)?)
}

/// Whether an endpoint is a Trestle server, which runs routes. Others answer the call with various errors.
fn runs_routes(server: &ServerFlags) -> Result<bool, Failure> {
    match RunningServer::new(server, START_ONE)?.ask(ListRoutes {}) {
        Ok(_) => Ok(true),
        // Only a Trestle server refuses it for lack of permission.
        Err(error) if matches!(error.code, AdminErrorCode::NoAnswer | AdminErrorCode::Forbidden) => {
            Err(error.into())
        }
        Err(_) => Ok(false),
    }
}
