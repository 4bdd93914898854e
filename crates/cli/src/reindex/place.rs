//! The location of reindexes: a directory that no server has open, an endpoint, or a running server that
//! works on them itself.

use super::declared::ServerModels;
use super::host::DirectoryHost;
use super::route_file::RouteFileHost;
use super::show;
use crate::administration::reindexes::Reindexes;
use crate::administration::{PlaceFlags, RunningServer, START_ONE, USE_DATA, no_answer, print_json};
use crate::exit::{Code, Failure};
use crate::model::sound;
use crate::open;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use trestle_admin::{AdminError, AdminErrorCode, AdministrationExt, Call, ReadReindex, ReindexReport};
use trestle_api::{Database, ListTables};
use trestle_embedded::Embedded;
use trestle_env::SystemClock;
use trestle_model::Model;
use trestle_reindex::{EndpointHost, ReindexError, ReindexHost, ReindexSetup, Reindexer};

/// The flags for the location.
#[derive(Debug, Args)]
pub(crate) struct ReindexPlaceFlags {
    /// A running Trestle server, which works on the reindex itself; then --endpoint is not used
    #[arg(long = "server", value_name = "URL", conflicts_with_all = ["data", "state_table"])]
    server: Option<String>,
    #[command(flatten)]
    place: PlaceFlags,
    /// The table at the endpoint in which reindexes are stored
    #[arg(long, value_name = "TABLE", default_value = ReindexSetup::REMOTE_TABLE)]
    state_table: String,
}

/// Files with information about an endpoint that the endpoint does not store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GivenFiles<'f> {
    pub(super) model: Option<&'f PathBuf>,
    pub(super) routes: Option<&'f PathBuf>,
}

/// The process that works on reindexes.
pub(super) enum ReindexPlace {
    /// In this process.
    Here(Box<WorkedOnHere>),
    /// In a server.
    Server(Box<RunningServer>),
}

/// Reindexes, and the runtime in which they are processed.
pub(super) struct WorkedOnHere {
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
        let stores_models = flags.server.is_some() || flags.place.data.is_some();
        if stores_models && given.model.is_some() {
            return Err(Failure::usage(
                "--model is for an endpoint; the models that are stored with the data hold",
            ));
        }
        if let Some(endpoint) = &flags.server {
            let mut server = flags.place.server.clone();
            server.endpoint.clone_from(endpoint);
            return RunningServer::new(&server, START_ONE).map(|server| Self::Server(Box::new(server)));
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
        let reindexer = match &flags.place.data {
            Some(directory) => of_directory(open::to_write(directory)?, &runtime)?,
            None => of_endpoint(flags, given, &runtime)?,
        };
        Ok(Self::Here(Box::new(WorkedOnHere { reindexer, runtime })))
    }

    /// Makes a call.
    pub(super) fn ask<C: Call>(&self, call: C) -> Result<C::Answer, Failure> {
        let answered = match self {
            Self::Here(here) => here.ask(call),
            Self::Server(server) => server.ask(call),
        };
        answered.map_err(failure)
    }

    pub(super) fn status(&self, name: &str) -> Result<ReindexReport, Failure> {
        let name = name.to_owned();
        self.ask(ReadReindex { name })
    }

    pub(super) fn show_status(&self, name: &str, json: bool) -> Result<(), Failure> {
        shown(&self.status(name)?, json)
    }
}

/// Prints the status of a reindex.
pub(super) fn shown(report: &ReindexReport, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(report);
    }
    show::status(report);
    Ok(())
}

impl WorkedOnHere {
    fn ask<C: Call>(&self, call: C) -> Result<C::Answer, AdminError> {
        let reindexes = Reindexes {
            reindexer: &self.reindexer,
            workers: None,
        };
        let answered = self.runtime.block_on(reindexes.answer(call.into_call()));
        let answer = answered.transpose()?;
        let stray = || {
            AdminError::failed(format!(
                "internal error: {} is no call about reindexes",
                C::INFO.name
            ))
        };
        answer.and_then(C::from_answer).ok_or_else(stray)
    }

    pub(super) fn wait<T>(&self, work: impl Future<Output = Result<T, ReindexError>>) -> Result<T, Failure> {
        let done = self.runtime.block_on(work);
        done.map_err(|error| failure(error.into()))
    }
}

/// The error with which a command ends.
fn failure(error: AdminError) -> Failure {
    let code = match error.code {
        AdminErrorCode::Invalid | AdminErrorCode::NotFound | AdminErrorCode::Refused => Code::Usage,
        AdminErrorCode::Unsound
        | AdminErrorCode::Forbidden
        | AdminErrorCode::NoAdministration
        | AdminErrorCode::Failed
        | AdminErrorCode::NoAnswer => Code::Failed,
    };
    Failure::new(code, error)
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
    // The first request shows whether there is a server.
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
    let server = &flags.place.server;
    let endpoint = ServerModels::read(server, Arc::clone(&database), EndpointHost { model })?;
    let endpoint = Arc::new(endpoint);
    let host: Arc<dyn ReindexHost> = match given.routes {
        Some(file) => {
            let there = (server, Arc::clone(&database));
            Arc::new(RouteFileHost::read(
                file,
                given.model,
                Arc::clone(&endpoint),
                there,
            )?)
        }
        None => Arc::clone(&endpoint) as _,
    };
    Ok(Reindexer::new(ReindexSetup {
        state: Arc::clone(&database),
        state_table: flags.state_table.clone(),
        clock: Arc::new(SystemClock::new()),
        touch: endpoint,
        database,
        host,
        traffic: None,
        lease: ReindexSetup::LEASE,
        first_pause: ReindexSetup::FIRST_PAUSE,
        longest_pause: ReindexSetup::LONGEST_PAUSE,
    }))
}
