//! Starting and cancelling backfills.

use std::sync::Arc;

use tokio::sync::oneshot;
use trestle_api::{Database, DatabaseExt, DescribeTable, Error, ErrorKind};

use super::running::{Off, Work};
use super::{Router, State};
use crate::live::Live;
use crate::reader::{BackfillWalk, Command};
use crate::route::TAKES_NO_ROWS;
use crate::rows::{BackfillRow, CheckpointRows};
use crate::{BackfillState, BackfillStatus};

impl Router {
    /// Delivers every row that a route takes to its target, once, in order with the changes. When this
    /// returns, the backfill is stored, and continues after a crash. `rate` is the maximum number of rows per
    /// second.
    pub async fn backfill(&self, route: &str, rate: Option<u32>) -> Result<BackfillStatus, Error> {
        let inner = &self.inner;
        let state = inner.state.lock().await;
        let refused = |why: &str| Error::validation(format!("Route `{route}` cannot be backfilled: {why}"));
        let live = match self.work(&state, route)? {
            Work::On(live) => live,
            Work::Off(off) => return Err(refused(&off.way_on())),
        };
        if rate == Some(0) {
            return Err(refused(
                "its rate is 0 rows a second; give at least 1, or none for no limit",
            ));
        }
        if !live.takes_rows() {
            return Err(refused(TAKES_NO_ROWS));
        }
        let total = count_rows(&*inner.setup.database, &live.route.table).await?;
        // If the clock was set back, the gaps that this backfill fills must still be closed by it.
        let began = inner.setup.clock.now().max(live.gaps.last_noticed());
        let row = BackfillRow::new(total, rate, began);
        live.begin_backfill(row.clone()).map_err(|why| refused(&why))?;
        if let Err(error) = live.checkpoints.begin_backfill(&row).await {
            // It may be stored nevertheless; then it starts at the next start of the router.
            live.cancel_backfill(inner.setup.clock.now());
            return Err(error);
        }
        self.walk_rows(&state, &live, BackfillWalk::of(&row, &inner.setup.rows))
            .await;
        Ok(row.status())
    }

    /// Cancels a backfill. Rows under way are delivered; parked rows are tried again.
    pub async fn cancel_backfill(&self, route: &str) -> Result<BackfillStatus, Error> {
        let state = self.inner.state.lock().await;
        let now = self.inner.setup.clock.now();
        let none = || Error::validation(format!("Route `{route}` has no backfill that is running"));
        match self.work(&state, route)? {
            Work::On(live) => {
                self.walk_rows(&state, &live, None).await;
                if !live.cancel_backfill(now) {
                    return Err(none());
                }
                live.checkpoints.cancel_backfill(now).await?;
                live.status().backfill.ok_or_else(none)
            }
            Work::Off(off) => self.cancel_off(&state, route, &off).await?.ok_or_else(none),
        }
    }

    /// Cancels the backfill of a route that is switched off.
    async fn cancel_off(
        &self,
        state: &State,
        route: &str,
        off: &Off,
    ) -> Result<Option<BackfillStatus>, Error> {
        let now = self.inner.setup.clock.now();
        let Some(row) = off.backfill.lock().clone().filter(BackfillRow::is_running) else {
            return Ok(None);
        };
        let Some(running) = state.running.get(route) else {
            return Ok(None);
        };
        let table = running.route.table.as_str().into();
        let checkpoints = CheckpointRows::new(Arc::clone(&self.inner.rows), route, table);
        checkpoints.cancel_backfill(now).await?;
        let row = BackfillRow {
            state: BackfillState::Cancelled,
            ended: Some(now),
            ..row
        };
        let status = row.status();
        *off.backfill.lock() = Some(row);
        Ok(Some(status))
    }

    fn work(&self, state: &State, route: &str) -> Result<Work, Error> {
        let running = state.running.get(route).map(|running| running.work.clone());
        running.ok_or_else(|| {
            let known: Vec<&str> = state.running.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            Error::validation(format!("There is no route `{route}`; there is {known}"))
        })
    }

    /// Starts or ends the reading of rows for a route in the reader of its table.
    async fn walk_rows(&self, state: &State, live: &Arc<Live>, walk: Option<BackfillWalk>) {
        let Some(reader) = state.readers.get(&live.route.table) else {
            return;
        };
        let (told, is_told) = oneshot::channel();
        let command = Command::Backfill(Arc::clone(&live.name), walk, told);
        if reader.commands.send(command).is_ok() {
            let _ = is_told.await;
        }
    }
}

/// The approximate number of rows of a table; zero if there is no table.
pub(super) async fn count_rows(database: &dyn Database, table: &str) -> Result<u64, Error> {
    let table_name = table.to_owned();
    match database.describe_table(DescribeTable { table_name }).await {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(0),
        answer => Ok(answer?.table.item_count),
    }
}
