//! Works on a reindex in this process, or follows one of a server, and shows its status.

use super::NameFlags;
use super::place::{ReindexPlace, WorkedOnHere, shown};
use super::route_file::RouteFileFlags;
use super::show;
use crate::bar::Bar;
use crate::exit::Failure;
use crate::model::line;
use crate::runtime;
use clap::Args;
use std::convert::Infallible;
use std::time::Duration;
use trestle_admin::{ReindexReport, ReplayReindex, ResumeReindex};
use trestle_reindex::ReindexState;
use trestle_server::termination;

/// The time between two updates of the progress.
const LOOK: Duration = Duration::from_millis(500);

/// Flags of `trestle reindex work`.
#[derive(Debug, Args)]
pub(crate) struct WorkFlags {
    #[command(flatten)]
    pub(super) route_file: RouteFileFlags,
    #[command(flatten)]
    pub(super) of: NameFlags,
}

/// Flags of commands that continue a reindex.
#[derive(Debug, Args)]
pub(crate) struct GoOnFlags {
    #[command(flatten)]
    pub(super) watch: WatchFlags,
    #[command(flatten)]
    pub(super) route_file: RouteFileFlags,
    #[command(flatten)]
    pub(super) of: NameFlags,
}

impl GoOnFlags {
    fn place(&self) -> Result<ReindexPlace, Failure> {
        ReindexPlace::open_with(&self.of.place, self.route_file.given())
    }
}

/// Whether a command waits.
#[derive(Debug, Args)]
pub(crate) struct WatchFlags {
    /// With --server: wait until it is done, and show the progress
    #[arg(long)]
    pub(super) watch: bool,
}

/// Flags of `trestle reindex status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Repeat every second until it is done, paused or cancelled
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    of: NameFlags,
}

/// `trestle reindex work`.
pub(super) fn work(flags: &WorkFlags) -> Result<(), Failure> {
    let name = &flags.of.name;
    match ReindexPlace::open_with(&flags.of.place, flags.route_file.given())? {
        ReindexPlace::Here(here) => until_done(&ReindexPlace::Here(here), name, flags.of.json),
        ReindexPlace::Server(_) => Err(Failure::usage(format!(
            "a server works on its reindexes by itself; `trestle reindex status {name} --watch` follows it"
        ))),
    }
}

/// `trestle reindex resume`.
pub(super) fn resume(flags: &GoOnFlags) -> Result<(), Failure> {
    let place = flags.place()?;
    let name = flags.of.name.clone();
    let report = place.ask(ResumeReindex { name })?;
    go_on(&place, &report, &flags.watch, flags.of.json)
}

/// `trestle reindex replay`.
pub(super) fn replay(flags: &GoOnFlags) -> Result<(), Failure> {
    let place = flags.place()?;
    let name = flags.of.name.clone();
    let replayed = place.ask(ReplayReindex { name })?;
    if replayed.replayed == 0 {
        line("there are no dead letters");
        return Ok(());
    }
    go_on(&place, &replayed.reindex, &flags.watch, flags.of.json)
}

/// `trestle reindex status`.
pub(super) fn status(flags: &StatusFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.of.place)?;
    let (name, json) = (&flags.of.name, flags.of.json);
    match flags.watch {
        true => shown(&watched(&place, name)?, json),
        false => place.show_status(name, json),
    }
}

/// Continues with the remaining work: this process does it, or a server in the background.
pub(super) fn go_on(
    place: &ReindexPlace,
    report: &ReindexReport,
    flags: &WatchFlags,
    json: bool,
) -> Result<(), Failure> {
    match place {
        ReindexPlace::Server(_) if !flags.watch => shown(report, json),
        _ => until_done(place, &report.status.name, json),
    }
}

/// Works until nothing is left to do, or follows the server that does, and shows the progress.
fn until_done(place: &ReindexPlace, name: &str, json: bool) -> Result<(), Failure> {
    let report = match place {
        ReindexPlace::Here(here) => {
            worked(here, name)?;
            place.status(name)?
        }
        ReindexPlace::Server(_) => watched(place, name)?,
    };
    shown(&report, json)?;
    match (report.status.state, report.status.dead_letters) {
        (ReindexState::Done, 0) | (ReindexState::Paused | ReindexState::Cancelled, _) => Ok(()),
        (ReindexState::Running | ReindexState::Preparing, _) => Err(Failure::failed(format!(
            "reindex {name} continues; `trestle reindex status {name} --watch` follows it"
        ))),
        (ReindexState::Done, letters) => Err(Failure::failed(format!(
            "{letters} rows could not be done; `trestle reindex dead-letters {name}` says why, and `trestle reindex replay {name}` \
             tries them again"
        ))),
    }
}

/// Works on a reindex in this process.
fn worked(here: &WorkedOnHere, name: &str) -> Result<(), Failure> {
    let is_done = here.wait(async {
        tokio::select! {
            biased;
            () = termination() => Ok(false),
            worked = here.reindexer.work(name) => worked.map(|_| true),
            never = progress(here, name) => match never {},
        }
    })?;
    match is_done {
        true => Ok(()),
        false => Err(Failure::failed(format!(
            "stopped; `trestle reindex work {name}` continues"
        ))),
    }
}

/// Polls a reindex every second until it is done, paused or cancelled, or until the command is stopped.
fn watched(place: &ReindexPlace, name: &str) -> Result<ReindexReport, Failure> {
    let mut bar = Bar::new();
    let mut last = place.status(name)?;
    runtime::until_told_or(|| {
        last = place.status(name)?;
        bar.show(last.status.state.name(), || show::progress(&last.status));
        Ok(last.status.state != ReindexState::Running)
    })?;
    bar.clear();
    Ok(last)
}

/// Shows the progress until this future is dropped.
async fn progress(here: &WorkedOnHere, name: &str) -> Infallible {
    let mut bar = Bar::new();
    loop {
        tokio::time::sleep(LOOK).await;
        // An error here may be temporary. The workers find out whether the work can continue.
        if let Ok(status) = here.reindexer.status(name).await {
            bar.show(status.state.name(), || show::progress(&status));
        }
    }
}
