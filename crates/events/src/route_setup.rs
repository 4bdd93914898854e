//! What the router of any database is started with.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use trestle_api::Database;

use crate::{Doors, ScanSettings, Typer};

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
