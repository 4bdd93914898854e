//! `trestle routes status`: how each route is doing.

use super::{ROUTES, ask, line, table};
use crate::answer;
use crate::exit::Failure;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

/// Flags of `trestle routes status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Look again every second, until told to stop
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub(super) fn status(flags: &StatusFlags) -> Result<(), Failure> {
    if !flags.watch {
        return look(flags);
    }
    runtime::until_told_or(|| {
        if io::stdout().is_terminal() && !flags.json {
            let _ = write!(io::stdout(), "\x1b[H\x1b[2J");
        }
        look(flags)?;
        Ok(false)
    })
}

fn look(flags: &StatusFlags) -> Result<(), Failure> {
    let answer = ask(&flags.server, "GET", ROUTES, "")?;
    if flags.json {
        line(&answer.to_string());
    } else {
        print(&answer)?;
    }
    Ok(())
}

/// Shows a status as the server answered it.
pub(super) fn show(answer: &str) -> Result<(), Failure> {
    let answer = serde_json::from_str(answer);
    print(&answer.map_err(|error| Failure::failed(format!("the answer is no JSON: {error}")))?)
}

fn print(answer: &Value) -> Result<(), Failure> {
    let routes = answer::list(answer, "routes")?;
    if routes.is_empty() {
        line("no routes; `trestle routes apply FILE` applies a route file");
        return Ok(());
    }
    let head = [
        "ROUTE",
        "TABLE",
        "STATE",
        "WAITING",
        "LAG",
        "DELIVERED",
        "RETRIED",
        "PARKED",
        "DEAD",
        "LAST ERROR",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for route in routes {
        rows.push(row(route)?);
    }
    for text in table::lines(&rows) {
        line(&text);
    }
    Ok(())
}

fn row(route: &Value) -> Result<[String; 10], Failure> {
    let text = |name: &str| answer::text(route, name).map(str::to_owned);
    let number = |name: &str| answer::number(route, name).map(|number| number.to_string());
    let error = route["last_error"]["message"].as_str().unwrap_or("-");
    let [waiting, lag] = behind(route)?;
    Ok([
        text("route")?,
        text("table")?,
        text("state")?,
        waiting,
        lag,
        number("delivered")?,
        number("retried")?,
        number("parked")?,
        number("dead")?,
        error.lines().next().unwrap_or_default().to_owned(),
    ])
}

/// How far a route is behind, in records and in time. Of a route that is switched off, nobody knows.
fn behind(route: &Value) -> Result<[String; 2], Failure> {
    if route["state"] == "disabled" {
        return Ok(["-", "-"].map(str::to_owned));
    }
    let records = answer::number(route, "lag_records")?;
    let more = if route["lag_at_least"] == true { "+" } else { "" };
    let ms = answer::number(route, "lag_ms")?;
    Ok([format!("{records}{more}"), time(ms)])
}

/// A time in its largest unit.
fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m", ms / 60_000),
        _ => format!("{}h", ms / 3_600_000),
    }
}
