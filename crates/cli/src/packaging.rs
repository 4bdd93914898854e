//! `trestle print-for-packages`: shell completions and man pages, generated from the commands and flags.

use crate::args::Cli;
use crate::exit::Failure;
use clap::{Command, CommandFactory as _};
use clap_complete::{Shell, generate_to};
use std::path::Path;

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

pub(crate) fn write_into(directory: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("{}: {error}", directory.display()));
    let mut shown = without_hidden(&Cli::command()).version(env!("CARGO_PKG_VERSION"));
    for shell in SHELLS {
        generate_to(shell, &mut shown, "trestle", directory).map_err(failed)?;
    }
    clap_mangen::generate_to(Cli::command(), directory).map_err(failed)
}

/// The command without hidden parts, which `clap_complete` would also complete.
fn without_hidden(command: &Command) -> Command {
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().cloned())
        .subcommands(inner.map(without_hidden))
}
