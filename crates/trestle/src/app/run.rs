//! A program's `main`.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

/// Runs `work` to its end on a runtime of its own, with a log on standard error. An error is logged and makes the program fail.
///
/// `log` says what is logged: `info`, or `warn,my_app=debug`. The environment variable `RUST_LOG` replaces it.
pub fn run<E: Display>(log: &str, work: impl Future<Output = Result<(), E>>) -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(log));
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    let log = log.with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
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
