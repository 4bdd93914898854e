//! `trestle reindex gaps` and `trestle reindex resend`: what the destination does not have.

use super::NameFlags;
use super::ids;
use super::place::ReindexPlace;
use super::route_file::RouteFileFlags;
use super::work;
use crate::administration::print_json;
use crate::exit::Failure;
use crate::model::line;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use trestle_reindex::{Against, KnownIds};

/// Flags of `trestle reindex gaps`.
#[derive(Debug, Args)]
pub(crate) struct GapsFlags {
    #[command(flatten)]
    source: AgainstFlags,
    #[command(flatten)]
    of: NameFlags,
}

/// Flags of `trestle reindex resend`.
#[derive(Debug, Args)]
pub(crate) struct ResendFlags {
    /// Rows with these ids: a file with one in a line, `-` for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "gaps")]
    ids: Option<PathBuf>,
    /// All gaps
    #[arg(long, conflicts_with = "ids")]
    gaps: bool,
    #[command(flatten)]
    source: AgainstFlags,
    #[command(flatten)]
    route_file: RouteFileFlags,
    #[command(flatten)]
    of: NameFlags,
}

/// What the source is compared with.
#[derive(Debug, Args)]
struct AgainstFlags {
    /// A file with the ids that the destination has, one in a line
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// A table of the same database whose rows the destination has, and the attribute with the id [default: its partition key]
    #[arg(long, value_name = "TABLE[:ATTRIBUTE]", conflicts_with = "against")]
    against_table: Option<String>,
}

/// `trestle reindex gaps`.
pub(super) fn gaps(flags: &GapsFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.of.place)?;
    let mut tell = |id: &str| {
        match flags.of.json {
            true => print_json(&id).map_err(|failure| failure.message)?,
            false => line(id),
        }
        Ok(())
    };
    let count = find(&place, &flags.of.name, &flags.source, &mut tell)?;
    let _ = writeln!(io::stderr(), "{count} gaps");
    Ok(())
}

/// `trestle reindex resend`.
pub(super) fn resend(flags: &ResendFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open_with(&flags.of.place, flags.route_file.given())?;
    let name = &flags.of.name;
    let mut wanted = Vec::new();
    match &flags.ids {
        Some(file) => wanted = ids::read_all(file)?,
        None => {
            let mut keep = |id: &str| {
                wanted.push(id.to_owned());
                Ok(())
            };
            find(&place, name, &flags.source, &mut keep)?;
        }
    }
    if wanted.is_empty() {
        line("there is nothing to send again");
        return Ok(());
    }
    place.wait(place.reindexer.resend(name, &wanted))?;
    work::until_done(&place, name, flags.of.json)
}

fn find(
    place: &ReindexPlace,
    name: &str,
    flags: &AgainstFlags,
    on_gap: &mut (dyn FnMut(&str) -> Result<(), String> + Send),
) -> Result<u64, Failure> {
    if let Some(file) = &flags.against {
        let read = || -> Result<KnownIds<'_>, String> { ids::read(file).map(|ids| ids as KnownIds<'_>) };
        let count = read().map_err(Failure::usage)?.count() as u64;
        let against = Against::Ids { count, read: &read };
        return place.wait(place.reindexer.gaps(name, &against, on_gap));
    }
    let against = match &flags.against_table {
        Some(table) => {
            let (name, attribute) = match table.split_once(':') {
                Some((name, attribute)) => (name, Some(attribute.to_owned())),
                None => (table.as_str(), None),
            };
            Against::Table {
                name: name.to_owned(),
                attribute,
            }
        }
        None => Against::Itself,
    };
    place.wait(place.reindexer.gaps(name, &against, on_gap))
}
