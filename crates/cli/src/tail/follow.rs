//! Reads a table's stream until the requested number of changes, or until it is stopped.

use crate::administration::START_ONE;
use crate::database::Database;
use crate::exit::Failure;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use trestle_api::{Error, ErrorKind};
use trestle_env::{Clock, SystemClock, parse_iso_8601};
use trestle_events::{Delivery, Route, StartingPosition, Tail, Typer, parse_duration};
use trestle_server::termination;

/// The pause between two reads of a stream without changes.
const POLL: Duration = Duration::from_millis(200);

/// The pause before a failed call is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// Flags that say from where to read, and for how long.
#[derive(Debug, Args)]
pub(crate) struct FollowFlags {
    /// Where to begin: latest, trim-horizon, a time (2026-11-15T07:00:00Z), or how long ago (10m)
    #[arg(long, value_name = "WHEN", default_value = "latest", value_parser = since)]
    pub(crate) since: StartingPosition,
    /// End after this many changes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after this many seconds
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    #[command(flatten)]
    pub(crate) server: ServerFlags,
}

fn since(text: &str) -> Result<StartingPosition, String> {
    let ago = |duration| SystemClock::new().now().minus(duration);
    match text {
        "latest" => Ok(StartingPosition::Latest),
        "trim-horizon" => Ok(StartingPosition::TrimHorizon),
        time => parse_iso_8601(time)
            .or_else(|| parse_duration(time).map(ago))
            .map(StartingPosition::At)
            .ok_or_else(|| {
                "write latest, trim-horizon, a time such as 2026-11-15T07:00:00Z, or 10m".to_owned()
            }),
    }
}

/// Shows what a route would take. Ends successfully when it is stopped, or when the reader closes the output.
pub(crate) fn follow(
    flags: &FollowFlags,
    route: &Route,
    typer: Arc<dyn Typer>,
    show: &mut dyn FnMut(&Delivery) -> io::Result<()>,
) -> Result<(), Failure> {
    Database::of_server(&flags.server, START_ONE)?.describe(&route.table)?;
    let remote = flags.server.remote()?;
    let now = SystemClock::new().now();
    let tail = Tail::new(Arc::new(remote), typer, route, now).map_err(Failure::usage)?;
    runtime::on_this_thread()?.block_on(async {
        tokio::select! {
            () = termination() => Ok(()),
            () = over(flags.seconds) => Ok(()),
            result = read(tail, &route.table, flags.count, show) => result,
        }
    })
}

/// Returns after this many seconds; never, without a number.
async fn over(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}

async fn read(
    mut tail: Tail,
    table: &str,
    count: Option<u64>,
    show: &mut dyn FnMut(&Delivery) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut left = count;
    let (mut is_begun, mut is_failing) = (false, false);
    loop {
        let deliveries = match tail.next().await {
            Ok(deliveries) => deliveries,
            Err(error) if is_begun && may_pass(&error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    let _ = writeln!(io::stderr(), "{error}; trying again");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Err(error) => {
                return Err(Failure::failed(format!(
                    "the stream of {table} cannot be read: {error}"
                )));
            }
        };
        is_failing = false;
        if !std::mem::replace(&mut is_begun, true) {
            begun(&tail, table)?;
        }
        for delivery in &deliveries {
            if show(delivery).is_err() {
                return Ok(());
            }
            left = left.map(|left| left.saturating_sub(1));
            if left == Some(0) {
                return Ok(());
            }
        }
        if deliveries.is_empty() {
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Whether the same call may succeed later: the server restarts, or is overloaded.
fn may_pass(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InternalServerError
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
            | ErrorKind::LimitExceeded
    )
}

/// Prints that later writes will be shown, or that none will be.
fn begun(tail: &Tail, table: &str) -> Result<(), Failure> {
    if tail.has_stream() {
        let _ = writeln!(io::stderr(), "reading the changes of {table}; Ctrl-C ends it");
        return Ok(());
    }
    Err(Failure::failed(format!(
        "table {table} has no stream; give it one with `stream = \"new-and-old-images\"` in its model, or with `aws dynamodb \
         update-table --table-name {table} --stream-specification \
         StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES`"
    )))
}
