//! The options for starting the router of any database.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use trestle_api::Database;

use crate::{Doors, ScanSettings, Typer};

/// What a router needs besides the database.
pub struct RouteSetup {
    /// Determines the entity of an item.
    pub typer: Arc<dyn Typer>,
    /// Opens the destinations of routes.
    pub doors: Arc<dyn Doors>,
    /// How long to wait before polling for changes without a signal.
    pub poll: Duration,
    /// The runtime of the router's tasks.
    pub runtime: Handle,
    /// The endpoint with the tables and their streams, if they are not in this database. The router keeps its
    /// own rows in this database in any case.
    pub streams: Option<RemoteStreams>,
}

/// Tables and streams at an endpoint.
pub struct RemoteStreams {
    /// The endpoint.
    pub database: Arc<dyn Database>,
    /// How its rows are read for backfills.
    pub scan: ScanSettings,
}

/// The routes of a database are already running: two routers would remove each other's routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the routes of this database are at work already; stop their router first, or let it apply the other routes"
)]
pub struct RoutesAtWork;
