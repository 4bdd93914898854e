//! Routes as their rows tell, also while another process has them at work.

use std::sync::Arc;

use serde::Serialize;
use trestle_api::Error;

use super::Router;
use crate::rows::{BackfillRow, CheckpointRows};
use crate::{BackfillStatus, Gap, RouteState, RouteStatus};

/// What is stored of a route.
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
    /// What it may have missed.
    pub gaps: Vec<Gap>,
    /// Its last backfill, if there was one.
    pub backfill: Option<BackfillStatus>,
}

impl StoredRoute {
    /// How a route is doing that another gateway runs, as far as its rows tell.
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
    /// What is stored of each route, in the order of their names, whether it is at work or not.
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
