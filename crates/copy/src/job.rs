//! A copy from beginning to end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use trestle_api::StreamViewType;
use trestle_env::{Clock, SystemClock, Timestamp};
use trestle_events::{ChangedKeys, KeyPosition};
use trestle_reindex::Units;

use crate::follow::{Followed, Follower, RowReader};
use crate::key::RowKey;
use crate::patience::Patience;
use crate::progress::CopyProgress;
use crate::rows::{RowCopy, RowScan};
use crate::side::CopySide;
use crate::state::SegmentState;
use crate::under_way::PagesUnderWay;
use crate::verify::{Comparison, TableVerified};
use crate::write::RowWriter;
use crate::{CopyError, CopyPhase, CopyPlan, PlannedTable, SideKind, StateFile};

/// The time between two writes of the state.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Clocks differ, and times of records are rounded: changes from this long before the copy began are
/// followed, too.
const CLOCK_MARGIN: Duration = Duration::from_secs(20 * 60);
/// The pause between two reads of a stream while nothing changes. Amazon DynamoDB allows five reads per
/// second of a shard, for all readers together.
const ENDPOINT_POLL: Duration = Duration::from_secs(1);
const SERVER_POLL: Duration = Duration::from_millis(200);
/// How often a stream that was just enabled is checked until it exists.
const STREAM_GLANCES: u32 = 600;
const STREAM_GLANCE: Duration = Duration::from_millis(100);

/// The options of a copy.
#[derive(Clone, Debug)]
pub struct CopySettings {
    /// Only these tables; empty for all.
    pub tables: Vec<String>,
    /// Whether the models of the tables are copied.
    pub models: bool,
    /// A model file that the target gets at the end: rows move to its keys in a migration.
    pub model: Option<String>,
    /// The number of segments of a table, each with its own position.
    pub segments: u32,
    /// The number of segments that are copied in parallel.
    pub workers: usize,
    /// The maximum number of rows on a page, which are copied again after a crash.
    pub page_rows: u32,
    /// The maximum of read units per second.
    pub read_units: Option<f64>,
    /// The maximum of write units per second.
    pub write_units: Option<f64>,
    /// Whether both sides are compared.
    pub verify: bool,
    /// Whether rows that differ are copied again.
    pub repair: bool,
    /// If no change arrives for this long, the source counts as unchanged; for a source whose writers cannot
    /// be paused.
    pub settle: Duration,
    /// How long a database may be unavailable.
    pub patience: Duration,
}

impl Default for CopySettings {
    fn default() -> Self {
        Self {
            tables: Vec::new(),
            models: true,
            model: None,
            segments: 16,
            workers: 8,
            page_rows: 1000,
            read_units: None,
            write_units: None,
            verify: true,
            repair: false,
            settle: Duration::from_secs(15),
            patience: Duration::from_secs(600),
        }
    }
}

/// Commands to a running copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyOrder {
    /// Cut over as soon as the target has everything.
    pub cut_over: bool,
    /// Stop. The same copy can be continued later.
    pub stop: bool,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyEnd {
    /// The target has taken over.
    Done,
    /// It was stopped by a command.
    Stopped,
}

/// The result of a copy.
#[derive(Clone, Debug, Serialize)]
pub struct CopyReport {
    /// How it ended.
    pub end: CopyEnd,
    /// Rows that were copied, in all runs.
    pub rows: u64,
    /// Rows per second in this run.
    pub rows_per_second: u64,
    /// Changes that were followed in this run.
    pub changes: u64,
    /// How long writes were paused in the cut-over, in milliseconds.
    pub paused_ms: Option<u64>,
    /// The results of the comparison.
    pub verified: Vec<TableVerified>,
}

/// A copy from one database to another.
pub struct CopyJob {
    /// The source.
    pub from: CopySide,
    /// The target.
    pub to: CopySide,
    /// The options.
    pub settings: CopySettings,
    /// The progress.
    pub progress: Arc<CopyProgress>,
}

/// The tasks of a table.
struct TableTasks {
    comparison: Comparison,
    rows: Arc<RowCopy>,
    followed: Option<Arc<Followed>>,
}

impl CopyJob {
    /// Copies, follows, compares, and cuts over on command; a source that does not change is cut over when
    /// its rows are copied. Requires a Tokio runtime with several threads.
    pub async fn run(
        &self,
        state: Arc<StateFile>,
        orders: watch::Receiver<CopyOrder>,
    ) -> Result<CopyReport, CopyError> {
        let mut verified = Vec::new();
        let mut stopping = orders.clone();
        let ended = tokio::select! {
            worked = self.work(&state, orders, &mut verified) => worked.map(|()| CopyEnd::Done),
            // The sender of commands may have been dropped: then there are no more.
            _ = async {
                if stopping.wait_for(|order| order.stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            } => Ok(CopyEnd::Stopped),
        };
        // A copy that was refused before it began leaves no state behind.
        if state.look(|state| !state.tables.is_empty()) {
            state.save()?;
        }
        let end = ended?;
        let status = self.progress.status();
        Ok(CopyReport {
            end,
            rows: state.look(|state| state.tables.values().map(|table| table.rows).sum()),
            rows_per_second: status.rows_per_second,
            changes: status.changes,
            paused_ms: state.look(|state| state.paused_ms),
            verified,
        })
    }

    async fn work(
        &self,
        state: &Arc<StateFile>,
        mut orders: watch::Receiver<CopyOrder>,
        verified: &mut Vec<TableVerified>,
    ) -> Result<(), CopyError> {
        if state.look(|state| state.phase) == CopyPhase::Done {
            self.progress.enter("done");
            return Ok(());
        }
        if state.look(|state| state.phase) == CopyPhase::TakenOver {
            return self.finish(state).await;
        }
        let plan = self.plan(Some(state)).await?;
        if state.look(|state| state.phase) == CopyPhase::Frozen {
            return self.take_over(&plan, state, None).await;
        }
        let budget = self.budget();
        let mut tasks = Vec::new();
        let mut background: JoinSet<Result<(), CopyError>> = JoinSet::new();
        for table in &plan.tables {
            self.progress.total.fetch_add(table.rows, Ordering::Relaxed);
            tasks.push(self.begin(table, &plan, state, &budget, &mut background).await?);
        }
        background.spawn(save_now_and_then(Arc::clone(state)));
        let began = tokio::select! {
            done = self.stages(&plan, state, &tasks, &mut orders, verified) => done?,
            failed = background.join_next() => return Err(match failed {
                Some(Ok(Err(error))) => error,
                Some(Err(error)) => CopyError::Defect(error.to_string()),
                Some(Ok(Ok(()))) | None => CopyError::Defect("a task of the copy has ended".to_owned()),
            }),
        };
        // No changes are left to follow, and later changes at the target must not be overwritten.
        background.shutdown().await;
        self.take_over(&plan, state, Some(began)).await
    }

    async fn stages(
        &self,
        plan: &CopyPlan,
        state: &Arc<StateFile>,
        tasks: &[TableTasks],
        orders: &mut watch::Receiver<CopyOrder>,
        verified: &mut Vec<TableVerified>,
    ) -> Result<Instant, CopyError> {
        if state.look(|state| state.phase) == CopyPhase::Rows {
            self.copy_rows(state, tasks).await?;
            state.change(|state| state.phase = CopyPhase::Following);
            state.save()?;
        }
        let followed: Vec<Arc<Followed>> = tasks.iter().filter_map(|task| task.followed.clone()).collect();
        self.progress.enter("catching-up");
        for followed in &followed {
            followed.kept_up().await;
        }
        if self.settings.verify {
            self.progress.enter("comparing");
            for task in tasks {
                verified.push(task.comparison.run().await?);
            }
            refuse_differences(verified)?;
        }
        if plan.follows {
            self.progress.enter("following");
            // The sender of commands may have been dropped: then it follows until this is dropped.
            if orders.wait_for(|order| order.cut_over).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        self.freeze(plan, state, &followed).await
    }

    async fn copy_rows(&self, state: &Arc<StateFile>, tasks: &[TableTasks]) -> Result<(), CopyError> {
        self.progress.enter("copying");
        let before = state.look(|state| state.tables.values().map(|table| table.rows).sum());
        self.progress.rows.store(before, Ordering::Relaxed);
        self.progress.rows_before.store(before, Ordering::Relaxed);
        let turns = Arc::new(Semaphore::new(self.settings.workers.max(1)));
        let mut segments: JoinSet<Result<(), CopyError>> = JoinSet::new();
        for task in tasks {
            for segment in 0..task.rows.scan.segments {
                let (rows, turns) = (Arc::clone(&task.rows), Arc::clone(&turns));
                segments.spawn(async move {
                    let _turn = turns.acquire().await;
                    rows.segment(segment).await
                });
            }
        }
        while let Some(done) = segments.join_next().await {
            done.map_err(|error| CopyError::Defect(error.to_string()))??;
        }
        Ok(())
    }

    /// Creates a table at the target, and begins to follow its changes before its first row is read.
    async fn begin(
        &self,
        table: &PlannedTable,
        plan: &CopyPlan,
        state: &Arc<StateFile>,
        (read_units, write_units): &(Arc<Units>, Arc<Units>),
        background: &mut JoinSet<Result<(), CopyError>>,
    ) -> Result<TableTasks, CopyError> {
        let name = &table.table;
        let segments = state.change_table(name, |known| {
            if known.segments.is_empty() {
                known.segments = vec![SegmentState::Begin; self.settings.segments.max(1) as usize];
                known.stream_made = plan.follows && table.needs_stream;
            }
            known.segments.len() as u32
        });
        state.save()?;
        if !table.exists {
            self.target()
                .create_like(&table.description, table.tags.clone())
                .await?;
        }
        let key = RowKey::new(name, &table.description.key_schema);
        let under_way = Arc::new(PagesUnderWay::new());
        let writer = RowWriter {
            database: Arc::clone(&self.to.database),
            table: name.clone(),
            units: Arc::clone(write_units),
            patience: self.patience(),
        };
        let reader = |side: &CopySide| RowReader {
            database: Arc::clone(&side.database),
            table: name.clone(),
            key: key.clone(),
            units: Arc::clone(read_units),
            patience: self.patience(),
        };
        let scan = |side: &CopySide| RowScan {
            database: Arc::clone(&side.database),
            table: name.clone(),
            segments,
            page_rows: self.settings.page_rows,
            units: Arc::clone(read_units),
            patience: self.patience(),
        };
        let followed = match plan.follows {
            false => None,
            true => {
                let changes = self.changes(table, state).await?;
                let followed = Arc::new(Followed::new());
                let follower = Follower {
                    changes,
                    source: reader(&self.from),
                    writer: writer.clone(),
                    under_way: Arc::clone(&under_way),
                    followed: Arc::clone(&followed),
                    state: Arc::clone(state),
                    progress: Arc::clone(&self.progress),
                    patience: self.patience(),
                    poll: match self.from.kind {
                        SideKind::Endpoint => ENDPOINT_POLL,
                        SideKind::Server | SideKind::Directory => SERVER_POLL,
                    },
                };
                background.spawn(follower.run());
                Some(followed)
            }
        };
        Ok(TableTasks {
            comparison: Comparison {
                source: scan(&self.from),
                target: scan(&self.to),
                source_rows: reader(&self.from),
                target_rows: reader(&self.to),
                writer: writer.clone(),
                followed: followed.clone(),
                repair: self.settings.repair,
                settle: match self.from.kind {
                    SideKind::Endpoint => self.settings.settle,
                    SideKind::Server | SideKind::Directory => STREAM_GLANCE,
                },
                progress: Arc::clone(&self.progress),
                key,
            },
            rows: Arc::new(RowCopy {
                scan: scan(&self.from),
                writer,
                under_way,
                state: Arc::clone(state),
                progress: Arc::clone(&self.progress),
            }),
            followed,
        })
    }

    /// The changes of a table: from the stored position, or from now on if no row was read.
    async fn changes(&self, table: &PlannedTable, state: &StateFile) -> Result<ChangedKeys, CopyError> {
        let name = &table.table;
        let database = Arc::clone(&self.from.database);
        let position: Option<KeyPosition> = state.change_table(name, |table| table.position.clone());
        let began = state.look(|state| Timestamp::from_millis(state.started_ms));
        if let Some(position) = position {
            return Ok(ChangedKeys::resume(
                database,
                name,
                &position,
                began.minus(CLOCK_MARGIN),
            ));
        }
        if table.needs_stream {
            self.source()
                .set_stream(name, Some(StreamViewType::KeysOnly))
                .await?;
        }
        let what = format!("beginning with the changes of table {name}");
        for _ in 0..STREAM_GLANCES {
            let begin = || ChangedKeys::begin(Arc::clone(&database), name);
            if let Some(changes) = self.patience().ask(&what, begin).await? {
                let position = changes.position();
                state.change_table(name, |table| table.position = Some(position));
                state.save()?;
                return Ok(changes);
            }
            tokio::time::sleep(STREAM_GLANCE).await;
        }
        Err(CopyError::refused(format!(
            "table {name} of {} has no stream that can be read: give it one, or copy a directory that no server has open",
            self.from.name
        )))
    }

    pub(crate) fn patience(&self) -> Patience {
        Patience {
            time: self.settings.patience,
            progress: Arc::clone(&self.progress),
        }
    }

    /// Units to read and to write.
    fn budget(&self) -> (Arc<Units>, Arc<Units>) {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let units = |rate| Arc::new(Units::new(Arc::clone(&clock), rate));
        (units(self.settings.read_units), units(self.settings.write_units))
    }
}

async fn save_now_and_then(state: Arc<StateFile>) -> Result<(), CopyError> {
    loop {
        tokio::time::sleep(SAVE_INTERVAL).await;
        let state = Arc::clone(&state);
        let saved = tokio::task::spawn_blocking(move || state.save()).await;
        saved.map_err(|error| CopyError::Defect(error.to_string()))??;
    }
}

fn refuse_differences(verified: &[TableVerified]) -> Result<(), CopyError> {
    let differing: u64 = verified.iter().map(|table| table.differing).sum();
    if differing == 0 {
        return Ok(());
    }
    let named = verified.iter().flat_map(|table| {
        let differences = table.differences.iter();
        differences.map(move |difference| {
            let key = serde_json::to_string(&difference.key).unwrap_or_default();
            format!(
                "\n  table {}: {} at the target: {key}",
                table.table, difference.what
            )
        })
    });
    Err(CopyError::Differs(format!(
        "{differing} rows differ; nothing was cut over. The same command with --repair copies them again:{}",
        named.collect::<String>()
    )))
}
