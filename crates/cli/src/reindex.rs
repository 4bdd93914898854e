//! `trestle reindex`: every row of a table once more, touched or sent to the target of a route.

mod declared;
mod gaps;
mod host;
mod ids;
mod place;
mod route_file;
mod server_gaps;
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
use place::{ReindexPlace, ReindexPlaceFlags, shown};
use start::StartFlags;
use trestle_admin::{
    Call, CancelReindex, DropReindexDeadLetters, ListReindexDeadLetters, ListReindexes, PauseReindex,
    ReindexReport,
};
use work::{GoOnFlags, StatusFlags, WorkFlags};

/// What can be done with reindexes.
#[derive(Debug, Subcommand)]
pub(crate) enum ReindexCommand {
    /// Start a reindex, and work on it until it is done: in this process, or with --server in the server
    Start(Box<StartFlags>),
    /// Work on a reindex in this process; any number of processes can
    Work(WorkFlags),
    /// Show the progress of a reindex: rows, failures, gaps, rate, workers
    Status(StatusFlags),
    /// Pause a reindex: workers stop after their current pages
    Pause(NameFlags),
    /// Continue a paused reindex
    Resume(GoOnFlags),
    /// Cancel a reindex; rows that are done stay as they are
    Cancel(NameFlags),
    /// Show the rows that failed, each with its reason
    DeadLetters(DeadLettersFlags),
    /// Process the rows that failed again
    Replay(GoOnFlags),
    /// List the rows that the destination does not have
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
    /// Delete them
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
            let name = flags.name.clone();
            steer(flags, PauseReindex { name })
        }
        ReindexCommand::Resume(flags) => work::resume(flags),
        ReindexCommand::Cancel(flags) => {
            let name = flags.name.clone();
            steer(flags, CancelReindex { name })
        }
        ReindexCommand::DeadLetters(flags) => dead_letters(flags),
        ReindexCommand::Replay(flags) => work::replay(flags),
        ReindexCommand::Gaps(flags) => gaps::gaps(flags),
        ReindexCommand::Resend(flags) => gaps::resend(flags),
        ReindexCommand::List(flags) => list(flags),
    }
}

fn steer(flags: &NameFlags, call: impl Call<Answer = ReindexReport>) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.place)?;
    shown(&place.ask(call)?, flags.json)
}

fn list(flags: &ListFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.place)?;
    let (mut reindexes, mut after) = (Vec::new(), None);
    loop {
        let page = place.ask(ListReindexes {
            after,
            ..ListReindexes::default()
        })?;
        reindexes.extend(page.reindexes);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if flags.json {
        return print_json(&reindexes);
    }
    if reindexes.is_empty() {
        line("no reindex was started here; `trestle reindex start TABLE` starts one");
    }
    show::list(&reindexes);
    Ok(())
}

fn dead_letters(flags: &DeadLettersFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.of.place)?;
    let name = flags.of.name.clone();
    if flags.drop {
        let dropped = place.ask(DropReindexDeadLetters { name })?.dropped;
        line(&format!("{dropped} dropped"));
        return Ok(());
    }
    let mut after = None;
    loop {
        let page = place.ask(ListReindexDeadLetters {
            name: name.clone(),
            after,
            limit: None,
        })?;
        for letter in &page.dead_letters {
            match flags.of.json {
                true => print_json(letter)?,
                false => line(&format!("{}: {}", letter.id, letter.letter.reason)),
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
