//! Repository chores: `cargo xtask tidy` checks what the compiler cannot.

mod repository;
mod tidy;

use repository::Repository;
use std::io::Write as _;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy_command(),
        _ => complain(&[USAGE.to_owned()]),
    }
}

fn tidy_command() -> ExitCode {
    match Repository::open(&Repository::own_root()).map(|repository| tidy::faults(&repository)) {
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
