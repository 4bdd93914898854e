//! A process that works on a reindex: its workers share a budget and turns, and the whole budget is divided
//! among the processes.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Database, Error, count_repeats};
use trestle_env::{Alarm, Clock, Timestamp};
use trestle_events::Typer;
use trestle_item::Item;

use crate::budget::Units;
use crate::gaps::wants;
use crate::handler::Handler;
use crate::retry::{RetryPause, is_transient};
use crate::state_table::{StateTable, key, number, text};
use crate::work_item::{LiveLeases, WorkLease};
use crate::work_pool::WorkPool;
use crate::yielding::Yielding;
use crate::{Reindex, RowCounts};

/// The state that the workers of a process share.
pub(crate) struct Process {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) database: Arc<dyn Database>,
    pub(crate) state: Arc<StateTable>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) handler: Handler,
    pub(crate) typer: Option<Arc<dyn Typer>>,
    pub(crate) reads: Units,
    pub(crate) writes: Units,
    pub(crate) yielding: Yielding,
    pub(crate) pause: RetryPause,
    pub(crate) lease: Duration,
    /// The prefix of the names of processes that can be working now, if known.
    pub(crate) opening: Option<Arc<str>>,
    pub(crate) pool: WorkPool,
}

fn processes_of(job: &str) -> String {
    format!("process#{job}")
}

impl Process {
    /// The leases that are valid now.
    pub(crate) fn live_leases(&self) -> LiveLeases {
        LiveLeases {
            now: self.clock.now(),
            opening: self.opening.clone(),
        }
    }

    /// A lease from now on.
    pub(crate) fn lease_of(&self, worker: usize) -> WorkLease {
        WorkLease {
            owner: format!("{}/{worker}", self.id),
            until: self.clock.now().plus(self.lease),
        }
    }

    /// Registers this process and takes its share of the budget, repeatedly.
    pub(crate) async fn keep_known(&self, job: &Reindex) -> Error {
        loop {
            let mut alarm = Alarm::new(Arc::clone(&self.clock));
            match self.be_known(job).await {
                Ok(()) => {}
                Err(error) if is_transient(&error) => {
                    tracing::warn!(%error, "a process could not renew its place in reindex {}", self.name);
                }
                Err(error) => return error,
            }
            alarm.at(self.clock.now().plus(self.lease / 3)).await;
        }
    }

    /// Registers this process once, and takes its share of the budget.
    pub(crate) async fn be_known(&self, job: &Reindex) -> Result<(), Error> {
        let live = self.live_leases();
        let mut row = key(&processes_of(&self.name), &self.id);
        row.insert("until", live.now.plus(self.lease).as_millis());
        self.state.put(row).await?;
        let live = self.state.live_processes(&self.name, &live).await?.max(1) as f64;
        self.reads
            .set_rate(job.budget.read_units.map(|units| units / live));
        self.writes
            .set_rate(job.budget.write_units.map(|units| units / live));
        Ok(())
    }

    /// Unregisters this process.
    pub(crate) async fn leave(&self) -> Result<(), Error> {
        self.state.delete(&processes_of(&self.name), &self.id).await
    }

    /// Whether a row is one of those requested.
    pub(crate) fn wants(&self, job: &Reindex, row: &Item) -> bool {
        wants(job, self.typer.as_ref(), row)
    }

    /// The complete row, for a dead letter.
    pub(crate) async fn whole_row(&self, job: &Reindex, row_key: &Item) -> Option<Item> {
        use trestle_api::{DatabaseExt, GetItem};
        let get = GetItem {
            table_name: job.table.clone(),
            key: row_key.clone(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        self.database.get_item(get).await.ok()?.item
    }

    /// Repeats a call that fails for temporary reasons until it succeeds.
    pub(crate) async fn insist<T, F: Future<Output = Result<T, Error>>>(
        &self,
        counts: &mut RowCounts,
        mut call: impl FnMut() -> F,
    ) -> Result<T, Error> {
        let mut retries = 0;
        loop {
            let (answer, repeats) = count_repeats(call()).await;
            counts.add_repeats(repeats);
            match answer {
                Err(error) if is_transient(&error) && retries < CALL_RETRIES_MAX => {
                    counts.add_repeats(1);
                    self.pause.wait(retries).await;
                    retries += 1;
                }
                answer => return answer,
            }
        }
    }
}

/// How often a call for a whole page is repeated. After that the worker releases its work item.
const CALL_RETRIES_MAX: u32 = 12;

impl StateTable {
    /// How many processes work on a reindex.
    pub(crate) async fn live_processes(&self, job: &str, live: &LiveLeases) -> Result<u64, Error> {
        let is_live = |row: &&Item| {
            let until = number(row, "until").map(Timestamp::from_millis);
            let id = text(row, "sk").unwrap_or_default();
            until.is_some_and(|until| live.holds(id, until))
        };
        let rows = self.all(&processes_of(job)).await?;
        Ok(rows.iter().filter(is_live).count() as u64)
    }
}
