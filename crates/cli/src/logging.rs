//! The log on standard error.
//!
//! Log lines contain text from clients: names of tables in errors, statements, reasons. Every value is
//! therefore one line of limited length, whichever crate logs it: see [`bounded`].

mod bounded;
mod json;

use crate::args::LogFormat;
use crate::exit::Failure;
use bounded::Bounded;
use json::JsonLines;
use std::fmt::{Debug, Display};
use std::io::IsTerminal;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts the log. Standard output stays free for what commands print.
pub(crate) fn start(level: &str, format: LogFormat) -> Result<(), Failure> {
    let wrong = |why: &dyn Display| {
        Failure::usage(format!(
            "cannot use log level `{level}`: {why}; use error, warn, info, debug or trace"
        ))
    };
    // A word that is no level would be taken as the name of a module, and nothing would be logged.
    let is_word = level.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_word && level.parse::<LevelFilter>().is_err() {
        return Err(wrong(&"it is none"));
    }
    let filter: Targets = level.parse().map_err(|error| wrong(&error))?;
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match format {
        LogFormat::Text => log
            .fmt_fields(debug_fn(write_field).delimited(" "))
            .finish()
            .with(filter)
            .try_init(),
        LogFormat::Json => log.event_format(JsonLines).finish().with(filter).try_init(),
    };
    started.map_err(|error| Failure::failed(format!("cannot start the log: {error}")))
}

/// A value in a line of text. The message is written without its name.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    let value = Bounded::text(value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name => write!(writer, "{name}={value}"),
    }
}
