//! The status of a reindex, from what its workers have stored.

use serde::{Deserialize, Serialize};

use crate::job::{ReindexScope, ReindexState};
use crate::work_item::{LiveLeases, OnceMore, WorkItem, WorkLease, WorkUnit};
use crate::{Reindex, ReindexError, Reindexer, RowCounts, WorkBegun};

/// The status of a reindex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexStatus {
    /// Its name.
    pub name: String,
    /// The table.
    pub table: String,
    /// The version that rows are touched with, if they are.
    pub version: Option<u64>,
    /// The route whose target rows are sent to, if they are.
    pub route: Option<String>,
    /// Its state.
    pub state: ReindexState,
    /// Rows in its scope: estimated from the table's count until all are read.
    pub rows: u64,
    /// Whether that number is estimated.
    pub rows_are_estimated: bool,
    /// The outcomes of the rows so far.
    pub counts: RowCounts,
    /// The approximate number of rows still to be read, without those of an access pattern or of partitions,
    /// whose number is not known.
    pub waiting: u64,
    /// Rows that are dead letters now.
    pub dead_letters: u64,
    /// Rows that the destination is known to lack: dead letters and, approximately, those still to be read.
    pub gaps: u64,
    /// The percentage of rows that are done; or of work items, where the number of rows is unknown until they
    /// are read: those of an access pattern, or of partitions.
    pub percent: f64,
    /// Rows per second in the present or last period of work, which began when the reindex was started,
    /// resumed, or given rows again. 0 while no process works on it.
    pub rate: f64,
    /// Seconds until it is done at this rate, while it runs and if the number of rows is known.
    pub seconds_left: Option<u64>,
    /// The number of work items.
    pub work_items: u64,
    /// Work items that are done.
    pub work_items_done: u64,
    /// Workers that have a lease.
    pub workers: Vec<WorkerStatus>,
    /// Processes that work on it.
    pub processes: u64,
    /// Why a worker is retrying rows at present, if one is.
    pub held_up: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
}

/// A worker that has a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The process, and the worker's number in it.
    pub worker: String,
    /// The worker's current item.
    pub work_item: String,
    /// The end of the lease, in milliseconds since 1970.
    pub until: u64,
}

impl Reindexer {
    /// The status of a reindex.
    pub async fn status(&self, name: &str) -> Result<ReindexStatus, ReindexError> {
        let job = self.state.job(name).await?.job;
        let live = self.live_leases();
        let sum = self.work_sum(name, &live).await?;
        let dead_letters = self.state.dead_letters(name).await?;
        let processes = self.state.live_processes(name, &live).await?;
        let rate = sum.rate(&job, processes, live.now.as_millis());
        Ok(sum.status(&job, dead_letters, processes, rate))
    }

    /// Notes that work begins, unless another process is already working on it.
    pub(crate) async fn note_work(&self, name: &str) -> Result<(), ReindexError> {
        let live = self.live_leases();
        if self.state.live_processes(name, &live).await? > 0 {
            return Ok(());
        }
        let begun = WorkBegun {
            at: live.now.as_millis(),
            rows_before: self.work_sum(name, &live).await?.rows_read(),
        };
        let change = |job: &mut Reindex| {
            job.work = Some(begun);
            Ok(true)
        };
        self.state.change_job(name, change).await.map(drop)
    }

    async fn work_sum(&self, name: &str, live: &LiveLeases) -> Result<WorkSum, ReindexError> {
        let mut sum = WorkSum::default();
        let mut after = None;
        loop {
            let (items, next) = self.state.work_page(name, after.as_deref(), None).await?;
            for item in &items {
                sum.add(item, live);
            }
            after = next;
            if after.is_none() {
                return Ok(sum);
            }
        }
    }
}

/// Work items in total.
#[derive(Default)]
struct WorkSum {
    items: u64,
    done: u64,
    /// Rows that are given by their keys.
    named: u64,
    /// Unfinished work items whose number of rows is unknown until they are read.
    uncounted: u64,
    /// Rows to be processed again and still to be read: they are already in the scope.
    again: u64,
    /// Those of them that were read.
    again_read: u64,
    /// Rows that were counted as failed and had another outcome in a replay.
    mended: u64,
    counts: RowCounts,
    held_up: Option<String>,
    workers: Vec<WorkerStatus>,
}

impl WorkSum {
    fn add(&mut self, item: &WorkItem, live: &LiveLeases) {
        self.items += 1;
        self.done += u64::from(item.is_done);
        let mut counts = item.counts;
        let is_live = |lease: &&WorkLease| !item.is_done && live.holds(&lease.owner, lease.until);
        let lease = item.lease.as_ref().filter(is_live);
        if lease.is_some() {
            counts += RowCounts {
                read: item.page.counts.handled(),
                ..item.page.counts
            };
            self.held_up = self.held_up.take().or_else(|| item.page.reason.clone());
        }
        let named = match &item.unit {
            WorkUnit::Keys { keys } => keys.len() as u64,
            _ => 0,
        };
        match item.once_more {
            Some(why) => {
                self.again += named.saturating_sub(counts.read);
                self.again_read += std::mem::take(&mut counts.read);
                if why == OnceMore::Replay {
                    counts.failed = 0;
                    // A partition without rows was one dead letter.
                    self.mended += counts.handled().min(named.max(1));
                }
            }
            None => {
                self.named += named;
                let is_uncounted = matches!(
                    item.unit,
                    WorkUnit::Query { .. } | WorkUnit::Scan { .. } | WorkUnit::Partition { .. }
                );
                self.uncounted += u64::from(is_uncounted && !item.is_done);
            }
        }
        self.counts += counts;
        if let Some(lease) = lease {
            self.workers.push(WorkerStatus {
                worker: lease.owner.clone(),
                work_item: item.id.clone(),
                until: lease.until.as_millis(),
            });
        }
    }

    /// All rows read, including rows done again.
    fn rows_read(&self) -> u64 {
        self.counts.read + self.again_read
    }

    /// Rows per second in the present or last period of work.
    fn rate(&self, job: &Reindex, processes: u64, now: u64) -> f64 {
        let is_under_way = job.state == ReindexState::Running && processes > 0;
        let Some(until) = job.ended_at.or(is_under_way.then_some(now)) else {
            return 0.0;
        };
        // An earlier version stored only the time of the start.
        let begun = job.work.unwrap_or(WorkBegun {
            at: job.started_at,
            rows_before: 0,
        });
        let seconds = until.saturating_sub(begun.at) as f64 / 1000.0;
        let rows = self.rows_read().saturating_sub(begun.rows_before);
        if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
    }

    fn status(self, job: &Reindex, dead_letters: u64, processes: u64, rate: f64) -> ReindexStatus {
        let counts = RowCounts {
            failed: self.counts.failed.saturating_sub(self.mended),
            ..self.counts
        };
        let is_all_read = self.items > 0 && self.done == self.items;
        let rows = match is_all_read {
            true => counts.read,
            false => self.expected(job).max(counts.read),
        };
        let waiting = rows - counts.read + self.again;
        // For the scope of a whole table, partitions are parts of the table's count.
        let is_counted =
            self.uncounted == 0 || !matches!(job.scope, ReindexScope::Ids(_) | ReindexScope::Access { .. });
        let is_timed = job.state == ReindexState::Running && rate > 0.0 && is_counted;
        let route = match &job.mode {
            crate::ReindexMode::Send { route } => Some(route.clone()),
            crate::ReindexMode::Touch { .. } => None,
        };
        ReindexStatus {
            name: job.name.clone(),
            table: job.table.clone(),
            version: job.version(),
            route,
            state: job.state,
            rows,
            rows_are_estimated: !is_all_read,
            counts,
            waiting,
            dead_letters,
            gaps: dead_letters + waiting,
            percent: match (is_all_read, is_counted) {
                (true, _) => 100.0,
                (false, true) => percent(rows.saturating_sub(waiting), rows),
                (false, false) => percent(self.done, self.items),
            },
            rate,
            seconds_left: is_timed.then(|| (waiting as f64 / rate).ceil() as u64),
            work_items: self.items,
            work_items_done: self.done,
            workers: self.workers,
            processes,
            held_up: self.held_up,
            started_at: job.started_at,
            ended_at: job.ended_at,
        }
    }

    /// The expected number of rows to read.
    fn expected(&self, job: &Reindex) -> u64 {
        match &job.scope {
            ReindexScope::Complete | ReindexScope::Entity(_) => job.rows_estimated + self.named,
            ReindexScope::First(rows) => job.rows_estimated.min(*rows) + self.named,
            ReindexScope::Ids(_) | ReindexScope::Access { .. } => self.named,
        }
    }
}

/// It is not done before all rows are read, whatever their number is.
fn percent(done: u64, of: u64) -> f64 {
    match of {
        0 => 0.0,
        of => (done as f64 / of as f64 * 100.0).min(99.9),
    }
}
