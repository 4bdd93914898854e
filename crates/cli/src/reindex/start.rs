//! `trestle reindex start`.

use super::ids;
use super::place::{GivenFiles, ReindexPlace, ReindexPlaceFlags, shown};
use super::route_file::RouteFileFlags;
use super::work::{self, WatchFlags};
use crate::exit::Failure;
use crate::model::line;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use trestle_admin::StartReindex;
use trestle_reindex::StartReindex as Usual;

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
    /// Only this many rows, the first of the table or of what --access finds
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["ids", "entity"])]
    first: Option<u64>,
    /// Only rows with these ids: a file with one per line, `-` for standard input. An id is the text of the partition key, or
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
    /// Maximum of read units per second, over all processes
    #[arg(long, value_name = "UNITS")]
    read_units: Option<f64>,
    /// Maximum of write units per second, over all processes
    #[arg(long, value_name = "UNITS")]
    write_units: Option<f64>,
    /// Do not slow down for live traffic
    #[arg(long)]
    no_yield: bool,
    /// Maximum of rows in a page; after a crash, at most a page is processed again
    #[arg(long, value_name = "ROWS", default_value_t = Usual::PAGE_ROWS)]
    page_rows: u32,
    /// Workers in each process
    #[arg(long, value_name = "N", default_value_t = Usual::WORKERS)]
    workers: u32,
    /// How often a row is tried before it becomes a dead letter
    #[arg(long, value_name = "N", default_value_t = Usual::ATTEMPTS)]
    attempts: u32,
    /// Start although nothing reads the stream
    #[arg(long)]
    force: bool,
    /// Only store it: `trestle reindex work NAME` works on it
    #[arg(long)]
    no_work: bool,
    #[command(flatten)]
    watch: WatchFlags,
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
    if flags.no_work && matches!(place, ReindexPlace::Server(_)) {
        return Err(Failure::usage(
            "a server works on its reindexes by itself: leave --no-work out, or pause the reindex",
        ));
    }
    let started = place.ask(call(flags)?)?;
    for warning in &started.warnings {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let name = &started.reindex.status.name;
    if flags.no_work {
        if !flags.json {
            line(&format!(
                "reindex {name} is stored; `trestle reindex work {name}` works on it"
            ));
        }
        return shown(&started.reindex, flags.json);
    }
    work::go_on(&place, &started.reindex, &flags.watch, flags.json)
}

fn call(flags: &StartFlags) -> Result<StartReindex, Failure> {
    let parameters = flags.parameters.iter();
    Ok(StartReindex {
        table: flags.table.clone(),
        name: flags.name.clone(),
        version: flags.version,
        attribute: flags.attribute.clone(),
        send: flags.send.clone(),
        first: flags.first,
        ids: flags.ids.as_deref().map(ids::read_all).transpose()?,
        entity: flags.entity.clone(),
        access: flags.access.clone(),
        parameters: parameters
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect(),
        read_units: flags.read_units,
        write_units: flags.write_units,
        no_yield: flags.no_yield,
        page_rows: Some(flags.page_rows),
        workers: Some(flags.workers),
        attempts: Some(flags.attempts),
        force: flags.force,
    })
}
