//! Removing a route: all its undelivered changes become dead letters, which can be moved to another route.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_api::Error;

use super::running::{self, Work};
use super::{ApplyError, Router, State};
use crate::live::{Live, Reading};
use crate::rows::{CheckpointRows, Kept, RouteRow};
use crate::target::{Deliver, Door, Target};
use crate::{Batch, Outcome, Route, StartingPosition};

/// How many changes are given up together.
const BATCH: usize = 1_000;
/// How often to check whether all changes are given up.
const LOOK: Duration = Duration::from_millis(5);
/// Without any progress for this long, the removal fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A target that takes nothing.
struct Gone;

impl Target for Gone {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(async {
            let why = "the route was removed before this was delivered";
            let all = batch.deliveries.iter();
            Outcome::Partly(
                all.map(|delivery| (delivery.id.clone(), why.to_owned()))
                    .collect(),
            )
        })
    }
}

impl Router {
    /// Removes a route that is not running any more. Its rows are deleted last, so that the removal can be
    /// repeated.
    pub(super) async fn remove(&self, state: &mut State, stored: RouteRow) -> Result<(), ApplyError> {
        let rows = &self.inner.rows;
        let RouteRow { name, table, .. } = &stored;
        self.bury_parked(name).await?;
        let checkpoints = CheckpointRows::new(Arc::clone(rows), name, table.as_str().into());
        checkpoints.drop_backfill().await?;
        if stored.enabled {
            self.bury_waiting(state, &stored).await?;
        }
        running::move_away(rows, name, table).await?;
        Ok(rows.remove_route(name).await?)
    }

    /// Parked changes become dead letters, because no route will try them again.
    async fn bury_parked(&self, name: &str) -> Result<(), Error> {
        let rows = &self.inner.rows;
        loop {
            let (mut page, _) = rows.parked_page(name, None).await?;
            if page.is_empty() {
                return Ok(());
            }
            for kept in &mut page {
                kept.error = format!("the route was removed; last: {}", kept.error);
                kept.last = self.inner.setup.clock.now();
            }
            // The dead letters first: a crash in between leaves both.
            let letters: Vec<_> = page.iter().map(|kept| kept.bury(name).row).collect();
            rows.write(&letters).await?;
            let parked: Vec<_> = page.iter().map(|kept| Kept::unpark(name, &kept.id)).collect();
            rows.write(&parked).await?;
        }
    }

    /// Unread changes become dead letters, up to the end of the stream.
    async fn bury_waiting(&self, state: &mut State, stored: &RouteRow) -> Result<(), ApplyError> {
        let Some(takes) = &stored.takes else {
            tracing::warn!(
                route = %stored.name,
                "a route is gone that an earlier version has stored; what it has not delivered is not known"
            );
            return Ok(());
        };
        let route = Route {
            batch_size: BATCH,
            maximum_retry_attempts: 0,
            starting_position: StartingPosition::Latest,
            ..takes.clone()
        };
        let running = match self.begin(state, route, Some(Door::Target(Arc::new(Gone)))).await {
            Ok(running) => running,
            Err(error) => {
                tracing::error!(route = %stored.name, %error, "what a route that is gone has not delivered cannot be read");
                return Ok(());
            }
        };
        let through = match &running.work {
            Work::On(live) => self.until_through(live).await,
            Work::Off(_) => Ok(()),
        };
        running.stop(&state.readers).await;
        through
    }

    async fn until_through(&self, live: &Live) -> Result<(), ApplyError> {
        let dead = || live.status().dead;
        let before = dead();
        let mut seen = (Instant::now(), live.read_count());
        while live.reading() == Reading::Behind || !live.is_idle() {
            if self.is_stopped() {
                return Err(ApplyError::Stopped);
            }
            if live.read_count() != seen.1 {
                seen = (Instant::now(), live.read_count());
            } else if seen.0.elapsed() > PATIENCE {
                let why = live.counters.last_error().map(|error| error.message);
                let why = why.unwrap_or_else(|| "no record has come for 30 s".to_owned());
                return Err(ApplyError::Routes(vec![format!(
                    "route `{}` cannot be removed now, because what it has not delivered cannot be read: {why}",
                    live.name
                )]));
            }
            tokio::time::sleep(LOOK).await;
        }
        let letters = dead() - before;
        if letters > 0 {
            tracing::warn!(route = %live.name, letters, "the route is gone; what it had not delivered became dead letters");
        }
        Ok(())
    }
}
