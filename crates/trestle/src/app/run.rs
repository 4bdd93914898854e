//! A program's `main`.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Runs `work` to its end in a new runtime, with a log on standard error. An error is logged and makes the
/// program fail.
///
/// `log` says what is logged: `info`, or `warn,my_app=debug`. The environment variable `RUST_LOG` replaces it.
pub fn run<E: Display>(log: &str, work: impl Future<Output = Result<(), E>>) -> ExitCode {
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| log.to_owned());
    let filter: Targets = match wanted.parse() {
        Ok(filter) => filter,
        Err(error) => {
            eprintln!(
                "cannot use `{wanted}` for the log: {error}; use a level such as info, or warn,my_app=debug"
            );
            return ExitCode::FAILURE;
        }
    };
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let log = log.with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(filter)
        .init();
    let done = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(work).map_err(|error| error.to_string()),
        Err(error) => Err(format!("the runtime cannot start: {error}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
