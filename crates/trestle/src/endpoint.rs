//! A program's database at an endpoint.
//!
//! If the endpoint allows this process to write Trestle's own tables, the process is a gateway: it stores the
//! models and enforces them. Otherwise the endpoint is itself a Trestle server or a gateway, which is asked
//! to apply them. Queues and positions of routes are in tables of the program in either case (`own.rs`).

mod migrations;
mod model_text;
mod own;
mod reindexes;
mod server;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use trestle_api::{Database, DatabaseExt, DeleteItem, Error, ErrorKind, TouchRows, Wait};
use trestle_binding::{BindError, MigrationPlan, MigrationStatus, Report};
use trestle_env::{Clock, Signal, SystemClock, Timestamp};
use trestle_events::{
    EndpointClock, GuardedDoors, RouteSetup, Router, RoutesAtWork, RowReading, ScanSettings, Setup,
    UnknownClock, WeakRouter,
};
use trestle_gateway::{Gateway, GatewayError};
use trestle_item::Item;
use trestle_model::Model;
use trestle_models::{ApplyOptions, Models, StartOptions};
use trestle_queue::{Queues, Settings as QueueSettings};
use trestle_reindex::{Reindexer, TouchFuture};
use trestle_remote::{Remote, Settings};

use crate::blocking::blocking;
use crate::migrate::{MigrateError, MigrationStep};
use crate::{ApplyError, WithModels};
use model_text::without_routes;
use own::OwnTables;
use server::ModelServer;

/// How often to check for changes, because an endpoint sends no notifications. Less often than the five times
/// per second that a shard of Amazon DynamoDB allows.
const POLL: Duration = Duration::from_millis(250);

/// Why a program has no database at an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The settings of the endpoint are not valid.
    #[error("{0}")]
    Settings(String),
    /// It does not answer, or refuses.
    #[error("the endpoint {endpoint}: {error}")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// Its error.
        error: Error,
    },
    /// Its models cannot be enforced here.
    #[error("the endpoint {endpoint}: {error}")]
    Gateway {
        /// The endpoint.
        endpoint: String,
        /// Why.
        error: GatewayError,
    },
}

/// A program's database at an endpoint.
pub(crate) struct AtEndpoint {
    program: String,
    models: ModelsAt,
    remote: Remote,
    own: Arc<OwnTables>,
    queues: Queues,
    router: Mutex<Option<WeakRouter>>,
    clock: Arc<dyn Clock>,
}

/// Derives keys and executes effects.
enum ModelsAt {
    /// This process.
    Gateway(Gateway),
    /// The endpoint: a Trestle server, or a gateway.
    Server(Box<ModelServer>),
}

impl AtEndpoint {
    pub(crate) fn open(
        program: &str,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EndpointError> {
        let bad = |error: trestle_remote::BadSettings| EndpointError::Settings(error.to_string());
        let endpoint = settings.endpoint.clone();
        let remote = Remote::new(settings.clone()).map_err(bad)?;
        let keeps_models = blocking(|| keeps_models(&remote));
        let keeps_models = keeps_models.map_err(|error| EndpointError::Endpoint {
            endpoint: endpoint.clone(),
            error,
        })?;
        let models = match keeps_models {
            true => ModelsAt::Server(Box::new(ModelServer::new(settings).map_err(bad)?)),
            false => {
                let opened = blocking(|| Gateway::with_clock(Arc::new(remote.clone()), Arc::clone(&clock)));
                ModelsAt::Gateway(opened.map_err(|error| EndpointError::Gateway { endpoint, error })?)
            }
        };
        let rows: Arc<dyn Database> = match &models {
            ModelsAt::Gateway(gateway) => Arc::new(gateway.clone()),
            ModelsAt::Server(_) => Arc::new(remote.clone()),
        };
        let own = Arc::new(OwnTables::new(program, Arc::new(remote.clone()), rows));
        let state = Arc::clone(&own) as Arc<dyn Database>;
        Ok(AtEndpoint {
            program: program.to_owned(),
            models,
            remote,
            queues: Queues::new(state, Arc::clone(&clock), QueueSettings::default()),
            own,
            router: Mutex::default(),
            clock,
        })
    }

    /// The tables of the program, and all other tables at the endpoint.
    pub(crate) fn rows(&self) -> &dyn Database {
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway,
            ModelsAt::Server(_) => &self.remote,
        }
    }

    fn shared_rows(&self) -> Arc<dyn Database> {
        match &self.models {
            ModelsAt::Gateway(gateway) => Arc::new(gateway.clone()),
            ModelsAt::Server(_) => Arc::new(self.remote.clone()),
        }
    }

    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn models(&self) -> Result<&Models, Error> {
        match &self.models {
            ModelsAt::Gateway(gateway) => Ok(gateway.models()),
            ModelsAt::Server(_) => Err(Error::validation(
                "The server at the endpoint keeps the models: use `trestle model` and `trestle migrate` with --endpoint",
            )),
        }
    }

    /// Calls a function with the models, which may wait for the endpoint.
    pub(crate) fn with_models<T: Send>(&self, work: impl FnOnce(&Models) -> T + Send) -> Result<T, Error> {
        let models = self.models()?;
        Ok(blocking(|| work(models)))
    }

    /// All versions of the models that this process knows.
    pub(crate) fn model_versions(&self) -> Result<Vec<Arc<Model>>, BindError> {
        match &self.models {
            ModelsAt::Gateway(gateway) => blocking(|| gateway.models().versions()),
            ModelsAt::Server(_) => Ok(Vec::new()),
        }
    }

    /// Routes are run by the program, so that the model is stored without them: no server runs them as well.
    pub(crate) fn apply_model_with(&self, text: &str, options: ApplyOptions) -> Result<Report, ApplyError> {
        let text = without_routes(text);
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway.apply_model_with(&text, options),
            ModelsAt::Server(server) => server.apply(&text, options),
        }
    }

    pub(crate) fn remove_model(&self, name: &str) -> Result<(), ApplyError> {
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway.remove_model(name),
            ModelsAt::Server(server) => server.remove(name),
        }
    }

    pub(crate) fn migrate_model(&self, text: &str, options: StartOptions) -> Result<(), MigrateError> {
        let text = without_routes(text);
        match &self.models {
            ModelsAt::Gateway(gateway) => match gateway.apply_model(&text) {
                // Rows are elsewhere: the gateway decides whether they can move.
                Err(ApplyError::Refused(_)) => gateway.migrate_model(&text, options),
                applied => applied.map(drop).map_err(MigrateError::of_apply),
            },
            ModelsAt::Server(server) => match server.apply(&text, ApplyOptions::default()) {
                Err(ApplyError::Refused(_)) => server.start_migration(&text, options),
                applied => applied.map(drop).map_err(MigrateError::of_apply),
            },
        }
    }

    pub(crate) fn migrations(&self) -> Vec<MigrationStatus> {
        match &self.models {
            ModelsAt::Gateway(gateway) => blocking(|| gateway.models().migrations()),
            ModelsAt::Server(server) => server.migrations(None).unwrap_or_default(),
        }
    }

    pub(crate) fn plan_migration(&self, text: &str) -> Result<MigrationPlan, BindError> {
        let text = without_routes(text);
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway.plan_migration(&text),
            ModelsAt::Server(server) => server.plan_migration(&text),
        }
    }

    pub(crate) fn step_migration(
        &self,
        model: &str,
        step: MigrationStep,
    ) -> Result<MigrationStatus, BindError> {
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway.step_migration(model, step),
            ModelsAt::Server(server) => server.step_migration(model, step),
        }
    }

    pub(crate) fn roll_back_migration(&self, model: &str) -> Result<Option<MigrationPlan>, BindError> {
        match &self.models {
            ModelsAt::Gateway(gateway) => gateway.roll_back_migration(model),
            ModelsAt::Server(server) => server.roll_back_migration(model),
        }
    }

    pub(crate) fn set_reindex_version(
        &self,
        table: &str,
        entity: Option<&str>,
        version: u64,
    ) -> Result<(), Error> {
        let gateway = match &self.models {
            ModelsAt::Gateway(gateway) => gateway,
            ModelsAt::Server(server) => return server.set_reindex_version(table, entity, version),
        };
        let set = blocking(|| gateway.models().set_version_in_force(table, entity, version));
        set.map_err(|error| match error {
            BindError::Database(error) => error,
            other => Error::validation(other.to_string()),
        })
    }

    /// The model of a table and its text.
    pub(crate) fn model_of(&self, table: &str) -> Option<(Arc<Model>, String)> {
        let models = match &self.models {
            ModelsAt::Gateway(gateway) => gateway.models(),
            ModelsAt::Server(server) => return server.model_of(table),
        };
        let mut names = models.list().into_iter().map(|summary| summary.name);
        names.find_map(|name| {
            let model = models.model(&name).ok()?;
            model.table(table)?;
            Some((model, models.text(&name).ok()?))
        })
    }

    pub(crate) fn reindexer(self: &Arc<Self>) -> Reindexer {
        reindexes::of(self)
    }

    pub(crate) fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        reindexes::touch(self, rows)
    }

    /// The router, while it runs.
    fn router(&self) -> Option<Router> {
        at_work(
            self.router
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref(),
        )
    }

    pub(crate) fn start_router(&self, setup: RouteSetup) -> Result<Router, RoutesAtWork> {
        let mut slot = self.router.lock().unwrap_or_else(PoisonError::into_inner);
        if at_work(slot.as_ref()).is_some() {
            return Err(RoutesAtWork);
        }
        let (own, remote, clock) = (
            Arc::clone(&self.own),
            self.remote.clone(),
            Arc::clone(&self.clock),
        );
        let bell = Arc::new(Signal::new());
        setup.runtime.spawn(ring_again_and_again(Arc::downgrade(&bell)));
        let router = Router::start(Setup {
            database: Arc::new(self.remote.clone()),
            state: Arc::clone(&self.own) as Arc<dyn Database>,
            clock: Arc::clone(&self.clock),
            bell: Some(bell),
            typer: setup.typer,
            doors: Arc::new(GuardedDoors::new(setup.doors, Arc::new(move || own.objection()))),
            rows: RowReading::Scanned(ScanSettings {
                clock: Arc::new(move |at| {
                    let at = in_system_time(&*clock, at);
                    remote.clock_span(at).or_else(|| Some(UnknownClock.span(at)))
                }),
                stream_delay: ScanSettings::STREAM_DELAY,
            }),
            poll: setup.poll,
            runtime: setup.runtime,
            held: None,
            parked_max: Setup::PARKED_MAX,
        });
        *slot = Some(router.downgrade());
        Ok(router)
    }

    pub(crate) async fn close(&self) {
        if let Some(router) = self.router() {
            router.stop().await;
        }
        self.queues.close();
    }
}

fn at_work(router: Option<&WeakRouter>) -> Option<Router> {
    let router = router?.upgrade()?;
    (!router.is_stopped()).then_some(router)
}

/// The time of the system's clock when the program's clock shows `at`. The offset of the endpoint's clock is
/// known only relative to the system's clock.
fn in_system_time(clock: &dyn Clock, at: Timestamp) -> Timestamp {
    let (own, system) = (clock.now(), SystemClock::new().now());
    system.plus(at.since(own)).minus(own.since(at))
}

/// Rings a bell in real time, whatever the program's clock is: changes appear at the endpoint, which has its
/// own clock.
async fn ring_again_and_again(bell: Weak<Signal>) {
    while let Some(bell) = bell.upgrade() {
        bell.ring();
        drop(bell);
        tokio::time::sleep(POLL).await;
    }
}

/// Whether the endpoint protects Trestle's own tables: then it knows models, and this process stores none.
/// The request deletes nothing, because no row has this key.
fn keeps_models(remote: &Remote) -> Result<bool, Error> {
    let nothing = DeleteItem {
        table_name: "_trestle.gateways".to_owned(),
        key: Item::from([("gateway", "/none")]),
        ..DeleteItem::default()
    };
    match remote.delete_item(nothing).wait() {
        Err(error) if error.kind() == ErrorKind::Validation => Ok(true),
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(false),
        answer => answer.map(|_| false),
    }
}

impl std::fmt::Debug for AtEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtEndpoint")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
