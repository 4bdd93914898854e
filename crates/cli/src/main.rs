//! The `trestle` program: parses arguments, runs the command, and sets the exit code.

mod administration;
mod answer;
mod args;
mod backup;
mod bar;
mod bench;
mod config;
mod console;
mod copy;
mod database;
mod delete_collection;
mod docs;
mod endpoint;
mod exit;
mod file_sizes;
mod healthcheck;
mod import;
mod known;
mod local_flags;
mod logging;
mod migrate;
mod model;
mod open;
#[cfg(feature = "packaging")]
mod packaging;
mod reference;
mod reindex;
mod restore;
mod routes;
mod runtime;
mod serve;
mod server_flags;
mod tail;
mod verify;

use args::{Cli, Command};
use clap::Parser;
use exit::Failure;
use std::process::ExitCode;

/// Requests make many small allocations on several threads, for which the system's allocator is slow.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keep_files_private();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Makes new files readable only by the user: data, backups, reports of rows.
fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

fn run() -> Result<(), Failure> {
    let typed = local_flags::translate(std::env::args_os())?;
    file_sizes::let_writes_fail();
    match Cli::parse_from(typed).command {
        Command::Serve(flags) => serve::serve(&config::load(&flags)?),
        Command::Healthcheck(flags) => healthcheck::check(&flags),
        Command::Verify(flags) => verify::verify(&flags),
        Command::Backup(flags) => backup::backup(&flags),
        Command::Restore(flags) => restore::restore(&flags),
        Command::Model(command) => model::model(&command),
        Command::Migrate(command) => migrate::migrate(&command),
        Command::Reindex(command) => reindex::reindex(&command),
        Command::Import(command) => import::import(&command),
        Command::Copy(flags) => copy::copy(*flags),
        Command::DeleteCollection(flags) => delete_collection::delete_collection(&flags),
        Command::Routes(command) => routes::routes(&command),
        Command::Endpoint(command) => endpoint::endpoint(&command),
        Command::Console(flags) => console::console(&flags),
        Command::Tail(flags) => tail::tail(&flags),
        Command::Docs(flags) => docs::docs(&flags),
        Command::Bench(flags) => bench::bench(*flags),
        Command::BenchConstant(flags) => bench::constant(&flags),
        Command::PrintReference => {
            model::line(reference::page().trim_end());
            Ok(())
        }
        #[cfg(feature = "packaging")]
        Command::PrintForPackages { to } => packaging::write_into(&to),
    }
}
