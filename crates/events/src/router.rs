//! The router: runs routes over a database.

mod backfills;
mod gone;
mod letters;
mod removal;
mod running;
mod stored;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, mpsc, oneshot};
use trestle_api::{Database, Error};
use trestle_env::{Clock, Signal, Timestamp};

use crate::live::Live;
use crate::reader::{Command, LagSurvey, Reader, Source};
use crate::route::faults as route_faults;
use crate::rows::{CheckpointRows, RouterTable};
use crate::target::Door;
use crate::{Doors, Route, RouteStatus, RowReading, RowSender, Typer};
pub use gone::GoneRoute;
use running::{Running, Work};
pub use stored::StoredRoute;

/// The dependencies of a router.
#[derive(Clone)]
pub struct Setup {
    /// The database with the streams.
    pub database: Arc<dyn Database>,
    /// The database for the router's own rows: the same one, unless nothing may be written there.
    pub state: Arc<dyn Database>,
    /// The clock for all times.
    pub clock: Arc<dyn Clock>,
    /// Rings when there may be changes to read; without one, the router polls every [`Setup::poll`].
    pub bell: Option<Arc<Signal>>,
    /// Determines the entity of an item.
    pub typer: Arc<dyn Typer>,
    /// Opens the destinations of routes.
    pub doors: Arc<dyn Doors>,
    /// How rows are read for backfills.
    pub rows: RowReading,
    /// How long to wait before polling for changes without a signal.
    pub poll: Duration,
    /// The runtime of the router's tasks.
    pub runtime: Handle,
    /// Information about the changes that the database keeps for routes; `None` if it keeps none beyond the
    /// stream's retention.
    pub held: Option<Arc<dyn HeldSpace>>,
    /// The maximum number of parked changes of a route, normally [`Setup::PARKED_MAX`]; a route that reaches
    /// it stops until some are resolved.
    pub parked_max: usize,
}

impl Setup {
    /// The default maximum number of parked changes of a route.
    pub const PARKED_MAX: usize = 100_000;
}

/// Information about the changes that a database keeps for routes beyond the retention of its streams.
pub trait HeldSpace: Send + Sync {
    /// The bytes that are kept of the changes of a table.
    fn held_bytes(&self, table: &str) -> u64;

    /// The bytes that are kept of the changes of all tables together.
    fn held_bytes_in_all(&self) -> u64;

    /// The maximum number of bytes that are kept, of all tables together.
    fn held_bytes_max(&self) -> u64;

    /// Changes before this time take more space than allowed: they become dead letters of routes whose target
    /// does not take them.
    fn given_up_before(&self) -> Timestamp;
}

/// Why routes could not be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Some routes are invalid; nothing was changed.
    #[error("{}", .0.join("\n"))]
    Routes(Vec<String>),
    /// The router was stopped, and cannot be started again.
    #[error("the router was stopped; start another one")]
    Stopped,
    /// The router's rows could not be read or written.
    #[error("the router's own table cannot be used: {0}")]
    Database(#[from] Error),
}

/// A router with its routes. Cloning it gives another handle; the routes stop with the last one, or with
/// [`Router::stop`].
#[derive(Clone)]
pub struct Router {
    inner: Arc<Inner>,
}

/// A handle that does not keep the router running.
#[derive(Clone)]
pub struct WeakRouter {
    inner: Weak<Inner>,
}

impl WeakRouter {
    /// The router, if it is still running.
    #[must_use]
    pub fn upgrade(&self) -> Option<Router> {
        let inner = self.inner.upgrade()?;
        Some(Router { inner })
    }
}

struct Inner {
    setup: Setup,
    stopped: AtomicBool,
    rows: Arc<RouterTable>,
    /// Held while routes are added and removed.
    state: Mutex<State>,
    /// The same routes, for readers.
    view: RwLock<BTreeMap<String, RouterView>>,
    gone: gone::GoneLetters,
}

/// A route and its state.
type RouterView = (Route, Work);

#[derive(Default)]
struct State {
    running: BTreeMap<String, Running>,
    readers: HashMap<String, ReaderHandle>,
}

/// The connection to a table's reader.
struct ReaderHandle {
    commands: mpsc::UnboundedSender<Command>,
    bell: Arc<Notify>,
}

impl Router {
    /// A router without routes.
    #[must_use]
    pub fn start(setup: Setup) -> Self {
        let rows = Arc::new(RouterTable::new(Arc::clone(&setup.state)));
        Self {
            inner: Arc::new(Inner {
                setup,
                stopped: AtomicBool::new(false),
                rows,
                state: Mutex::default(),
                view: RwLock::default(),
                gone: gone::GoneLetters::default(),
            }),
        }
    }

    /// Runs exactly these routes. Unchanged routes continue undisturbed; a changed one continues from its
    /// checkpoint; for a removed one, the checkpoints are deleted and undelivered changes become dead
    /// letters.
    ///
    /// When this returns, every new route has found its start: later changes are delivered. If a route cannot
    /// start, the others do, and the first error is returned.
    pub async fn apply(&self, routes: Vec<Route>) -> Result<(), ApplyError> {
        let doors = self.check(&routes)?;
        let inner = &self.inner;
        let mut state = inner.state.lock().await;
        if self.is_stopped() {
            return Err(ApplyError::Stopped);
        }
        let kept = |running: &Running| routes.contains(&running.route);
        let changed: Vec<String> = state
            .running
            .values()
            .filter(|running| !kept(running))
            .map(Running::name)
            .collect();
        for name in changed {
            if let Some(running) = state.running.remove(&name) {
                inner.view.write().remove(&name);
                running.stop(&state.readers).await;
            }
        }
        let mut gone = Vec::new();
        for stored in inner.rows.routes().await? {
            match routes.iter().find(|route| route.name == stored.name) {
                None => gone.push(stored),
                Some(route) if route.table != stored.table => {
                    running::move_away(&inner.rows, &stored.name, &stored.table).await?
                }
                Some(_) => {}
            }
        }
        // A route whose rows are damaged does not prevent the others from starting.
        let mut failed = None;
        for (route, door) in routes.into_iter().zip(doors) {
            if state.running.contains_key(&route.name) {
                continue;
            }
            match self.begin(&mut state, route.clone(), door).await {
                Ok(running) => {
                    let name = route.name.clone();
                    let view = (route, running.work.clone());
                    inner.view.write().insert(name.clone(), view);
                    state.running.insert(name, running);
                }
                Err(error) => {
                    tracing::error!(route = %route.name, %error, "the route cannot start");
                    failed = failed.or(Some(error));
                }
            }
        }
        // After the new ones have begun, so that every change is for one of the two.
        for stored in gone {
            if let Err(error) = self.remove(&mut state, stored).await {
                failed = failed.or(Some(error));
            }
        }
        if let Err(error) = self.count_gone().await {
            failed = failed.or(Some(error.into()));
        }
        failed.map_or(Ok(()), Err)
    }

    /// The doors of all routes that are on, or all errors.
    fn check(&self, routes: &[Route]) -> Result<Vec<Option<Door>>, ApplyError> {
        let mut faults = Vec::new();
        let mut doors = Vec::new();
        for (at, route) in routes.iter().enumerate() {
            let name = &route.name;
            if routes.iter().take(at).any(|other| other.name == *name) {
                faults.push(format!("route `{name}` is there twice; rename one of them"));
            }
            if route.table.is_empty() {
                faults.push(format!("route `{name}`: it has no table"));
            }
            let own = route_faults(route).into_iter();
            faults.extend(own.map(|(_, fault)| format!("route `{name}`: {fault}")));
            doors.push(match self.inner.setup.doors.open(route) {
                Ok(door) => route.may_deliver().then_some(door),
                // It keeps its position and delivers nothing.
                Err(_) if !route.may_deliver() => None,
                Err(fault) => {
                    faults.push(format!("route `{name}`: {fault}"));
                    None
                }
            });
        }
        if faults.is_empty() {
            Ok(doors)
        } else {
            Err(ApplyError::Routes(faults))
        }
    }

    async fn begin(
        &self,
        state: &mut State,
        route: Route,
        door: Option<Door>,
    ) -> Result<Running, ApplyError> {
        let inner = &self.inner;
        let Some(door) = door else {
            return Ok(Running::off(&inner.rows, route, inner.setup.clock.now()).await?);
        };
        let reader = state
            .readers
            .entry(route.table.clone())
            .or_insert_with(|| self.reader(&route.table));
        let (running, follower) =
            running::start(&inner.setup, &inner.rows, &reader.bell, route, door).await?;
        let (found, is_found) = oneshot::channel();
        let _ = reader.commands.send(Command::Attach(follower, found));
        let _ = is_found.await;
        Ok(running)
    }

    fn reader(&self, table: &str) -> ReaderHandle {
        let setup = &self.inner.setup;
        let (commands, incoming) = mpsc::unbounded_channel();
        let bell = Arc::new(Notify::new());
        let source = Source {
            database: Arc::clone(&setup.database),
            clock: Arc::clone(&setup.clock),
            bell: setup.bell.clone(),
            typer: Arc::clone(&setup.typer),
            rows: setup.rows.clone(),
            poll: setup.poll,
        };
        let table: Arc<str> = table.into();
        let survey_bell = Arc::new(Notify::new());
        let survey = LagSurvey::new(
            source.clone(),
            Arc::clone(&table),
            commands.downgrade(),
            Arc::clone(&survey_bell),
        );
        setup.runtime.spawn(survey.run());
        let reader = Reader::new(source, table, Arc::clone(&bell), survey_bell);
        setup.runtime.spawn(reader.run(incoming));
        ReaderHandle { commands, bell }
    }

    /// Opens the target of a route for rows that are sent without the stream, or returns why that is
    /// impossible.
    pub fn row_sender(&self, name: &str) -> Result<RowSender, String> {
        let view = self.inner.view.read();
        let Some((route, _)) = view.get(name) else {
            let known: Vec<&str> = view.keys().map(String::as_str).collect();
            return Err(match known.is_empty() {
                true => "there is no route".to_owned(),
                false => format!("there is no such route; there is {}", known.join(", ")),
            });
        };
        if !route.may_deliver() {
            return Err(match &route.held_back {
                Some(why) => format!("it is held back: {why}"),
                None => "it is disabled".to_owned(),
            });
        }
        let setup = &self.inner.setup;
        let (typer, own) = (Arc::clone(&setup.typer), Arc::clone(&setup.state));
        RowSender::open(route, &*setup.doors, typer, own)
    }

    /// Whether a route that is on takes touches of the rows of a table.
    #[must_use]
    pub fn hears_touches(&self, table: &str) -> bool {
        let view = self.inner.view.read();
        view.values().any(|(route, _)| route.hears_touches(table))
    }

    /// The route file that was stored last, if any. The router stores it for the program that applies it, and
    /// does not parse it.
    pub async fn file(&self) -> Result<Option<String>, Error> {
        self.inner.rows.file().await
    }

    /// Stores a route file, so that it can be applied again after a restart.
    pub async fn set_file(&self, text: &str) -> Result<(), Error> {
        self.inner.rows.set_file(text).await
    }

    /// The routes, in the order of their names.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        self.inner
            .view
            .read()
            .values()
            .map(|(route, _)| route.clone())
            .collect()
    }

    /// The status of each route, in the order of their names.
    #[must_use]
    pub fn status(&self) -> Vec<RouteStatus> {
        let view = self.inner.view.read();
        let status = |(route, work): &RouterView| match work {
            Work::On(live) => live.status(),
            Work::Off(off) => off.status(route),
        };
        view.values().map(status).collect()
    }

    /// Removes a route's gaps, because they have been handled.
    pub async fn close_gaps(&self, route: &str) -> Result<(), Error> {
        let view = self.inner.view.read().get(route).cloned();
        let Some((known, work)) = view else {
            return Err(Error::validation(format!("There is no route `{route}` here")));
        };
        let checkpoints =
            CheckpointRows::new(Arc::clone(&self.inner.rows), route, known.table.as_str().into());
        work.gaps().close(&checkpoints, Timestamp::MAX).await
    }

    fn live(&self, route: &str) -> Option<Arc<Live>> {
        match &self.inner.view.read().get(route)?.1 {
            Work::On(live) => Some(Arc::clone(live)),
            Work::Off(_) => None,
        }
    }

    /// A handle that does not keep the router running.
    #[must_use]
    pub fn downgrade(&self) -> WeakRouter {
        WeakRouter {
            inner: Arc::downgrade(&self.inner),
        }
    }

    /// Whether it was stopped: it has no routes any more, and accepts none.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.inner.stopped.load(Ordering::Acquire)
    }

    /// Stops all routes after the deliveries that are under way, and stores their checkpoints. It cannot be
    /// started again.
    pub async fn stop(&self) {
        let mut state = self.inner.state.lock().await;
        self.inner.stopped.store(true, Ordering::Release);
        let State { running, readers } = std::mem::take(&mut *state);
        self.inner.view.write().clear();
        for running in running.into_values() {
            running.stop(&readers).await;
        }
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}
