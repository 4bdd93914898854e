//! `trestle routes`: checks route files, applies them to a running server, tells how routes are doing, and sees to what
//! was given up.

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

/// Where routes are described.
const PAGE: &str = "docs/reference/routes.md";

/// What can be done with routes.
#[derive(Debug, Subcommand)]
pub(crate) enum RoutesCommand {
    /// Check route files, or the routes in model files: everything that is wrong, and where
    Check(check::CheckFlags),
    /// Let a server's routes be those of a file; those in models stay
    Apply(apply::ApplyFlags),
    /// List the routes of a server: what each takes, and where it goes
    List(list::ListFlags),
    /// Take a route out of the file that was applied; what waited for it becomes dead letters
    Remove(apply::RemoveFlags),
    /// Run the routes of a file on the streams of any endpoint, DynamoDB's own included, until told to stop
    Run(Box<run::RunFlags>),
    /// Give every row that a route takes to its target, in order with the changes; shows how far it is
    Backfill(backfill::BackfillFlags),
    /// Show how the routes of a server are doing
    Status(status::StatusFlags),
    /// Show what a route takes, as it happens; nothing is delivered
    Tail(Box<tail::TailFlags>),
    /// List what was given up, show one, or drop some
    DeadLetters(Box<dead_letters::DeadLettersFlags>),
    /// Try again what was given up
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

/// With standard output closed there is nobody left to tell; the exit code still says it.
fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// What is not the answer itself. With standard error closed there is nobody left to tell.
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

/// Whether a server is one of ours, which runs routes. Others answer such a question in their own ways.
fn runs_routes(server: &ServerFlags) -> Result<bool, Failure> {
    match RunningServer::new(server, START_ONE)?.ask(ListRoutes {}) {
        Ok(_) => Ok(true),
        // Only ours says that a caller may not.
        Err(error) if matches!(error.code, AdminErrorCode::NoAnswer | AdminErrorCode::Forbidden) => {
            Err(error.into())
        }
        Err(_) => Ok(false),
    }
}
