//! Starting and stopping a route.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use trestle_api::Error;
use trestle_env::Timestamp;

use super::backfills::count_rows;
use super::{ApplyError, ReaderHandle, Setup};
use crate::backfill::LiveBackfill;
use crate::gap::Gaps;
use crate::lanes::Lanes;
use crate::live::{Live, Parts};
use crate::matcher::Typed;
use crate::parked::{Behind, Entry, Parked, key_name};
use crate::reader::{BackfillWalk, Command, RouteFollower};
use crate::rows::{BackfillRow, Checkpoint, CheckpointRows, RouterTable};
use crate::sequence::SequenceNumber;
use crate::target::Door;
use crate::{LastError, Route, RouteState, RouteStatus, StartingPosition, checkpoints, lanes, retry};

/// How long a delivery may take after its route is stopped; then it is aborted, and repeated later.
const GRACE: Duration = Duration::from_secs(5);

/// A running route and its tasks.
pub(super) struct Running {
    pub(super) route: Route,
    pub(super) work: Work,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// The state of a route in memory.
#[derive(Clone)]
pub(super) enum Work {
    /// It is running.
    On(Arc<Live>),
    /// It is switched off, or held back.
    Off(Arc<Off>),
}

impl Work {
    /// The records that it may have missed.
    pub(super) fn gaps(&self) -> &Gaps {
        match self {
            Self::On(live) => &live.gaps,
            Self::Off(off) => &off.gaps,
        }
    }

    /// The number of its dead letters.
    pub(super) fn dead(&self) -> &AtomicU64 {
        match self {
            Self::On(live) => &live.counters.dead,
            Self::Off(off) => &off.dead,
        }
    }
}

/// The state of a route that does not deliver.
pub(super) struct Off {
    /// Why it is held back, if it is not disabled.
    held_back: Option<LastError>,
    parked: u64,
    dead: AtomicU64,
    pub(super) backfill: Mutex<Option<BackfillRow>>,
    gaps: Gaps,
}

impl Off {
    /// What must be done before it delivers.
    pub(super) fn way_on(&self) -> String {
        match &self.held_back {
            Some(why) => format!("it is held back: {}", why.message),
            None => "it is disabled; enable it first".to_owned(),
        }
    }

    pub(super) fn status(&self, route: &Route) -> RouteStatus {
        let state = match route.enabled {
            true => RouteState::HeldBack,
            false => RouteState::Disabled,
        };
        RouteStatus {
            parked: self.parked,
            dead: self.dead.load(Ordering::Relaxed),
            gaps: self.gaps.all(),
            last_error: self.held_back.clone(),
            backfill: self.backfill.lock().as_ref().map(BackfillRow::status),
            ..RouteStatus::idle(route.name.clone(), route.table.clone(), state)
        }
    }
}

impl Running {
    /// A route that does not deliver. One that is only held back keeps its undelivered changes.
    pub(super) async fn off(rows: &Arc<RouterTable>, route: Route, now: Timestamp) -> Result<Self, Error> {
        if !route.enabled {
            rows.switch_off_route(&route.name).await?;
        }
        let checkpoints = CheckpointRows::new(Arc::clone(rows), &route.name, route.table.as_str().into());
        let off = Off {
            held_back: route.held_back.clone().map(|message| LastError {
                at_ms: now.as_millis(),
                message,
                past: false,
            }),
            parked: rows.count_parked(&route.name).await?,
            dead: AtomicU64::new(rows.count_dead(&route.name).await?),
            backfill: Mutex::new(checkpoints.backfill().await?),
            gaps: Gaps::of(checkpoints.gaps().await?),
        };
        Ok(Self {
            route,
            work: Work::Off(Arc::new(off)),
            stop: watch::Sender::new(true),
            tasks: Vec::new(),
        })
    }

    pub(super) fn name(&self) -> String {
        self.route.name.clone()
    }

    /// Stops the route; when this returns, its target gets nothing more and its checkpoints are stored.
    pub(super) async fn stop(self, readers: &HashMap<String, ReaderHandle>) {
        let Work::On(live) = self.work else { return };
        if let Some(reader) = readers.get(&self.route.table) {
            let (gone, is_gone) = oneshot::channel();
            if reader
                .commands
                .send(Command::Detach(Arc::clone(&live.name), gone))
                .is_ok()
            {
                let _ = is_gone.await;
            }
        }
        self.stop.send_replace(true);
        for mut task in self.tasks {
            if tokio::time::timeout(GRACE, &mut task).await.is_err() {
                task.abort();
                let _ = task.await;
            }
        }
        // Once more, for the last work of the lanes.
        checkpoints::store(&live).await;
    }
}

/// Restores a route's position, or begins a new route, and starts its tasks.
pub(super) async fn start(
    setup: &Setup,
    rows: &Arc<RouterTable>,
    reader_bell: &Arc<Notify>,
    route: Route,
    door: Door,
) -> Result<(Running, RouteFollower), ApplyError> {
    let name = route.name.clone();
    let checkpoints = CheckpointRows::new(Arc::clone(rows), &name, route.table.as_str().into());
    rows.add_route(&route).await?;
    let (checkpoint, begins_latest) = match checkpoints.get().await? {
        Some(checkpoint) => (checkpoint, false),
        None => begin(setup, &checkpoints, &route).await?,
    };
    let backfill = checkpoints.backfill().await?;
    let walk = backfill
        .as_ref()
        .and_then(|row| BackfillWalk::of(row, &setup.rows));
    let wrong = |fault| ApplyError::Routes(vec![format!("route `{name}`: {fault}")]);
    let (lanes, opened) = Lanes::new(&route, &door).map_err(wrong)?;
    let (stop, stopped) = watch::channel(false);
    let parts = Parts {
        route: route.clone(),
        door,
        rows: Arc::clone(rows),
        clock: Arc::clone(&setup.clock),
        reader_bell: Arc::clone(reader_bell),
        stop: stopped,
        finished: checkpoint.finished.clone(),
        stored: checkpoints.shards().await?.into_iter().collect(),
        parked: load_parked(rows, &name, &lanes).await?,
        backfill: backfill.map(LiveBackfill::new),
        lanes,
        held: setup.held.clone(),
        gaps: Gaps::of(checkpoints.gaps().await?),
        is_remote: setup.rows.are_scanned(),
        parked_max: setup.parked_max,
    };
    let live = Arc::new(Live::new(parts).map_err(wrong)?);
    // The end of a backfill may have been stored without closing its gaps.
    live.close_filled_gaps().await?;
    live.counters
        .dead
        .store(rows.count_dead(&name).await?, Ordering::Relaxed);
    let mut tasks = vec![
        setup.runtime.spawn(lanes::run(Arc::clone(&live), opened)),
        setup.runtime.spawn(retry::run(Arc::clone(&live))),
    ];
    // If checkpoints are part of a transaction, the lane stores them.
    if matches!(live.door, Door::Target(_)) {
        tasks.push(setup.runtime.spawn(checkpoints::run(Arc::clone(&live))));
    }
    let follower = RouteFollower::new(Arc::clone(&live), checkpoint, begins_latest, walk);
    let running = Running {
        route,
        work: Work::On(live),
        stop,
        tasks,
    };
    Ok((running, follower))
}

/// Determines where a new route begins, durably; returns whether that is after the newest record.
async fn begin(
    setup: &Setup,
    checkpoints: &CheckpointRows,
    route: &Route,
) -> Result<(Checkpoint, bool), Error> {
    let now = setup.clock.now();
    // An endpoint is asked first, so that its clock is known approximately.
    let total = count_rows(&*setup.database, &route.table).await?;
    let latest = (setup.rows.records_from(now), true);
    let (from, is_latest) = match route.starting_position {
        StartingPosition::Latest => latest,
        StartingPosition::TrimHorizon => (Timestamp::EPOCH, false),
        StartingPosition::At(time) => (time, false),
        StartingPosition::AllRows => {
            // Before the checkpoint: a route with a checkpoint has begun.
            let backfill = BackfillRow::new(total, None, now);
            checkpoints.begin_backfill(&backfill).await?;
            latest
        }
    };
    let checkpoint = Checkpoint { from, finished: None };
    checkpoints.set(&checkpoint).await?;
    Ok((checkpoint, is_latest))
}

async fn load_parked(rows: &RouterTable, route: &str, lanes: &Lanes) -> Result<Parked, Error> {
    let mut parked = Parked::default();
    let mut after = None;
    loop {
        let (page, more) = rows.parked_page(route, after).await?;
        for kept in page {
            let item = key_name(&kept.change);
            let lane = lanes.name(&Typed::new(Arc::clone(&kept.change)), item);
            let behind = match lanes.destinations() {
                Some(_) if kept.is_behind_destination => Behind::Destination(lane),
                _ => Behind::Item,
            };
            let entry = Entry {
                item,
                lane,
                shard: kept.shard,
                sequence: SequenceNumber::new(&kept.change.sequence),
                mark: kept.mark,
                at: kept.change.at,
                due: kept.due,
                is_stored: true,
                is_tried: false,
                doubt: None,
            };
            parked.add(kept.id, entry, behind);
        }
        after = more;
        if after.is_none() {
            return Ok(parked);
        }
    }
}

/// Removes a route's checkpoints in a table.
pub(super) async fn move_away(rows: &Arc<RouterTable>, name: &str, table: &str) -> Result<(), Error> {
    CheckpointRows::new(Arc::clone(rows), name, table.into())
        .forget()
        .await
}
