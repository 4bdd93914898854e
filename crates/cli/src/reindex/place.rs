//! Where reindexes are: in a directory that no server has open, or at an endpoint.

use super::host::DirectoryHost;
use super::route_file::RouteFileHost;
use super::show;
use crate::administration::{PlaceFlags, USE_DATA, no_answer, print_json};
use crate::exit::Failure;
use crate::model::sound;
use crate::open;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use trestle_api::{Database, ListTables};
use trestle_embedded::Embedded;
use trestle_env::SystemClock;
use trestle_model::Model;
use trestle_reindex::{EndpointHost, ReindexError, ReindexHost, ReindexSetup, Reindexer, TouchByUpdate};

/// Flags that say where.
#[derive(Debug, Args)]
pub(crate) struct ReindexPlaceFlags {
    #[command(flatten)]
    place: PlaceFlags,
    /// The table at the endpoint in which reindexes are stored
    #[arg(long, value_name = "TABLE", default_value = ReindexSetup::REMOTE_TABLE)]
    state_table: String,
}

/// Files that say of an endpoint what it does not know itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GivenFiles<'f> {
    pub(super) model: Option<&'f PathBuf>,
    pub(super) routes: Option<&'f PathBuf>,
}

/// Reindexes, and a runtime in which they are worked on.
pub(super) struct ReindexPlace {
    pub(super) reindexer: Reindexer,
    pub(super) runtime: Runtime,
}

/// Threads that read and write.
const THREADS: usize = 2;

impl ReindexPlace {
    pub(super) fn open(flags: &ReindexPlaceFlags) -> Result<Self, Failure> {
        Self::open_with(flags, GivenFiles::default())
    }

    /// With files for an endpoint, which stores no models and no routes.
    pub(super) fn open_with(flags: &ReindexPlaceFlags, given: GivenFiles<'_>) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
        let reindexer = match &flags.place.data {
            Some(_) if given.model.is_some() => {
                return Err(Failure::usage(
                    "--model is for endpoints: with --data, the models that are stored with the data hold",
                ));
            }
            Some(directory) => of_directory(open::to_write(directory)?, &runtime)?,
            None => of_endpoint(flags, given, &runtime)?,
        };
        Ok(Self { reindexer, runtime })
    }

    pub(super) fn wait<T>(&self, work: impl Future<Output = Result<T, ReindexError>>) -> Result<T, Failure> {
        self.runtime.block_on(work).map_err(failure)
    }

    pub(super) fn show_status(&self, name: &str, json: bool) -> Result<(), Failure> {
        let status = self.wait(self.reindexer.status(name))?;
        if json {
            return print_json(&status);
        }
        show::status(&status);
        Ok(())
    }
}

/// Why a command ends.
pub(super) fn failure(error: ReindexError) -> Failure {
    match error {
        ReindexError::Database(error) => Failure::failed(error),
        refused => Failure::usage(refused),
    }
}

fn of_directory(db: Embedded, runtime: &Runtime) -> Result<Reindexer, Failure> {
    let host = DirectoryHost::read(&db, runtime)?;
    Ok(db.reindexer_with(Arc::new(host)))
}

fn of_endpoint(
    flags: &ReindexPlaceFlags,
    given: GivenFiles<'_>,
    runtime: &Runtime,
) -> Result<Reindexer, Failure> {
    let remote = flags.place.server.remote()?;
    // The first answer shows whether there is a server at all.
    let asked = runtime.block_on(remote.ask(trestle_api::Operation::into_request(ListTables::default())));
    asked
        .map_err(|lost| Failure::failed(no_answer(&lost, USE_DATA)))?
        .map_err(Failure::failed)?;
    let database: Arc<dyn Database> = Arc::new(remote);
    let model = match given.model {
        Some(file) => {
            let text = sound(file)?;
            let loaded: Option<Model> = trestle_model::load(&text).model;
            loaded.map(|model| (Arc::new(model), text))
        }
        None => None,
    };
    let endpoint = EndpointHost { model };
    let host: Arc<dyn ReindexHost> = match given.routes {
        Some(file) => {
            let server = (&flags.place.server, Arc::clone(&database));
            Arc::new(RouteFileHost::read(file, given.model, endpoint, server)?)
        }
        None => Arc::new(endpoint),
    };
    Ok(Reindexer::new(ReindexSetup {
        state: Arc::clone(&database),
        state_table: flags.state_table.clone(),
        clock: Arc::new(SystemClock::new()),
        touch: Arc::new(TouchByUpdate::new(Arc::clone(&database))),
        database,
        host,
        traffic: None,
        lease: ReindexSetup::LEASE,
        first_pause: ReindexSetup::FIRST_PAUSE,
        longest_pause: ReindexSetup::LONGEST_PAUSE,
    }))
}
