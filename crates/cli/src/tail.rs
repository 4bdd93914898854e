//! `trestle tail`: the changes of a table as they happen, by entity, with what changed.

mod follow;
mod show;

pub(crate) use follow::{FollowFlags, follow};
pub(crate) use show::Show;

use crate::args::LogFormat;
use crate::exit::Failure;
use crate::known;
use crate::logging;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use trestle_events::{ChangeEvent, Destination, Maintenance, ModelTyper, Route};
use trestle_model::Model;

/// Flags of `trestle tail`.
#[derive(Debug, Args)]
pub(crate) struct TailFlags {
    /// The table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Only changes of this entity; several with commas, or given again
    #[arg(long = "entity", value_name = "NAME", value_delimiter = ',')]
    entities: Vec<String>,
    /// Only these events: insert, modify, remove, expire; several with commas, or given again
    #[arg(long = "event", value_name = "EVENT", value_delimiter = ',', value_parser = event)]
    events: Vec<ChangeEvent>,
    /// Also show rows that a migration moves, marked `(move)`, and rows that a reindex touches, marked `(touch)`
    #[arg(long)]
    maintenance: bool,
    /// A model with the entities, instead of the models of the server; may be given more than once, newest first
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Print each change as a JSON object in a line, as a route's target gets it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    follow: FollowFlags,
}

fn event(name: &str) -> Result<ChangeEvent, String> {
    // Streams contain no rows of backfills.
    let known = || {
        ChangeEvent::ALL
            .into_iter()
            .filter(|event| *event != ChangeEvent::Backfill)
    };
    let names = || known().map(ChangeEvent::name).collect::<Vec<_>>().join(", ");
    let found = known().find(|event| event.name() == name);
    found.ok_or_else(|| format!("there is {}", names()))
}

/// Shows changes until it is stopped.
pub(crate) fn tail(flags: &TailFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    let models = models(flags)?;
    let route = Route {
        entities: flags.entities.clone(),
        events: flags.events.clone(),
        starting_position: flags.follow.since,
        include_maintenance: match flags.maintenance {
            true => Maintenance::ALL.to_vec(),
            false => Vec::new(),
        },
        ..Route::new("tail", &flags.table, Destination::default())
    };
    let show = Show::new(flags.json);
    follow(
        &flags.follow,
        &route,
        Arc::new(ModelTyper::new(models)),
        &mut |delivery| show.change(&delivery.change),
    )
}

/// The models that determine entities. A filter by entity needs a model with that entity.
fn models(flags: &TailFlags) -> Result<Vec<Arc<Model>>, Failure> {
    let models: Vec<Arc<Model>> = if flags.models.is_empty() {
        let known = known::models(&flags.follow.server)?;
        known.into_iter().map(|known| known.model).collect()
    } else {
        let files = flags.models.iter();
        files
            .map(|file| known::model_file(file))
            .collect::<Result<_, _>>()?
    };
    let entities = || {
        models
            .iter()
            .flat_map(|model| model.entities())
            .map(|entity| entity.name())
    };
    for wanted in &flags.entities {
        if !entities().any(|entity| entity == wanted) {
            let known: Vec<&str> = entities().collect();
            return Err(Failure::usage(if known.is_empty() {
                format!("there is no entity {wanted}: the server knows no model; give one with --model FILE")
            } else {
                format!("there is no entity {wanted}; there is {}", known.join(", "))
            }));
        }
    }
    Ok(models)
}
