//! `trestle reindex start`.

use super::ids;
use super::place::{GivenFiles, ReindexPlace, ReindexPlaceFlags};
use super::route_file::RouteFileFlags;
use super::work;
use crate::exit::Failure;
use crate::model::{line, load_sound};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use trestle_reindex::{ReindexBudget, ReindexDestination, ReindexScope, StartReindex};

/// Flags of `trestle reindex start`.
#[derive(Debug, Args)]
pub(crate) struct StartFlags {
    /// The table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Its name [default: the table and the version]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Raise the rows to this version, which is never lowered [default: the time in seconds since 1970]
    #[arg(long, value_name = "N", conflicts_with = "send")]
    version: Option<u64>,
    /// The version attribute [default: reindexVersion]
    #[arg(long, value_name = "NAME", conflicts_with = "send")]
    attribute: Option<String>,
    /// Send the rows to the target of this route, and write nothing
    #[arg(long, value_name = "ROUTE")]
    send: Option<String>,
    /// Only the first so many rows
    #[arg(long, value_name = "ROWS", group = "scope")]
    first: Option<u64>,
    /// Only rows with these ids: a file with one in a line, `-` for standard input. An id is the text of the partition key, or
    /// a JSON object with all key attributes
    #[arg(long, value_name = "FILE", group = "scope")]
    ids: Option<PathBuf>,
    /// Only rows of this entity of the model
    #[arg(long, value_name = "NAME", group = "scope")]
    entity: Option<String>,
    /// Only rows that this access pattern of the model finds
    #[arg(long, value_name = "NAME", group = "scope")]
    access: Option<String>,
    /// A parameter of the access pattern; may be given more than once
    #[arg(long = "where", value_name = "NAME=VALUE", requires = "access", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// The model file, for an endpoint
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// The most read units in a second, over all processes
    #[arg(long, value_name = "UNITS")]
    read_units: Option<f64>,
    /// The most write units in a second, over all processes
    #[arg(long, value_name = "UNITS")]
    write_units: Option<f64>,
    /// Do not rest while live traffic is slowed down
    #[arg(long)]
    no_yield: bool,
    /// The most rows on a page, which is what a crash costs
    #[arg(long, value_name = "ROWS", default_value_t = StartReindex::PAGE_ROWS)]
    page_rows: u32,
    /// Workers in each process
    #[arg(long, value_name = "N", default_value_t = StartReindex::WORKERS)]
    workers: u32,
    /// How often a row is tried before it becomes a dead letter
    #[arg(long, value_name = "N", default_value_t = StartReindex::ATTEMPTS)]
    attempts: u32,
    /// Start although nothing listens
    #[arg(long)]
    force: bool,
    /// Only store it: `trestle reindex work NAME` works on it
    #[arg(long)]
    no_work: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    route_file: RouteFileFlags,
    #[command(flatten)]
    place: ReindexPlaceFlags,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Starts a reindex.
pub(super) fn start(flags: &StartFlags) -> Result<(), Failure> {
    let given = GivenFiles {
        model: flags.model.as_ref(),
        ..flags.route_file.given()
    };
    let place = ReindexPlace::open_with(&flags.place, given)?;
    let asked = StartReindex {
        name: flags.name.clone(),
        table: flags.table.clone(),
        to: match &flags.send {
            Some(route) => ReindexDestination::Route(route.clone()),
            None => ReindexDestination::Stream {
                attribute: flags.attribute.clone(),
                version: flags.version,
            },
        },
        scope: scope(flags, &place)?,
        budget: ReindexBudget {
            read_units: flags.read_units,
            write_units: flags.write_units,
            yields: !flags.no_yield,
        },
        page_rows: flags.page_rows,
        workers: flags.workers,
        attempts: flags.attempts,
        force: flags.force,
    };
    let started = place.wait(place.reindexer.start(asked))?;
    for warning in &started.warnings {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let name = &started.job.name;
    if flags.no_work {
        if !flags.json {
            line(&format!(
                "reindex {name} is stored; `trestle reindex work {name}` works on it"
            ));
        }
        return place.show_status(name, flags.json);
    }
    work::until_done(&place, name, flags.json)
}

fn scope(flags: &StartFlags, place: &ReindexPlace) -> Result<ReindexScope, Failure> {
    if let Some(rows) = flags.first {
        return Ok(ReindexScope::First(rows));
    }
    if let Some(file) = &flags.ids {
        return ids::read_all(file).map(ReindexScope::Ids);
    }
    if let Some(entity) = &flags.entity {
        return Ok(ReindexScope::Entity(entity.clone()));
    }
    let Some(access) = &flags.access else {
        return Ok(ReindexScope::Complete);
    };
    let needed =
        || Failure::usage("an access pattern needs the table's model: apply it, or give it with --model");
    let model = match &flags.model {
        Some(file) => load_sound(file)?.into(),
        None => place.reindexer.model(&flags.table).ok_or_else(needed)?,
    };
    let parameters = trestle_collection::parameters(&model, access, flags.parameters.clone());
    Ok(ReindexScope::Access {
        name: access.clone(),
        parameters: parameters.map_err(|error| Failure::usage(error.message()))?,
    })
}
