//! Working on a reindex in this process, and looking at one.

use super::NameFlags;
use super::place::{ReindexPlace, failure};
use super::route_file::RouteFileFlags;
use super::show;
use crate::bar::Bar;
use crate::exit::Failure;
use crate::model::line;
use crate::runtime;
use clap::Args;
use std::convert::Infallible;
use std::time::Duration;
use trestle_reindex::{Reindex, ReindexState};
use trestle_server::termination;

/// Between two looks at how far it is.
const LOOK: Duration = Duration::from_millis(500);

/// Flags of commands that work on a reindex.
#[derive(Debug, Args)]
pub(crate) struct WorkFlags {
    #[command(flatten)]
    pub(super) route_file: RouteFileFlags,
    #[command(flatten)]
    pub(super) of: NameFlags,
}

impl WorkFlags {
    fn place(&self) -> Result<ReindexPlace, Failure> {
        ReindexPlace::open_with(&self.of.place, self.route_file.given())
    }
}

/// Flags of `trestle reindex status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Look again every second, until it is done, paused or cancelled
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    of: NameFlags,
}

/// `trestle reindex work`.
pub(super) fn work(flags: &WorkFlags) -> Result<(), Failure> {
    let place = flags.place()?;
    until_done(&place, &flags.of.name, flags.of.json)
}

/// `trestle reindex resume`.
pub(super) fn resume(flags: &WorkFlags) -> Result<(), Failure> {
    let place = flags.place()?;
    place.wait(place.reindexer.resume(&flags.of.name))?;
    until_done(&place, &flags.of.name, flags.of.json)
}

/// `trestle reindex replay`.
pub(super) fn replay(flags: &WorkFlags) -> Result<(), Failure> {
    let place = flags.place()?;
    let replayed = place.wait(place.reindexer.replay(&flags.of.name))?;
    if replayed == 0 {
        line("there are no dead letters");
        return Ok(());
    }
    until_done(&place, &flags.of.name, flags.of.json)
}

/// `trestle reindex status`.
pub(super) fn status(flags: &StatusFlags) -> Result<(), Failure> {
    let place = ReindexPlace::open(&flags.of.place)?;
    let (name, json) = (&flags.of.name, flags.of.json);
    if !flags.watch {
        return place.show_status(name, json);
    }
    let mut bar = Bar::new();
    runtime::until_told_or(|| {
        let status = place.wait(place.reindexer.status(name))?;
        bar.show(status.state.name(), || show::progress(&status));
        Ok(status.state != ReindexState::Running)
    })?;
    bar.clear();
    place.show_status(name, json)
}

/// Works until there is nothing more to do, and shows how far it is.
pub(super) fn until_done(place: &ReindexPlace, name: &str, json: bool) -> Result<(), Failure> {
    let worked = place.runtime.block_on(async {
        tokio::select! {
            biased;
            () = termination() => None,
            worked = place.reindexer.work(name) => Some(worked),
            never = shown(place, name) => match never {},
        }
    });
    let Some(worked) = worked else {
        return Err(Failure::failed(format!(
            "stopped; `trestle reindex work {name}` goes on where it was"
        )));
    };
    let job: Reindex = worked.map_err(failure)?;
    place.show_status(name, json)?;
    let status = place.wait(place.reindexer.status(name))?;
    match (job.state, status.dead_letters) {
        (ReindexState::Done, 0) | (ReindexState::Paused | ReindexState::Cancelled, _) => Ok(()),
        (_, letters) => Err(Failure::failed(format!(
            "{letters} rows could not be done; `trestle reindex dead-letters {name}` says why, and `trestle reindex replay {name}` \
             tries them again"
        ))),
    }
}

/// Shows how far it is, for as long as it is looked at.
async fn shown(place: &ReindexPlace, name: &str) -> Infallible {
    let mut bar = Bar::new();
    loop {
        tokio::time::sleep(LOOK).await;
        // What cannot be seen now may be seen later. Whether the work can go on, the workers find out.
        if let Ok(status) = place.reindexer.status(name).await {
            bar.show(status.state.name(), || show::progress(&status));
        }
    }
}
