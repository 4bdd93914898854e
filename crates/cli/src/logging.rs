//! The log on standard error.
//!
//! What clients send ends up in log lines: names of tables in errors, statements, reasons. Every value is therefore one
//! line and bounded in length, whichever crate logs it: see [`bounded`].

mod bounded;
mod json;

use crate::args::LogFormat;
use crate::exit::Failure;
use bounded::Bounded;
use json::JsonLines;
use std::fmt::Debug;
use std::io::IsTerminal;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

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
        LogFormat::Text => log.fmt_fields(debug_fn(write_field).delimited(" ")).try_init(),
        LogFormat::Json => log.event_format(JsonLines).try_init(),
    };
    started.map_err(|error| Failure::failed(format!("cannot start the log: {error}")))
}

/// A value in a line of text. The message comes without its name.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let value = Bounded::text(value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name => write!(writer, "{name}={value}"),
    }
}
