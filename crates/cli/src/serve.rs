//! `trestle serve`: opens the database, listens, and closes both in order.

mod administration;
mod faults;
mod gateway;
mod gateway_routes;
mod models;
mod open_files;
mod previews;
mod regions;
mod reindexes;
mod route_calls;
mod route_sources;
mod routes;
mod settings;

use crate::args::{LogFormat, RegionsKept};
use crate::config::Config;
use crate::exit::{Code, Failure};
use crate::{logging, runtime};
use administration::ServerAdministration;
pub(crate) use gateway_routes::{ROUTES_TABLE, ROUTES_TABLE_THERE};
use regions::ServerRegions;
use reindexes::ServerReindexes;
use routes::Routes;
use settings::Storage;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use trestle_api::Database;
use trestle_embedded::{Embedded, MemoryStore, OpenError, Options, StoreErrorKind};
use trestle_env::{Clock, SystemClock, VirtualClock};
use trestle_queue::Queues;
use trestle_server::{
    BackupSource, Hooks, Regions, Server, Settings, StartError, Stopped, StorageSource, termination,
};

/// Threads that deliver changes.
const ROUTE_WORKERS: usize = 2;

/// Serves until it is stopped.
pub(crate) fn serve(config: &Config) -> Result<(), Failure> {
    let level = config.log.level.as_deref().unwrap_or("info");
    logging::start(level, config.log.format.unwrap_or(LogFormat::Text))?;
    match &config.backend.url {
        Some(url) => gateway::serve(config, url),
        None => serve_data(config),
    }
}

/// Serves a local database.
fn serve_data(config: &Config) -> Result<(), Failure> {
    let mut server_settings = settings::server(config)?;
    open_files::make_room(&mut server_settings);
    let faults = faults::begin(&config.faults)?;
    let storage = settings::storage(config)?;
    let (clock, movable) = clock(config.clock.is_virtual.unwrap_or(false));
    let db = open(&storage, &clock, config)?;
    models::begin(&db, &config.storage.models)?;
    let regions = regions(&db, &storage, &clock, config)?;
    let workers = route_workers()?;
    let trust = settings::trust(config);
    let routes = Routes::open(&db, workers.handle(), &config.storage, trust);
    let routes = workers.block_on(routes)?;
    let reindexes = workers.block_on(ServerReindexes::open(&db, workers.handle()));
    let reindexes = Arc::new(reindexes);
    let administration = ServerAdministration {
        db: db.clone(),
        routes: Arc::clone(&routes),
        reindexes: Arc::clone(&reindexes),
        clock: movable,
        faults: faults.clone(),
    };
    let lag_source = Arc::clone(&routes);
    let hooks = Hooks {
        clock,
        administration: Some(Arc::new(administration)),
        is_forwarded: false,
        backups: Some(Arc::new(Backups(db.clone()))),
        queues: Some(db.queues().clone()),
        regions: regions.clone().map(|regions| regions as Arc<dyn Regions>),
        faults,
        storage: Some(storage_source(&db)),
        route_lags: Some(Arc::new(move || lag_source.lags())),
    };
    // It accepts connections and receives signals; the server has its own threads for the rest.
    let runtime = runtime::on_this_thread()?;
    let result = runtime.block_on(listen(
        &server_settings,
        Arc::new(db.clone()),
        regions.clone(),
        hooks,
        &storage,
    ));
    drop(runtime);
    // Before the routes and the database, which they use.
    workers.block_on(reindexes.stop());
    let regions_closed = regions.map_or(Ok(()), |regions| workers.block_on(regions.close()));
    let closed = workers.block_on(db.close());
    // Kept until here, so that deliveries under way finish.
    drop((reindexes, routes));
    result.and(regions_closed).and(closed.map_err(Failure::failed))
}

/// The regions, if they are separate.
fn regions(
    db: &Embedded,
    storage: &Storage,
    clock: &Arc<dyn Clock>,
    config: &Config,
) -> Result<Option<Arc<ServerRegions>>, Failure> {
    match config.tables.regions.unwrap_or(RegionsKept::Together) {
        RegionsKept::Together => Ok(None),
        RegionsKept::Apart => {
            let regions = ServerRegions::open(db, storage, clock, settings::engine(config))?;
            Ok(Some(Arc::new(regions)))
        }
    }
}

/// The threads that deliver changes, separate from those that answer requests.
fn route_workers() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(ROUTE_WORKERS)
        .thread_name("trestle-routes")
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}

/// The clock, and the same clock again if callers may move it.
fn clock(is_virtual: bool) -> (Arc<dyn Clock>, Option<Arc<VirtualClock>>) {
    if !is_virtual {
        return (Arc::new(SystemClock::new()), None);
    }
    let clock = Arc::new(VirtualClock::new());
    (Arc::clone(&clock) as Arc<dyn Clock>, Some(clock))
}

/// The source of the server's backups.
#[derive(Debug)]
struct Backups(Embedded);

impl BackupSource for Backups {
    fn backup(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.backup(out).map(drop).map_err(io::Error::other)
    }
}

/// The source of the metrics of storage.
fn storage_source(db: &Embedded) -> StorageSource {
    let db = db.clone();
    Arc::new(move || db.storage_reads())
}

/// Opens the database. Stored models may not load yet: a given file may correct them. Nothing expires before
/// they do.
fn open(storage: &Storage, clock: &Arc<dyn Clock>, config: &Config) -> Result<Embedded, Failure> {
    let clock = Arc::clone(clock);
    let mut options = Options {
        engine: settings::engine(config),
        behind_gateways: config.server.behind_gateways.unwrap_or(false),
        ..Options::default()
    };
    match storage {
        Storage::Memory => Embedded::on_for_repair(Arc::new(MemoryStore::new()), clock, options)
            .map_err(|error| cannot_open(&error)),
        Storage::Directory { path, settings } => {
            options.store = settings.clone();
            Embedded::open_for_repair_with_clock(path, clock, options)
                .map_err(|error| cannot_open_directory(path, &error))
        }
    }
}

fn cannot_open(error: &OpenError) -> Failure {
    Failure::failed(format!("cannot open the database: {error}"))
}

fn cannot_open_directory(path: &Path, error: &OpenError) -> Failure {
    match error.store_error() {
        Some(store) if store.kind() == StoreErrorKind::InUse => {
            Failure::new(Code::DataInUse, format!("{store} with --data"))
        }
        Some(store) => Failure::failed(format!(
            "cannot open the data directory {}: {store}",
            path.display()
        )),
        None => cannot_open(error),
    }
}

async fn listen(
    settings: &Settings,
    db: Arc<dyn Database>,
    regions: Option<Arc<ServerRegions>>,
    hooks: Hooks,
    place: &dyn fmt::Display,
) -> Result<(), Failure> {
    let queues = hooks.queues.clone();
    let server = Server::bind(settings, db, hooks)
        .await
        .map_err(|error| start_failure(&error))?;
    announce(&server.endpoint(), place);
    let (first, second) = two_signals(queues, regions);
    tokio::select! {
        stopped = server.run(first) => match stopped {
            Stopped::Clean => tracing::info!("stopped; every accepted request was answered"),
            Stopped::Cut => tracing::warn!("stopped; some connections had not finished in time and were cut"),
        },
        () = second => tracing::warn!("stopped at once, as asked twice"),
    }
    Ok(())
}

fn start_failure(error: &StartError) -> Failure {
    match error {
        StartError::Tls(_) => Failure::usage(error),
        _ => Failure::new(Code::CannotListen, error),
    }
}

/// Two signals: the first stops, the second does not wait.
fn two_signals(
    queues: Option<Queues>,
    regions: Option<Arc<ServerRegions>>,
) -> (impl Future<Output = ()>, impl Future<Output = ()>) {
    let asked = Arc::new(tokio::sync::Notify::new());
    let once = Arc::clone(&asked);
    let first = async move {
        termination().await;
        tracing::info!("stopping; ask again to stop at once");
        // Clients that wait for messages would delay the shutdown.
        if let Some(queues) = queues {
            queues.close();
        }
        if let Some(regions) = regions {
            regions.close_queues();
        }
        once.notify_one();
    };
    let second = async move {
        asked.notified().await;
        termination().await;
    };
    (first, second)
}

/// Prints the one line on standard output: the address of the server, and how to use it.
fn announce(endpoint: &str, place: &dyn fmt::Display) {
    let line = format!(
        "Trestle {} is ready at {endpoint} ({place}). Point AWS SDKs at it with \
         AWS_ENDPOINT_URL_DYNAMODB={endpoint} AWS_ENDPOINT_URL_DYNAMODB_STREAMS={endpoint} \
         AWS_ENDPOINT_URL_SQS={endpoint}",
        env!("CARGO_PKG_VERSION")
    );
    let mut out = std::io::stdout().lock();
    // A closed standard output does not prevent serving.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
