//! Repository chores: `cargo xtask tidy` checks what the compiler cannot, `cargo xtask book` builds the book.

mod book;
mod repository;
mod tidy;

use repository::Repository;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy | cargo xtask book";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => run(|_, repository| tidy::faults(repository)),
        Some("book") => run(|root, repository| book::build(root, repository).err().into_iter().collect()),
        _ => complain(&[USAGE.to_owned()]),
    }
}

/// Runs a chore, which returns what is wrong.
fn run(chore: impl Fn(&Path, &Repository) -> Vec<String>) -> ExitCode {
    let root = Repository::own_root();
    match Repository::open(&root).map(|repository| chore(&root, &repository)) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => complain(&faults),
        Err(error) => complain(&[format!("The repository could not be read: {error}.")]),
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
