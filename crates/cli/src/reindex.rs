//! `trestle reindex`: every row of a table once more, touched or sent to the target of a route.

mod gaps;
mod host;
mod ids;
mod place;
mod route_file;
mod show;
mod start;
mod work;

use crate::administration::print_json;
use crate::args::LogFormat;
use crate::exit::Failure;
use crate::logging;
use crate::model::line;
use clap::{Args, Subcommand};
use gaps::{GapsFlags, ResendFlags};
use place::{ReindexPlace, ReindexPlaceFlags};
use start::StartFlags;
use work::{StatusFlags, WorkFlags};

/// What can be done with reindexes.
#[derive(Debug, Subcommand)]
pub(crate) enum ReindexCommand {
    /// Start a reindex, and work on it in this process until it is done
    Start(Box<StartFlags>),
    /// Work on a reindex in this process; any number of processes can
    Work(WorkFlags),
    /// How a reindex is doing: rows, failures, gaps, rate, workers
    Status(StatusFlags),
    /// Let the workers stop after their pages
    Pause(NameFlags),
    /// Go on with a reindex that was paused, and work on it in this process
    Resume(WorkFlags),
    /// Give a reindex up; rows that are done stay as they are
    Cancel(NameFlags),
    /// Show the rows that were given up, each with its reason and as it was
    DeadLetters(DeadLettersFlags),
    /// Try the rows that were given up again, in this process
    Replay(WorkFlags),
    /// Name the rows that the destination does not have
    Gaps(GapsFlags),
    /// Touch or send rows of a list again, or all gaps
    Resend(ResendFlags),
    /// Show all reindexes
    List(ListFlags),
}

/// Flags that say which reindex.
#[derive(Debug, Args)]
pub(crate) struct NameFlags {
    /// The reindex
    #[arg(value_name = "NAME")]
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ReindexPlaceFlags,
}

/// Flags of `trestle reindex list`.
#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ReindexPlaceFlags,
}

/// Flags of `trestle reindex dead-letters`.
#[derive(Debug, Args)]
pub(crate) struct DeadLettersFlags {
    /// Forget them
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    of: NameFlags,
}

/// Runs one of the commands.
pub(crate) fn reindex(command: &ReindexCommand) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    match command {
        ReindexCommand::Start(flags) => start::start(flags),
        ReindexCommand::Work(flags) => work::work(flags),
        ReindexCommand::Status(flags) => work::status(flags),
        ReindexCommand::Pause(flags) => {
            let place = ReindexPlace::open(&flags.place)?;
            place.wait(place.reindexer.pause(&flags.name))?;
            place.show_status(&flags.name, flags.json)
        }
        ReindexCommand::Resume(flags) => work::resume(flags),
        ReindexCommand::Cancel(flags) => {
            let place = ReindexPlace::open(&flags.place)?;
            place.wait(place.reindexer.cancel(&flags.name))?;
            place.show_status(&flags.name, flags.json)
        }
        ReindexCommand::DeadLetters(flags) => dead_letters(flags),
        ReindexCommand::Replay(flags) => work::replay(flags),
        ReindexCommand::Gaps(flags) => gaps::gaps(flags),
        ReindexCommand::Resend(flags) => gaps::resend(flags),
        ReindexCommand::List(flags) => list(flags),
    }
}

fn list(flags: &ListFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.place)?;
    let jobs = place.wait(place.reindexer.list())?;
    if flags.json {
        return print_json(&jobs);
    }
    if jobs.is_empty() {
        line("no reindex was started here; `trestle reindex start TABLE` starts one");
    }
    show::list(&jobs);
    Ok(())
}

fn dead_letters(flags: &DeadLettersFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.of.place)?;
    let name = &flags.of.name;
    if flags.drop {
        let dropped = place.wait(place.reindexer.drop_dead_letters(name))?;
        line(&format!("{dropped} dropped"));
        return Ok(());
    }
    let job = place.wait(place.reindexer.get(name))?;
    let mut after = None;
    loop {
        let (letters, next) = place.wait(place.reindexer.dead_letters(name, after.as_deref()))?;
        for letter in &letters {
            match flags.of.json {
                true => print_json(letter)?,
                false => line(&format!("{}: {}", job.id_of_key(&letter.key), letter.reason)),
            }
        }
        after = next;
        if after.is_none() {
            return Ok(());
        }
    }
}
