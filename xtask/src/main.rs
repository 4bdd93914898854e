//! Repository chores: `cargo xtask tidy` checks what the compiler cannot, `cargo xtask book` builds the book, `cargo xtask licences`
//! prints the licences of packages in the program.

mod book;
mod licences;
mod packages;
mod repository;
mod tidy;

use repository::Repository;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy | book | licences [--target TRIPLE]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => run(|_, repository| tidy::faults(repository)),
        ["book"] => run(|root, repository| book::build(root, repository).err().into_iter().collect()),
        ["licences", rest @ ..] => licences_command(rest),
        _ => complain(&[USAGE.to_owned()]),
    }
}

/// Runs a chore, which returns the faults.
fn run(chore: impl Fn(&Path, &Repository) -> Vec<String>) -> ExitCode {
    let root = Repository::own_root();
    match Repository::open(&root).map(|repository| chore(&root, &repository)) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => complain(&faults),
        Err(error) => complain(&[format!("The repository could not be read: {error}.")]),
    }
}

fn licences_command(arguments: &[&str]) -> ExitCode {
    match licences::page(arguments) {
        Ok(page) => match std::io::stdout().write_all(page.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&[format!("The licences could not be written: {error}.")]),
        },
        Err(faults) => complain(&faults),
    }
}

fn complain(lines: &[String]) -> ExitCode {
    let mut err = std::io::stderr().lock();
    for line in lines {
        // If standard error is closed, the lines are lost; the exit code still reports the failure.
        let _ = writeln!(err, "{line}");
    }
    ExitCode::FAILURE
}
