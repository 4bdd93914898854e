//! The log on standard error.

use crate::args::LogFormat;
use crate::exit::Failure;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts the log. Standard output stays free for what commands print.
pub(crate) fn start(level: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::builder().parse(level).map_err(|error| {
        Failure::usage(format!(
            "cannot use log level `{level}`: {error}; use error, warn, info, debug or trace"
        ))
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::failed(format!("cannot start the log: {error}")))
}
