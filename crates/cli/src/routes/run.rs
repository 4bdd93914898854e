//! `trestle routes run`: runs the routes of a file on the streams of an endpoint that does not run routes itself.

mod backfills;
mod report;

use super::dead_letters::told;
use super::doors::Openings;
use super::given::GivenRoutes;
use super::{runs_routes, say};
use crate::administration::START_ONE;
use crate::database;
use crate::exit::Failure;
use crate::open;
use crate::server_flags::ServerFlags;
use backfills::StartBackfillFlags;
use clap::Args;
use report::Report;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use trestle_api::Database;
use trestle_embedded::{Embedded, Options, RemoteStreams, RouteSetup};
use trestle_env::SystemClock;
use trestle_events::{ModelTyper, Route, Router, RowReading, Selection, Setup, parse_duration, read_routes};
use trestle_model::Model;
use trestle_server::termination;

/// Threads that read and deliver.
const WORKERS: usize = 2;

/// The time between two checks of the status of routes.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Flags of `trestle routes run`.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// The route file, or a model with routes
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A model with the entities that the routes name; may be given more than once
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Store checkpoints and dead letters in this directory, created if it does not exist, instead of at the endpoint
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Look for changes this often
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    poll: Duration,
    /// Replay all dead letters first, then go on delivering changes
    #[arg(long)]
    replay: bool,
    /// Remove routes that ran here before and are not in the file; changes that they have not delivered become dead letters
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    backfills: StartBackfillFlags,
    #[command(flatten)]
    server: ServerFlags,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "write a time such as 500ms, 1s or 1m".to_owned())
}

/// Runs routes until it is stopped.
pub(super) fn run(flags: &RunFlags) -> Result<(), Failure> {
    let GivenRoutes {
        text,
        routes,
        models,
        doors,
    } = GivenRoutes::read(&flags.file, &flags.models, &flags.server)?;
    check(flags, &routes)?;
    let workers = workers()?;
    let router = router(flags, models, doors, &workers)?;
    workers.block_on(at_work(flags, &text, routes, router))
}

/// Checks what can be checked before anything is written.
fn check(flags: &RunFlags, routes: &[Route]) -> Result<(), Failure> {
    let file = flags.file.display();
    if routes.is_empty() {
        return Err(Failure::usage(format!("{file} has no routes")));
    }
    flags.backfills.check(routes)?;
    if flags.state.is_none() && runs_routes(&flags.server)? {
        return Err(Failure::usage(format!(
            "the server at {} runs routes itself: `trestle routes apply {file}`; to run them here anyway, store their \
             checkpoints in a directory with --state DIR",
            flags.server.endpoint
        )));
    }
    let database = database::Database::of_server(&flags.server, START_ONE)?;
    let tables: BTreeSet<&str> = routes.iter().map(|route| route.table.as_str()).collect();
    for table in tables {
        let described = database.describe(table)?;
        if described.latest_stream_arn.is_none() {
            say(&format!(
                "table {table} has no stream: its routes wait until it has one"
            ));
        }
    }
    Ok(())
}

/// A router on the endpoint's streams, with its positions in a directory or at the endpoint.
fn router(
    flags: &RunFlags,
    models: Vec<Arc<Model>>,
    doors: Openings,
    runtime: &Runtime,
) -> Result<Router, Failure> {
    let remote = flags.server.remote()?;
    let scan = flags.backfills.scan(&remote);
    let database: Arc<dyn Database> = Arc::new(remote);
    let typer = Arc::new(ModelTyper::new(models));
    let (doors, poll, runtime) = (Arc::new(doors), flags.poll, runtime.handle().clone());
    let Some(directory) = &flags.state else {
        return Ok(Router::start(Setup {
            state: Arc::clone(&database),
            database,
            clock: Arc::new(SystemClock::new()),
            bell: None,
            typer,
            doors,
            rows: RowReading::Scanned(scan),
            poll,
            runtime,
            held: None,
            parked_max: Setup::PARKED_MAX,
        }));
    };
    // Only one process can have it open.
    let state = Embedded::open(directory, Options::default());
    let state = state.map_err(|error| open::failure(directory, &error))?;
    let setup = RouteSetup {
        typer,
        doors,
        poll,
        runtime,
        streams: Some(RemoteStreams { database, scan }),
    };
    state.start_router(setup).map_err(Failure::failed)
}

fn workers() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}

/// Runs routes from start to stop.
async fn at_work(flags: &RunFlags, text: &str, routes: Vec<Route>, router: Router) -> Result<(), Failure> {
    let mut report = Report::default();
    let work = async {
        begin(flags, text, routes, &router).await?;
        backfills::begin(flags, &router).await?;
        if flags.replay {
            replay(&router).await?;
        }
        loop {
            tokio::time::sleep(REPORT_INTERVAL).await;
            report.changes(&router.status());
        }
    };
    tokio::select! {
        // First, so that no signal is missed.
        biased;
        () = termination() => {}
        failed = work => return failed,
    }
    // Waits for deliveries under way.
    let last = router.status();
    router.stop().await;
    report.changes(&last);
    say("stopped; the places are stored");
    Ok(())
}

async fn begin(flags: &RunFlags, text: &str, routes: Vec<Route>, router: &Router) -> Result<(), Failure> {
    let endpoint = &flags.server.endpoint;
    let place = match &flags.state {
        Some(directory) => directory.display().to_string(),
        None => endpoint.clone(),
    };
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::failed(format!(
            "the places of the routes cannot be kept at {place}: {error}"
        ))
    };
    if !flags.replace {
        let before = router.file().await.map_err(|error| unusable(&error))?;
        refuse_to_forget(before.as_deref(), &routes, &place)?;
    }
    let count = routes.len();
    router.apply(routes).await.map_err(|error| unusable(&error))?;
    router.set_file(text).await.map_err(|error| unusable(&error))?;
    say(&format!(
        "running {count} route{} on {endpoint}, with places kept in {place}; Ctrl-C ends it",
        if count == 1 { "" } else { "s" }
    ));
    Ok(())
}

async fn replay(router: &Router) -> Result<(), Failure> {
    let replayed = router.replay(Selection::All).await;
    let replayed = replayed.map_err(|error| Failure::failed(format!("cannot replay: {error}")))?;
    say(&format!("replayed: {}", told(&replayed)));
    Ok(())
}

/// Refuses a file without routes of the previous one, because the router would remove them.
fn refuse_to_forget(before: Option<&str>, routes: &[Route], place: &str) -> Result<(), Failure> {
    let before = before.map(|text| read_routes(text, &[], &|_| Vec::new()).routes);
    let lost: Vec<String> = before
        .into_iter()
        .flatten()
        .map(|route| route.name)
        .filter(|name| routes.iter().all(|route| route.name != *name))
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "other routes ran with their places in {place}, and are not in the file: {}; --replace forgets them, --state DIR keeps \
         these apart",
        lost.join(", ")
    )))
}
