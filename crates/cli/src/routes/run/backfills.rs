//! Backfills of routes that run in this process: started and ended by flags.

use super::RunFlags;
use crate::exit::Failure;
use crate::routes::backfill::told;
use crate::routes::{remote_scan, say};
use clap::Args;
use std::time::Duration;
use trestle_events::{BackfillState, BackfillStatus, Route, Router, ScanSettings};
use trestle_remote::Remote;

/// Flags of `trestle routes run` about backfills: which begin and which end at its start.
#[derive(Debug, Args)]
pub(super) struct StartBackfillFlags {
    /// Deliver every row that this route takes to its target, in order with the changes; a running backfill continues. May be
    /// given more than once
    #[arg(long = "backfill", value_name = "ROUTE")]
    begun: Vec<String>,
    /// Maximum of rows per second of a new backfill; no limit unless given
    #[arg(long = "backfill-rate", value_name = "ROWS", requires = "begun",
          value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// End the backfill of this route that is running; may be given more than once
    #[arg(long = "cancel-backfill", value_name = "ROUTE", conflicts_with = "begun")]
    cancelled: Vec<String>,
    /// How long after a write its record may appear in the stream; rows of a backfill wait for this time
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = super::duration)]
    stream_delay: Duration,
}

impl StartBackfillFlags {
    /// Refuses names that are not in the file.
    pub(super) fn check(&self, routes: &[Route]) -> Result<(), Failure> {
        let is_known = |name: &&String| routes.iter().any(|route| route.name == **name);
        match self
            .begun
            .iter()
            .chain(&self.cancelled)
            .find(|name| !is_known(name))
        {
            None => Ok(()),
            Some(unknown) => {
                let known: Vec<&str> = routes.iter().map(|route| &*route.name).collect();
                let known = known.join(", ");
                Err(Failure::usage(format!(
                    "there is no route {unknown} in the file; there is {known}"
                )))
            }
        }
    }

    /// How rows of the endpoint are read.
    pub(super) fn scan(&self, remote: &Remote) -> ScanSettings {
        remote_scan::settings(remote, self.stream_delay)
    }
}

/// Starts and ends backfills as the flags say.
pub(super) async fn begin(flags: &RunFlags, router: &Router) -> Result<(), Failure> {
    let flags = &flags.backfills;
    for name in &flags.begun {
        let backfill = match running(router, name) {
            Some(backfill) => backfill,
            None => router.backfill(name, flags.rate).await.map_err(Failure::failed)?,
        };
        say(&format!("backfill of {name}: {}", told(&backfill)));
    }
    for name in &flags.cancelled {
        let backfill = router.cancel_backfill(name).await.map_err(Failure::failed)?;
        say(&format!("backfill of {name}: {}", told(&backfill)));
    }
    Ok(())
}

/// The backfill of a route, if it is running.
fn running(router: &Router, name: &str) -> Option<BackfillStatus> {
    let status = router.status().into_iter().find(|status| status.route == name);
    status?
        .backfill
        .filter(|backfill| backfill.state == BackfillState::Running)
}
