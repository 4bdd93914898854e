//! The one router of a database.

use std::sync::Arc;

use trestle_api::Database;
use trestle_events::{HeldSpace, RouteSetup, Router, RoutesAtWork, RowReading, Setup, WeakRouter};

use crate::Embedded;
use crate::internal::Internal;

impl Embedded {
    /// Starts the router of this database, without routes: [`Router::apply`] adds them. Refused while there
    /// is another router that was not stopped.
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

    /// The router, while it runs.
    #[must_use]
    pub fn router(&self) -> Option<Router> {
        at_work(self.router_slot().lock().as_ref())
    }
}

fn at_work(router: Option<&WeakRouter>) -> Option<Router> {
    let router = router?.upgrade()?;
    (!router.is_stopped()).then_some(router)
}
