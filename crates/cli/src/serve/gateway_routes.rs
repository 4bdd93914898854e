//! The routes of an endpoint, which one of its gateways runs for all.
//!
//! Each gateway checks which one has the duty to run them ([`Duty`]). The holder starts a router whose rows
//! are at the endpoint, and whose writes succeed only while it holds the duty. The others show the stored
//! state; a call that changes something takes the routes over first.

use super::route_calls;
use super::route_sources::RouteSources;
use super::routes::{POLL, Routes};
use crate::exit::Failure;
use crate::routes::remote_scan::{self, STREAM_DELAY};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use trestle_admin::{AdminAnswer, AdminCall, AdminError, RouteList};
use trestle_api::Database;
use trestle_env::Clock;
use trestle_events::{Guard, GuardedDoors, Router, RowReading, Setup, StoredRoute, read_routes};
use trestle_gateway::{Duty, DutyHolder, Fence};
use trestle_model::Model;
use trestle_remote::Remote;

/// The time between two checks of the duty.
const LOOK: Duration = Duration::from_millis(500);

/// The time between two checks for routes.
const LOOK_FOR_ROUTES: Duration = Duration::from_secs(2);

/// How long a call waits for the routes: longer than the lease of a gateway that was killed.
const TAKING_OVER_MAX: Duration = Duration::from_secs(30);

/// The name that routers use for their table, and the table's name at the endpoint. They differ because a Trestle server at the endpoint
/// has a table with the first name for its own routes.
pub(crate) const ROUTES_TABLE: &str = "_trestle.routes";
pub(crate) const ROUTES_TABLE_THERE: &str = "_trestle.gateway_routes";

/// The epoch of a router that delivers nothing.
const NO_EPOCH: u64 = 0;

/// The routes of an endpoint, as one of its gateways has them.
pub(super) struct GatewayRoutes {
    materials: Materials,
    /// Held by the one task that starts and stops the routes.
    work: tokio::sync::Mutex<Option<AtWork>>,
    /// The same routes for administration calls.
    view: Mutex<Option<Arc<Routes>>>,
    /// For reading the stored state while this gateway runs no routes.
    stored: Routes,
    /// Whether there are routes, or a call needs them.
    is_needed: AtomicBool,
    is_over: AtomicBool,
    /// Whether the reason why no routes run has been logged.
    has_said_why: AtomicBool,
}

/// The dependencies of routers.
struct Materials {
    duty: Arc<Duty>,
    sources: Arc<RouteSources>,
    remote: Remote,
    clock: Arc<dyn Clock>,
    workers: Handle,
}

/// Routes that this gateway runs.
struct AtWork {
    epoch: u64,
    fence: Arc<Fence>,
    routes: Arc<Routes>,
    /// The models whose routes are running.
    models: Vec<(String, u64)>,
}

impl GatewayRoutes {
    /// Starts to look for routes, and runs them while this gateway has the duty.
    pub(super) fn start(
        duty: Duty,
        sources: RouteSources,
        remote: Remote,
        clock: Arc<dyn Clock>,
        workers: &Handle,
    ) -> Arc<Self> {
        let (duty, sources) = (Arc::new(duty), Arc::new(sources));
        let materials = Materials {
            duty,
            sources,
            remote,
            clock,
            workers: workers.clone(),
        };
        let open_side = Arc::new(materials.duty.open_side(ROUTES_TABLE, ROUTES_TABLE_THERE));
        let routes = Arc::new(GatewayRoutes {
            stored: materials.routes(NO_EPOCH, open_side),
            materials,
            work: tokio::sync::Mutex::default(),
            view: Mutex::default(),
            is_needed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            has_said_why: AtomicBool::new(false),
        });
        workers.spawn(Arc::clone(&routes).keep());
        routes
    }

    /// Takes the routes over and applies a route file. Blocks until it is done.
    pub(super) fn apply_file(&self, file: &Path) -> Result<(), Failure> {
        let routes = self.take_over().map_err(Failure::failed)?;
        self.materials.workers.block_on(routes.apply_file(file))
    }

    /// Answers a call about routes; returns other calls. Not for asynchronous tasks.
    pub(super) fn answer(&self, call: AdminCall) -> Result<Result<AdminAnswer, AdminError>, Box<AdminCall>> {
        if let Some(routes) = self.at_work() {
            return route_calls::answer(&routes, call);
        }
        match call {
            AdminCall::ListRoutes(_) => Ok(self.listed().map(AdminAnswer::ListRoutes)),
            call @ (AdminCall::ReadRoutes(_)
            | AdminCall::ListDeadLetters(_)
            | AdminCall::ReadDeadLetter(_)) => route_calls::answer(&self.stored, call),
            call if route_calls::is_known(&call) => match self.take_over() {
                Ok(routes) => route_calls::answer(&routes, call),
                Err(why) => Ok(Err(AdminError::failed(why))),
            },
            other => Err(Box::new(other)),
        }
    }

    /// Why the endpoint cannot run the routes in a model's text. Not for asynchronous tasks.
    pub(super) fn objection_to(&self, text: &str) -> Option<String> {
        let model = trestle_model::load(text).model.map(Arc::new)?;
        if !has_routes(text, model) {
            return None;
        }
        let checked = self.materials.duty.check_endpoint();
        let refused = self.materials.workers.block_on(checked).err()?;
        Some(refused.to_string())
    }

    /// The routes, while this gateway runs them.
    pub(super) fn at_work(&self) -> Option<Arc<Routes>> {
        self.view.lock().clone()
    }

    /// The sources of routes.
    pub(super) fn sources(&self) -> &RouteSources {
        &self.materials.sources
    }

    /// Stops the routes, so that another gateway continues at once.
    pub(super) async fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        let mut work = self.work.lock().await;
        if let Some(ended) = self.end(&mut work).await
            && let Err(error) = self.materials.duty.give_up(ended, None).await
        {
            tracing::warn!("other gateways run the routes when they see that this one is over: {error}");
        }
    }

    fn listed(&self) -> Result<RouteList, AdminError> {
        let stored = self.stored.wait(self.stored.router().stored_routes())?;
        Ok(RouteList {
            routes: stored.into_iter().map(StoredRoute::at_another_gateway).collect(),
            gone: Vec::new(),
        })
    }

    /// Requests the routes from the gateway that runs them, and waits until they run here. Not for
    /// asynchronous tasks.
    fn take_over(&self) -> Result<Arc<Routes>, String> {
        let began = Instant::now();
        let taking = async {
            let checked = self.materials.duty.check_endpoint().await;
            checked.map_err(|error| error.to_string())?;
            self.is_needed.store(true, Ordering::Release);
            loop {
                self.step().await;
                if let Some(routes) = self.at_work() {
                    return Ok(routes);
                }
                if let Err(error) = self.materials.duty.ask_for().await {
                    tracing::debug!(%error, "asking for the routes");
                }
                if began.elapsed() > TAKING_OVER_MAX {
                    return Err(
                        "another gateway runs the routes of this endpoint, and has not given them up in time: try again".to_owned(),
                    );
                }
                tokio::time::sleep(LOOK / 5).await;
            }
        };
        self.materials.workers.block_on(taking)
    }

    async fn keep(self: Arc<Self>) {
        while !self.is_over.load(Ordering::Acquire) {
            let pause = match self.is_needed().await {
                true => {
                    self.step().await;
                    LOOK
                }
                false => LOOK_FOR_ROUTES,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Whether there are routes: in a model, in an applied file, or as rows of removed ones.
    async fn is_needed(&self) -> bool {
        if self.is_needed.load(Ordering::Acquire) {
            return true;
        }
        let models = self.materials.sources.models();
        let has_routes = |name: String| {
            let (Ok(text), Ok(model)) = (models.text(&name), models.model(&name)) else {
                return false;
            };
            has_routes(&text, model)
        };
        let is_needed = models.list().into_iter().any(|model| has_routes(model.name))
            || matches!(self.stored.router().file().await, Ok(Some(_)))
            || matches!(self.stored.router().stored_routes().await, Ok(stored) if !stored.is_empty());
        self.is_needed.fetch_or(is_needed, Ordering::AcqRel) || is_needed
    }

    /// Checks the duty once, and acts accordingly.
    async fn step(&self) {
        let mut work = self.work.lock().await;
        if self.is_over.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = self.materials.duty.check_endpoint().await {
            if !self.has_said_why.swap(true, Ordering::AcqRel) {
                tracing::error!("the routes do not run: {error}");
            }
            return;
        }
        let (epoch, wanted_by) = match self.materials.duty.look().await {
            Ok(DutyHolder::This { epoch, wanted_by }) => (epoch, wanted_by),
            Ok(DutyHolder::Other) => {
                if self.end(&mut work).await.is_some() {
                    tracing::warn!("another gateway runs the routes now");
                }
                return;
            }
            Err(error) => {
                tracing::warn!("who runs the routes of the endpoint is not known: {error}");
                return;
            }
        };
        if work
            .as_ref()
            .is_some_and(|work| work.epoch != epoch || work.fence.is_lost())
        {
            self.end(&mut work).await;
        }
        if let Some(to) = wanted_by {
            self.end(&mut work).await;
            if let Err(error) = self.materials.duty.give_up(epoch, Some(&to)).await {
                tracing::warn!(
                    "the routes cannot be handed over to the gateway that requested them: {error}"
                );
            }
            return;
        }
        // A gateway that has not renewed its row for a while may have expired for the others.
        if !self.materials.duty.is_held(epoch) {
            return;
        }
        let models = self.models();
        match &mut *work {
            None => self.while_looking(self.begin(&mut work, epoch, models)).await,
            Some(work) if work.models != models => {
                self.while_looking(work.routes.resume()).await;
                work.models = models;
            }
            Some(_) => {}
        }
    }

    /// Continues to check the duty during long work, because deliveries need a recent check.
    async fn while_looking(&self, work: impl Future<Output = ()>) {
        let looking = async {
            loop {
                tokio::time::sleep(LOOK).await;
                // The next step acts on the result.
                let _ = self.materials.duty.look().await;
            }
        };
        tokio::select! {
            biased;
            () = work => {}
            () = looking => {}
        }
    }

    async fn begin(&self, work: &mut Option<AtWork>, epoch: u64, models: Vec<(String, u64)>) {
        tracing::info!("this gateway runs the routes");
        let fence = Arc::new(self.materials.duty.fence(epoch, ROUTES_TABLE, ROUTES_TABLE_THERE));
        let state = Arc::clone(&fence) as Arc<dyn Database>;
        let routes = Arc::new(self.materials.routes(epoch, state));
        routes.resume().await;
        routes.log_in_effect();
        *self.view.lock() = Some(Arc::clone(&routes));
        *work = Some(AtWork {
            epoch,
            fence,
            routes,
            models,
        });
    }

    /// Stops the routes, if they run here; returns their epoch.
    async fn end(&self, work: &mut Option<AtWork>) -> Option<u64> {
        let ended = work.take()?;
        *self.view.lock() = None;
        ended.routes.router().stop().await;
        Some(ended.epoch)
    }

    fn models(&self) -> Vec<(String, u64)> {
        let models = self.materials.sources.models().list().into_iter();
        models.map(|model| (model.name, model.version)).collect()
    }
}

fn has_routes(text: &str, model: Arc<Model>) -> bool {
    !read_routes(text, &[model], &|_| Vec::new()).routes.is_empty()
}

impl Materials {
    /// Prevents deliveries unless this gateway may act on its duty.
    fn guard(&self, epoch: u64) -> Guard {
        let duty = Arc::clone(&self.duty);
        Arc::new(move || {
            let why =
                "this gateway has not reached the endpoint for some seconds: another one may run the routes";
            (!duty.is_held(epoch)).then(|| why.to_owned())
        })
    }

    /// Routes of a new router, which keeps its rows in `state` and delivers in this epoch.
    fn routes(&self, epoch: u64, state: Arc<dyn Database>) -> Routes {
        let router = Router::start(Setup {
            database: Arc::new(self.remote.clone()),
            state,
            clock: Arc::clone(&self.clock),
            bell: None,
            typer: Arc::clone(&self.sources.typer) as _,
            doors: Arc::new(GuardedDoors::new(
                Arc::clone(&self.sources.doors) as _,
                self.guard(epoch),
            )),
            rows: RowReading::Scanned(remote_scan::settings(&self.remote, STREAM_DELAY)),
            poll: POLL,
            runtime: self.workers.clone(),
            held: None,
            parked_max: Setup::PARKED_MAX,
        });
        Routes::new(Arc::clone(&self.sources), router, &self.workers)
    }
}
