//! `trestle routes list`: what each route takes, and its destination.

use super::{line, table};
use crate::exit::Failure;
use crate::known::{self, KnownRoute};
use crate::server_flags::ServerFlags;
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;

/// Flags of `trestle routes list`.
#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Print the text of the route file that was applied instead
    #[arg(long, conflicts_with = "json")]
    text: bool,
    /// Print one JSON object per line for each route
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub(super) fn list(flags: &ListFlags) -> Result<(), Failure> {
    let models = known::models(&flags.server)?;
    let (routes, file) = known::routes(&flags.server, &models)?;
    if flags.text {
        let _ = write!(std::io::stdout(), "{file}");
        return Ok(());
    }
    if flags.json {
        for known in &routes {
            line(&as_json(known).to_string());
        }
        return Ok(());
    }
    if routes.is_empty() {
        line("no routes; `trestle routes apply FILE` applies a route file");
        return Ok(());
    }
    let head = ["ROUTE", "TABLE", "TAKES", "TARGET", "FROM"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(routes.iter().map(row));
    for text in table::lines(&rows) {
        line(&text);
    }
    Ok(())
}

fn row(known: &KnownRoute) -> [String; 5] {
    let route = &known.route;
    let target = route.target.kind().map(|(kind, value)| match value.as_str() {
        Some(text) => format!("{kind} {text}"),
        None => format!("{kind} {value}"),
    });
    [
        route.name.clone(),
        route.table.clone(),
        takes(known),
        target.unwrap_or_default(),
        known
            .of_model
            .as_ref()
            .map_or("route file".to_owned(), |model| format!("model {model}")),
    ]
}

/// What a route takes, in a few words.
fn takes(known: &KnownRoute) -> String {
    let route = &known.route;
    let events: Vec<&str> = route.events.iter().map(|event| event.name()).collect();
    let mut takes = match events.as_slice() {
        [] => "every change".to_owned(),
        events => events.join(", "),
    };
    for (word, names) in [("of", &route.entities), ("changing", &route.changed)] {
        if !names.is_empty() {
            takes += &format!(" {word} {}", names.join(", "));
        }
    }
    if route.pattern.is_some() {
        takes += " by pattern";
    }
    if !route.enabled {
        takes += " (disabled)";
    }
    takes
}

fn as_json(known: &KnownRoute) -> Value {
    let route = &known.route;
    let events: Vec<&str> = route.events.iter().map(|event| event.name()).collect();
    json!({
        "route": route.name, "table": route.table, "entities": route.entities, "events": events,
        "changed": route.changed, "pattern": route.pattern, "target": route.target.0, "enabled": route.enabled,
        "model": known.of_model,
    })
}
