//! The stored state of routes, also while another process runs them.

use std::sync::Arc;

use serde::Serialize;
use trestle_api::Error;

use super::Router;
use crate::rows::{BackfillRow, CheckpointRows};
use crate::{BackfillStatus, Gap, RouteState, RouteStatus};

/// The stored state of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredRoute {
    /// The route's name.
    pub route: String,
    /// Its table.
    pub table: String,
    /// Changes that wait for their next attempt.
    pub parked: u64,
    /// Changes that were given up.
    pub dead: u64,
    /// The records that it may have missed.
    pub gaps: Vec<Gap>,
    /// Its last backfill, if there was one.
    pub backfill: Option<BackfillStatus>,
}

impl StoredRoute {
    /// The status of a route that another gateway runs, according to its rows.
    #[must_use]
    pub fn at_another_gateway(self) -> RouteStatus {
        RouteStatus {
            parked: self.parked,
            dead: self.dead,
            gaps: self.gaps,
            backfill: self.backfill,
            ..RouteStatus::idle(self.route, self.table, RouteState::AtAnotherGateway)
        }
    }
}

impl Router {
    /// The stored state of each route, in the order of their names, running or not.
    pub async fn stored_routes(&self) -> Result<Vec<StoredRoute>, Error> {
        let rows = &self.inner.rows;
        let mut stored = Vec::new();
        for row in rows.routes().await? {
            let (route, table) = (row.name, row.table);
            let checkpoints = CheckpointRows::new(Arc::clone(rows), &route, table.as_str().into());
            stored.push(StoredRoute {
                parked: rows.count_parked(&route).await?,
                dead: rows.count_dead(&route).await?,
                gaps: checkpoints.gaps().await?,
                backfill: checkpoints.backfill().await?.as_ref().map(BackfillRow::status),
                route,
                table,
            });
        }
        Ok(stored)
    }
}
