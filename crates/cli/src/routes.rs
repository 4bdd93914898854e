//! `trestle routes`: checks route files, applies them to a running server, tells how routes are doing, and sees to what
//! was given up.

use crate::exit::{Code, Failure};
use crate::server_flags::{Said, ServerFlags, encoded};
use clap::{ArgGroup, Args, Subcommand};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trestle_env::SystemClock;
use trestle_events::{Destination, read_routes};
use trestle_model::Model;
use trestle_targets::Surroundings;

const ROUTES: &str = "/_trestle/routes";
const DEAD_LETTERS: &str = "/_trestle/dead-letters";
/// Where routes and calls over TLS are described.
const PAGE: &str = "docs/targets.md";

/// What can be done with routes.
#[derive(Debug, Subcommand)]
pub(crate) enum RoutesCommand {
    /// Check route files, or the routes in model files: everything that is wrong, and where
    Check(CheckFlags),
    /// Let a server's routes be those of a file; those in models stay
    Apply(ApplyFlags),
    /// Show how the routes of a server are doing
    Status(StatusFlags),
    /// List what was given up, or show one
    DeadLetters(DeadLettersFlags),
    /// Try again what was given up
    Replay(SelectionFlags),
    /// Forget what was given up
    Drop(SelectionFlags),
}

/// Flags of `trestle routes check`.
#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A model whose entities the routes speak of; may be given more than once
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
}

/// Flags of `trestle routes apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyFlags {
    /// The route file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only let the server check it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Flags of `trestle routes status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Flags of `trestle routes dead-letters`.
#[derive(Debug, Args)]
pub(crate) struct DeadLettersFlags {
    /// The one to show, whole
    #[arg(value_name = "ID", conflicts_with = "route")]
    id: Option<String>,
    /// Only those of this route
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Flags of `trestle routes replay` and `drop`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "route", "all"]))]
pub(crate) struct SelectionFlags {
    /// This one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Those of this route
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// All of them
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Runs one of the commands.
pub(crate) fn routes(command: &RoutesCommand) -> Result<(), Failure> {
    match command {
        RoutesCommand::Check(flags) => check(flags),
        RoutesCommand::Apply(flags) => apply(flags),
        RoutesCommand::Status(flags) => status(flags),
        RoutesCommand::DeadLetters(flags) => dead_letters(flags),
        RoutesCommand::Replay(flags) => replay(flags),
        RoutesCommand::Drop(flags) => drop_letters(flags),
    }
}

/// With standard output closed there is nobody left to tell; the exit code still says it.
fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

fn check(flags: &CheckFlags) -> Result<(), Failure> {
    let mut models: Vec<Arc<Model>> = Vec::new();
    for file in flags.models.iter().chain(&flags.files) {
        let model = trestle_model::load(&read(file)?).model;
        models.extend(model.map(Arc::new));
    }
    let surroundings = Surroundings::of_process(Arc::new(SystemClock::new()));
    let faults = |destination: &Destination| match destination.kind() {
        Some(("queue" | "handler", _)) => Vec::new(),
        _ => match trestle_targets::open(destination, &surroundings) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        },
    };
    let mut is_sound = true;
    for file in &flags.files {
        let found = read_routes(&read(file)?, &models, &faults);
        for problem in &found.problems {
            line(&format!("{}:{problem}", file.display()));
        }
        is_sound &= found.problems.is_empty();
        if found.problems.is_empty() {
            line(&format!(
                "{}: {} routes, nothing is wrong",
                file.display(),
                found.routes.len()
            ));
        }
    }
    if is_sound {
        Ok(())
    } else {
        Err(Failure::new(
            Code::BadModel,
            format!("the routes cannot be used; {PAGE} describes targets"),
        ))
    }
}

/// Makes an admin call that must succeed.
fn ask(server: &ServerFlags, method: &str, path: &str, body: &str) -> Result<String, Failure> {
    let caller = server.caller(PAGE);
    let said: Said = server.ask(&caller, method, path, body)?;
    match said.status.as_str() {
        "200" => Ok(said.text),
        _ => Err(Failure::failed(server.refusal(&caller, &said))),
    }
}

fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::failed(format!("the answer is no JSON: {error}")))
}

fn apply(flags: &ApplyFlags) -> Result<(), Failure> {
    let path = format!("{ROUTES}?dry-run={}", flags.dry_run);
    let answer = ask(&flags.server, "POST", &path, &read(&flags.file)?)?;
    if flags.dry_run {
        line("nothing is wrong; nothing was changed");
        return Ok(());
    }
    show_status(&json(&answer)?);
    Ok(())
}

fn status(flags: &StatusFlags) -> Result<(), Failure> {
    let answer = ask(&flags.server, "GET", ROUTES, "")?;
    if flags.json {
        line(answer.trim());
    } else {
        show_status(&json(&answer)?);
    }
    Ok(())
}

fn show_status(answer: &Value) {
    let routes = answer["routes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if routes.is_empty() {
        line("no routes");
    }
    for route in routes {
        let text = |name: &str| route[name].as_str().unwrap_or_default();
        let number = |name: &str| route[name].as_u64().unwrap_or_default();
        line(&format!(
            "{} ({}): {}, {} delivered, {} waiting, {} ms behind, {} retried, {} parked, {} dead letters",
            text("route"),
            text("table"),
            text("state"),
            number("delivered"),
            number("waiting"),
            number("lag_ms"),
            number("retried"),
            number("parked"),
            number("dead"),
        ));
        if let Some(error) = route["last_error"]["message"].as_str() {
            line(&format!("  last error: {error}"));
        }
    }
}

fn dead_letters(flags: &DeadLettersFlags) -> Result<(), Failure> {
    if let Some(id) = &flags.id {
        let answer = ask(
            &flags.server,
            "GET",
            &format!("{DEAD_LETTERS}?id={}", encoded(id)),
            "",
        )?;
        line(&format!("{:#}", json(&answer)?));
        return Ok(());
    }
    let route = flags
        .route
        .as_ref()
        .map(|route| format!("&route={}", encoded(route)))
        .unwrap_or_default();
    let mut after = String::new();
    loop {
        let path = format!("{DEAD_LETTERS}?{after}limit=100{route}");
        let page = json(&ask(&flags.server, "GET", &path, "")?)?;
        for letter in page["dead_letters"].as_array().into_iter().flatten() {
            show_letter(letter, flags.json);
        }
        let Some(next) = page["next"].as_str() else {
            return Ok(());
        };
        after = format!("after={}&", encoded(next));
    }
}

fn show_letter(letter: &Value, as_json: bool) {
    if as_json {
        return line(&letter.to_string());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let change = &letter["change"];
    line(&format!(
        "{}  {} of {}, {} attempts, last at {}: {}",
        text(&letter["id"]),
        text(&change["event"]),
        change["keys"],
        letter["attempts"],
        text(&letter["last"]),
        text(&letter["error"]),
    ));
}

fn selected(flags: &SelectionFlags) -> String {
    match (&flags.id, &flags.route) {
        (Some(id), _) => format!("{DEAD_LETTERS}?id={}", encoded(id)),
        (None, Some(route)) => format!("{DEAD_LETTERS}?route={}", encoded(route)),
        (None, None) => format!("{DEAD_LETTERS}?all=true"),
    }
}

fn replay(flags: &SelectionFlags) -> Result<(), Failure> {
    let answer = json(&ask(&flags.server, "POST", &selected(flags), "")?)?;
    line(&format!(
        "{} delivered, {} refused again",
        answer["delivered"], answer["failed"]
    ));
    match answer["failed"].as_u64() {
        Some(0) => Ok(()),
        _ => Err(Failure::failed(
            "some dead letters were refused again; they stay, with the new reason",
        )),
    }
}

fn drop_letters(flags: &SelectionFlags) -> Result<(), Failure> {
    let answer = json(&ask(&flags.server, "DELETE", &selected(flags), "")?)?;
    line(&format!("{} dropped", answer["dropped"]));
    Ok(())
}
