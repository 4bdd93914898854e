//! A worker: repeatedly takes a work item, reads a page, processes its rows and stores the progress.
//!
//! *Invariant*: the stored progress of an item is never ahead of the work done. Whenever the process ends, at
//! most the current page of each worker is done again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_env::Alarm;
use trestle_item::Item;

use crate::job::ReindexState;
use crate::job_rows::StoredReindex;
use crate::page;
use crate::process::Process;
use crate::retry::is_transient;
use crate::rows;
use crate::split::Heat;
use crate::work_item::{OnceMore, PageProgress, WorkItem, WorkLease, WorkUnit};
use crate::work_pool::{LOOK_AGAIN, NextWork};
use crate::{Reindex, ReindexError, RowCounts, RowLetter};

/// How often in a row a worker retries when the database answers with temporary errors.
const FAILURES_MAX: u32 = 12;

/// How often a worker reports its progress within a long page.
const TELL: Duration = Duration::from_secs(2);

/// One worker of a process.
pub(crate) struct Worker {
    pub(crate) process: Arc<Process>,
    pub(crate) number: usize,
    /// The progress of its page.
    pub(crate) progress: Mutex<PageProgress>,
}

/// How a worker leaves a work item.
enum Left {
    Done,
    /// Another worker has it now.
    TakenOver,
    /// The reindex is paused or over.
    Stopped,
}

impl Worker {
    /// Works until there is nothing to do for now: the reindex is done, paused or cancelled.
    pub(crate) async fn run(&self) -> Result<(), ReindexError> {
        let mut failures = 0;
        loop {
            match self.turn().await {
                Ok(true) => failures = 0,
                Ok(false) => return Ok(()),
                Err(ReindexError::Database(error)) if is_transient(&error) && failures < FAILURES_MAX => {
                    tracing::warn!(%error, "a worker of reindex {} waits and goes on", self.process.name);
                    self.process.pause.wait(failures).await;
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes and does a work item, or waits for one; `false` if there is nothing to do.
    async fn turn(&self) -> Result<bool, ReindexError> {
        let alarm = Alarm::new(Arc::clone(&self.process.clock));
        let seen = self.process.state.job(&self.process.name).await?;
        if seen.job.state != ReindexState::Running {
            return Ok(false);
        }
        match self.claim(&seen).await? {
            Claim::Item(item) => self.work_on(*item).await?,
            Claim::AllDone => {
                let now = self.process.clock.now().as_millis();
                if self.process.state.end_job(&seen, now).await? {
                    // Wakes the workers of this process that wait for others.
                    self.process.clock.signal().ring();
                }
            }
            Claim::Wait => self.wait(alarm).await,
        }
        Ok(true)
    }

    /// Waits until other workers may have released something.
    async fn wait(&self, mut alarm: Alarm) {
        let due = self.process.clock.now().plus(LOOK_AGAIN);
        alarm.until(due).await;
    }

    /// Takes a free work item.
    async fn claim(&self, seen: &StoredReindex) -> Result<Claim, Error> {
        let process = &*self.process;
        loop {
            let live = process.live_leases();
            let id = match process
                .pool
                .next(&process.state, seen, &*process.clock, &live)
                .await?
            {
                NextWork::Try(id) => id,
                NextWork::AllDone => return Ok(Claim::AllDone),
                NextWork::Wait => return Ok(Claim::Wait),
            };
            let lease = process.lease_of(self.number);
            let claimed = process.state.claim(&seen.job.name, &id, &lease, &live).await?;
            if let Some(item) = claimed {
                return Ok(Claim::Item(Box::new(item)));
            }
        }
    }

    async fn work_on(&self, mut item: WorkItem) -> Result<(), ReindexError> {
        let id = item.id.clone();
        let left = self.pages(&mut item).await;
        if !matches!(left, Ok(Left::Done | Left::TakenOver)) {
            let owner = self.process.lease_of(self.number).owner;
            self.process
                .state
                .give_back(&self.process.name, &id, &owner)
                .await?;
            self.process.clock.signal().ring();
        }
        self.process.pool.look_again().await;
        left.map(drop)
    }

    /// Processes the pages of an item in order.
    async fn pages(&self, item: &mut WorkItem) -> Result<Left, ReindexError> {
        let mut heat = Heat::default();
        loop {
            let job = self.process.state.job(&self.process.name).await?.job;
            if job.state != ReindexState::Running {
                return Ok(Left::Stopped);
            }
            let page = self.page(&job, item);
            let Some(next) = self.keep_lease(&item.id, page).await? else {
                return Ok(Left::TakenOver);
            };
            item.counts += next.counts;
            item.is_done = next.position.is_none();
            item.position = next.position;
            if heat.is_hot(&job, item) {
                self.split(&job, item).await?;
            }
            let lease = self.process.lease_of(self.number);
            let checked_in = self
                .process
                .insist(&mut RowCounts::default(), || {
                    self.process.state.check_in(&job.name, item, &lease)
                })
                .await?;
            if !checked_in {
                return Ok(Left::TakenOver);
            }
            if item.is_done {
                return Ok(Left::Done);
            }
        }
    }

    /// Renews the lease during a page; `None` if another worker has taken the item over.
    async fn keep_lease<T>(
        &self,
        id: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        let mut work = std::pin::pin!(work);
        loop {
            let mut alarm = Alarm::new(Arc::clone(&self.process.clock));
            let due = self.process.clock.now().plus(TELL.min(self.process.lease / 3));
            tokio::select! {
                done = &mut work => return done.map(Some),
                () = alarm.at(due) => {
                    let lease: WorkLease = self.process.lease_of(self.number);
                    let progress = self.progress.lock().clone();
                    if !self.process.state.renew(&self.process.name, id, &lease, &progress).await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Reads a page and processes its rows. Another worker may have processed some of them before its process
    /// ended, and may have made dead letters of rows that succeed now.
    async fn page(&self, job: &Reindex, item: &WorkItem) -> Result<PageDone, Error> {
        let process = &*self.process;
        let mut counts = RowCounts::default();
        *self.progress.lock() = PageProgress::default();
        process.reads.take(1.0).await;
        let read = process
            .insist(&mut counts, || {
                page::read(
                    &*process.database,
                    job,
                    process.typer.as_ref(),
                    item,
                    &process.pause,
                )
            })
            .await?;
        process.reads.owe((read.read_units - 1.0).max(0.0));
        counts.read += read.looked_at;
        counts.add_repeats(read.unprocessed);
        let records_again = item.once_more == Some(OnceMore::Resend) && process.handler.records_again();
        let finished = rows::handle(
            process,
            job,
            read.rows,
            records_again,
            &mut counts,
            &self.progress,
        )
        .await?;
        self.note_missing(job, item, &read.missing, &mut counts).await?;
        let come_to_an_end = finished.iter().chain(found_partition(item, &read.missing));
        process.state.drop_letters(&job.name, come_to_an_end).await?;
        Ok(PageDone {
            counts,
            position: read.next,
        })
    }

    /// A row or a partition that was requested by its key and does not exist becomes a dead letter, so that
    /// it is reported. A dead letter whose row has been deleted since is removed.
    async fn note_missing(
        &self,
        job: &Reindex,
        item: &WorkItem,
        missing: &[Item],
        counts: &mut RowCounts,
    ) -> Result<(), Error> {
        for key in missing {
            let what = match key.len() == job.key.len() {
                true => "key",
                false => "partition key",
            };
            let reason = format!("table {} has no row with this {what}", job.table);
            let state = &self.process.state;
            if item.once_more == Some(OnceMore::Replay) {
                let former = state.letter(&job.name, key).await?;
                // If there is none, the page was cut off after this.
                if former.is_none_or(|former| former.reason != reason) {
                    state.drop_letter(&job.name, key).await?;
                    counts.gone += 1;
                    continue;
                }
            }
            let letter = RowLetter::new(key.clone(), None, &reason, 1, self.process.clock.now());
            state.add_letter(&job.name, &letter).await?;
            counts.failed += 1;
        }
        Ok(())
    }
}

/// The partition key of a work item with rows: it may have been a dead letter when it had none.
fn found_partition<'i>(item: &'i WorkItem, missing: &[Item]) -> Option<&'i Item> {
    match &item.unit {
        WorkUnit::Partition { partition, .. } => missing.is_empty().then_some(partition),
        _ => None,
    }
}

enum Claim {
    Item(Box<WorkItem>),
    AllDone,
    Wait,
}

/// The result of a page.
struct PageDone {
    counts: RowCounts,
    position: Option<Item>,
}
