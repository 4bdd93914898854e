//! The one router of a database.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use trestle_api::Database;
use trestle_events::{Doors, HeldSpace, Router, RowReading, ScanSettings, Setup, Typer, WeakRouter};

use crate::Embedded;
use crate::internal::Internal;

/// What a router needs besides the database.
pub struct RouteSetup {
    /// Says which entity an item is.
    pub typer: Arc<dyn Typer>,
    /// Opens the destinations that routes name.
    pub doors: Arc<dyn Doors>,
    /// How long to wait before looking for changes without having been told of any.
    pub poll: Duration,
    /// Where the router's tasks run.
    pub runtime: Handle,
    /// Where the tables and their streams are, if they are at an endpoint. The router keeps its own rows here in any case.
    pub streams: Option<RemoteStreams>,
}

/// Tables and streams at an endpoint.
pub struct RemoteStreams {
    /// The endpoint.
    pub database: Arc<dyn Database>,
    /// How its rows are read for backfills.
    pub scan: ScanSettings,
}

/// The routes of a database are at work already: two routers would forget each other's routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the routes of this database are at work already; stop their router first, or let it apply the other routes"
)]
pub struct RoutesAtWork;

impl Embedded {
    /// Starts the router of this database, without routes: [`Router::apply`] gives it some. Refused while there is another
    /// that was not stopped.
    pub fn start_router(&self, setup: RouteSetup) -> Result<Router, RoutesAtWork> {
        let mut slot = self.router_slot().lock();
        if at_work(slot.as_ref()).is_some() {
            return Err(RoutesAtWork);
        }
        let own = Arc::new(Internal(Arc::clone(self.opened())));
        let held = setup
            .streams
            .is_none()
            .then(|| Arc::clone(&own) as Arc<dyn HeldSpace>);
        let own: Arc<dyn Database> = own;
        let bell = setup.streams.is_none().then(|| self.changes());
        let (database, rows) = match setup.streams {
            Some(streams) => (streams.database, RowReading::Scanned(streams.scan)),
            None => {
                let rows = Arc::new(Internal(Arc::clone(self.opened())));
                (Arc::clone(&own), RowReading::AtOneMoment(rows))
            }
        };
        let router = Router::start(Setup {
            database,
            state: own,
            clock: Arc::clone(self.clock()),
            bell,
            typer: setup.typer,
            doors: setup.doors,
            rows,
            poll: setup.poll,
            runtime: setup.runtime,
            held,
            parked_max: Setup::PARKED_MAX,
        });
        *slot = Some(router.downgrade());
        Ok(router)
    }

    /// The router, while it is at work.
    #[must_use]
    pub fn router(&self) -> Option<Router> {
        at_work(self.router_slot().lock().as_ref())
    }
}

fn at_work(router: Option<&WeakRouter>) -> Option<Router> {
    let router = router?.upgrade()?;
    (!router.is_stopped()).then_some(router)
}
