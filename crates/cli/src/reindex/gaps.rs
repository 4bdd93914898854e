//! `trestle reindex gaps` and `trestle reindex resend`: rows that the destination does not have.

use super::NameFlags;
use super::ids;
use super::place::{ReindexPlace, WorkedOnHere};
use super::route_file::RouteFileFlags;
use super::server_gaps;
use super::work::{self, WatchFlags};
use crate::administration::print_json;
use crate::administration::reindexes::IDS_MAX;
use crate::exit::Failure;
use crate::model::line;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use trestle_admin::ResendReindex;
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
    /// Rows with these ids: a file with one per line, `-` for standard input
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
    watch: WatchFlags,
    #[command(flatten)]
    of: NameFlags,
}

/// What the source is compared with.
#[derive(Debug, Args)]
pub(super) struct AgainstFlags {
    /// A file with the ids that the destination has, one per line, as `gaps` prints them: in a table with a sort key,
    /// {"pk":"b1","sk":"2"} without spaces
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,
    /// A table of the same database whose rows the destination has, and the attribute with the id, in the same form [default: its
    /// partition key]
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
    send_again(&place, name, &wanted)?;
    let report = place.status(name)?;
    work::go_on(&place, &report, &flags.watch, flags.of.json)
}

/// Adds the rows to the work. In this process, all of them are checked before any is added; a server takes a
/// limited number per call.
fn send_again(place: &ReindexPlace, name: &str, wanted: &[String]) -> Result<(), Failure> {
    if let ReindexPlace::Here(here) = place {
        return here.wait(here.reindexer.resend(name, wanted)).map(drop);
    }
    for ids in wanted.chunks(IDS_MAX) {
        place.ask(ResendReindex {
            name: name.to_owned(),
            ids: ids.to_vec(),
        })?;
    }
    Ok(())
}

fn find(
    place: &ReindexPlace,
    name: &str,
    flags: &AgainstFlags,
    on_gap: &mut (dyn FnMut(&str) -> Result<(), String> + Send),
) -> Result<u64, Failure> {
    match place {
        ReindexPlace::Here(here) => found_here(here, name, flags, on_gap),
        ReindexPlace::Server(_) => server_gaps::found(place, name, flags, on_gap),
    }
}

fn found_here(
    here: &WorkedOnHere,
    name: &str,
    flags: &AgainstFlags,
    on_gap: &mut (dyn FnMut(&str) -> Result<(), String> + Send),
) -> Result<u64, Failure> {
    if let Some(file) = &flags.against {
        let read = || -> Result<KnownIds<'_>, String> { ids::read(file).map(|ids| ids as KnownIds<'_>) };
        let count = read().map_err(Failure::usage)?.count() as u64;
        let against = Against::Ids { count, read: &read };
        return here.wait(here.reindexer.gaps(name, &against, on_gap));
    }
    let against = match flags.table() {
        Some((name, attribute)) => Against::Table { name, attribute },
        None => Against::Itself,
    };
    here.wait(here.reindexer.gaps(name, &against, on_gap))
}

impl AgainstFlags {
    /// The table whose rows the destination has, and the attribute with the id.
    pub(super) fn table(&self) -> Option<(String, Option<String>)> {
        let table = self.against_table.as_ref()?;
        Some(match table.split_once(':') {
            Some((name, attribute)) => (name.to_owned(), Some(attribute.to_owned())),
            None => (table.clone(), None),
        })
    }
}
