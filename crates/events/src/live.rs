//! A running route: the state that its reader, lanes, retries and checkpoints share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use trestle_env::{Alarm, Clock, SeldomLog, Timestamp};
use trestle_pattern::Template;

use crate::attempt::attempt;
use crate::backfill::{LiveBackfill, RowMark};
use crate::gap::Gaps;
use crate::health::Health;
use crate::lanes::{LaneName, Lanes};
use crate::matcher::{Matcher, Typed};
use crate::parked::{Behind, Entry, KeyName, Parked, key_name};
use crate::room::NoRoomSince;
use crate::rows::{CheckpointRows, RouterTable};
use crate::sequence::SequenceNumber;
use crate::status::{Counters, RouteState, RouteStatus, count};
use crate::target::{Door, Enlistment, delivery_id};
use crate::tracker::{ShardCheckpoint, ShardName, Ticket, Tracker};
use crate::{Batch, Change, Delivery, HeldSpace, Outcome, Route};

/// Changes that may be read ahead for a route, for any batch size.
const AHEAD_MIN: usize = 2_000;
/// Bytes that may be read ahead for a route.
const AHEAD_BYTES_MAX: usize = 32 << 20;
/// Bytes of changes in one batch, as with Lambda.
const BATCH_BYTES_MAX: usize = 6 << 20;
/// Changes in all batches together that are under way to the destinations of one route.
const DESTINATIONS_BATCHES_MAX: usize = 10_000;
/// Changes in one transaction with a checkpoint: a transaction has up to 100 writes, and each change may be
/// in another shard.
const ENLISTED_MAX: usize = 40;
/// Bytes of changes in one transaction with a checkpoint: a transaction has up to 4 MB, and escaping can make
/// their JSON six times as long.
const ENLISTED_BYTES_MAX: usize = 500_000;

/// The minimum time between two log lines of a kind about one route.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// The route is being stopped; a task that gets this error ends.
#[derive(Debug)]
pub(crate) struct Stopped;

/// A change under way in a lane.
#[derive(Debug)]
pub(crate) struct Handed {
    pub(crate) typed: Arc<Typed>,
    pub(crate) key: KeyName,
    /// Its destination, if the route distinguishes them.
    pub(crate) destination: Option<LaneName>,
    /// Its lane: that of its destination, or the one with an earlier change of its item.
    pub(crate) lane: Option<LaneName>,
    pub(crate) sequence: SequenceNumber,
    pub(crate) ticket: Ticket,
    /// For a row, after which changes it is ordered.
    pub(crate) mark: Option<RowMark>,
    pub(crate) bytes: usize,
}

impl Handed {
    pub(crate) fn change(&self) -> &Arc<Change> {
        &self.typed.change
    }
}

/// A change as it was read, for every route that takes it.
pub(crate) struct ReadChange {
    pub(crate) typed: Arc<Typed>,
    pub(crate) sequence: SequenceNumber,
    pub(crate) key: KeyName,
    pub(crate) bytes: usize,
}

impl ReadChange {
    pub(crate) fn new(change: Change, bytes: usize) -> Self {
        Self {
            sequence: SequenceNumber::new(&change.sequence),
            key: key_name(&change),
            typed: Arc::new(Typed::new(Arc::new(change))),
            bytes,
        }
    }
}

/// A running route.
pub(crate) struct Live {
    pub(crate) route: Route,
    pub(crate) name: Arc<str>,
    pub(crate) door: Door,
    matcher: Matcher,
    template: Option<Arc<Template>>,
    pub(crate) rows: Arc<RouterTable>,
    pub(crate) checkpoints: CheckpointRows,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tracker: Mutex<Tracker>,
    /// Rung when a checkpoint has moved.
    pub(crate) moved: Notify,
    /// The stored checkpoints.
    pub(crate) stored: Mutex<HashMap<Arc<ShardName>, ShardCheckpoint>>,
    /// Streams up to this one are finished.
    finished: Mutex<Option<Arc<str>>>,
    pub(crate) parked: Mutex<Parked>,
    /// The last backfill.
    pub(crate) backfill: Mutex<Option<LiveBackfill>>,
    /// Rung when a parked change may have become ready, or was resolved.
    pub(crate) parked_bell: Notify,
    /// Rung when parked changes have been resolved.
    pub(crate) resolved_bell: Notify,
    /// Rung when the reader may continue: there is room again, or a shard has ended.
    pub(crate) reader_bell: Arc<Notify>,
    pub(crate) counters: Counters,
    pub(crate) health: Health,
    /// Limits log lines about dead letters, and about parked changes for which there is no room.
    seldom_log: SeldomLog,
    ahead: AtomicUsize,
    ahead_bytes: AtomicUsize,
    reading: AtomicU8,
    /// The number of records that have been read, including those that are not for this route.
    read: AtomicU64,
    /// The time of the last of them, in milliseconds.
    read_up_to: AtomicU64,
    /// The count of records in the stream after them, while the route is not at the end.
    unread: Mutex<Option<Unread>>,
    pub(crate) lanes: Lanes,
    /// Rung when the route has no room.
    pub(crate) crowded: Notify,
    stop: watch::Receiver<bool>,
    pub(crate) held: Option<Arc<dyn HeldSpace>>,
    pub(crate) no_room_since: NoRoomSince,
    /// The records that the route may have missed.
    pub(crate) gaps: Gaps,
    /// Whether the table is at an endpoint, where another process may run the route.
    pub(crate) is_remote: bool,
    /// The most parked changes.
    pub(crate) parked_max: usize,
}

/// The components of a route.
pub(crate) struct Parts {
    pub(crate) route: Route,
    pub(crate) door: Door,
    pub(crate) rows: Arc<RouterTable>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) reader_bell: Arc<Notify>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) finished: Option<Arc<str>>,
    pub(crate) stored: HashMap<Arc<ShardName>, ShardCheckpoint>,
    pub(crate) parked: Parked,
    pub(crate) backfill: Option<LiveBackfill>,
    pub(crate) lanes: Lanes,
    pub(crate) held: Option<Arc<dyn HeldSpace>>,
    pub(crate) gaps: Gaps,
    pub(crate) is_remote: bool,
    pub(crate) parked_max: usize,
}

/// How far the reader has come for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    AtTheEnd,
    Behind,
    NoStream,
}

/// Records that were counted in the stream after the position of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    pub(crate) counted: u64,
    /// The number of records that had been read when counting began.
    read_before: u64,
    /// The count has reached the end of the stream.
    pub(crate) is_complete: bool,
}

impl Unread {
    pub(crate) fn since(read_before: u64) -> Self {
        Self {
            counted: 0,
            read_before,
            is_complete: false,
        }
    }

    /// How many of them remain after this many records have been read; `None` if the route has overtaken the
    /// count.
    pub(crate) fn after(&self, read: u64) -> Option<u64> {
        self.counted.checked_sub(read.saturating_sub(self.read_before))
    }
}

impl Live {
    /// A route that can start, or what is wrong with it.
    pub(crate) fn new(parts: Parts) -> Result<Self, String> {
        let Parts { route, door, .. } = parts;
        let matcher = Matcher::new(&route)?;
        let template = route.input.as_deref().map(Template::parse).transpose();
        let template = template.map_err(|error| format!("the input cannot be used: {error}"))?;
        let name: Arc<str> = route.name.as_str().into();
        Ok(Self {
            checkpoints: CheckpointRows::new(Arc::clone(&parts.rows), &name, route.table.as_str().into()),
            name,
            door,
            matcher,
            template: template.map(Arc::new),
            rows: parts.rows,
            clock: parts.clock,
            tracker: Mutex::default(),
            moved: Notify::new(),
            stored: Mutex::new(parts.stored),
            finished: Mutex::new(parts.finished),
            parked: Mutex::new(parts.parked),
            backfill: Mutex::new(parts.backfill),
            parked_bell: Notify::new(),
            resolved_bell: Notify::new(),
            reader_bell: parts.reader_bell,
            counters: Counters::default(),
            health: Health::default(),
            seldom_log: SeldomLog::every(BETWEEN_LINES),
            ahead: AtomicUsize::new(0),
            ahead_bytes: AtomicUsize::new(0),
            reading: AtomicU8::new(Reading::Behind as u8),
            read: AtomicU64::new(0),
            read_up_to: AtomicU64::new(0),
            unread: Mutex::default(),
            lanes: parts.lanes,
            crowded: Notify::new(),
            stop: parts.stop,
            held: parts.held,
            no_room_since: NoRoomSince::default(),
            gaps: parts.gaps,
            is_remote: parts.is_remote,
            parked_max: parts.parked_max,
            route,
        })
    }

    /// The most changes in a batch.
    pub(crate) fn batch_max(&self) -> usize {
        let most = match (&self.door, &self.lanes) {
            (Door::Enlist(_), _) => ENLISTED_MAX,
            (Door::Target(_), Lanes::Shares(_)) => self.route.batch_size,
            (Door::Target(_), lanes) => DESTINATIONS_BATCHES_MAX / lanes.most(),
        };
        self.route.batch_size.min(most).max(1)
    }

    /// The maximum number of bytes of changes in a batch. All batches to destinations together leave half of
    /// the room free.
    pub(crate) fn batch_bytes_max(&self) -> usize {
        match (&self.door, &self.lanes) {
            (Door::Enlist(_), _) => ENLISTED_BYTES_MAX,
            (Door::Target(_), Lanes::Shares(_)) => BATCH_BYTES_MAX,
            (Door::Target(_), lanes) => (AHEAD_BYTES_MAX / 2 / lanes.most()).min(BATCH_BYTES_MAX),
        }
    }

    fn ahead_max(&self) -> usize {
        let batches = self.batch_max() * self.lanes.most();
        match &self.lanes {
            Lanes::Shares(_) => (2 * batches).max(AHEAD_MIN),
            Lanes::Destinations(_) => batches + AHEAD_MIN,
        }
    }

    /// Whether a change of this time is too old to be delivered.
    pub(crate) fn is_too_old(&self, at: Timestamp) -> bool {
        let age = self.route.maximum_record_age;
        age.is_some_and(|age| at < self.clock.now().minus(age))
    }

    /// Whether more may be read for this route.
    pub(crate) fn has_room(&self) -> bool {
        self.ahead.load(Ordering::Acquire) < self.ahead_max()
            && self.ahead_bytes.load(Ordering::Acquire) < AHEAD_BYTES_MAX
    }

    /// Takes the changes for this route from a part of a shard that was read; `from` is the time at which the
    /// route begins.
    pub(crate) fn feed(
        &self,
        shard: &Arc<ShardName>,
        changes: &[ReadChange],
        from: Timestamp,
        has_ended: bool,
    ) {
        let mut tracker = self.tracker.lock();
        for read in changes {
            if read.typed.change.at < from || !self.takes(read) {
                continue;
            }
            self.hand(Handed {
                ticket: tracker.sent(shard, &read.sequence, read.typed.change.at),
                typed: Arc::clone(&read.typed),
                key: read.key,
                destination: self.lanes.destination(&read.typed, read.key),
                lane: None,
                sequence: read.sequence.clone(),
                mark: None,
                bytes: read.bytes,
            });
        }
        if let Some(last) = changes.last() {
            tracker.passed(shard, &last.sequence);
            let at = last.typed.change.at.as_millis();
            self.read_up_to.store(at, Ordering::Relaxed);
            self.read.fetch_add(changes.len() as u64, Ordering::Relaxed);
        }
        if has_ended {
            tracker.read(shard);
        }
        drop(tracker);
        self.moved.notify_one();
        if !self.has_room() {
            self.crowded.notify_one();
        }
    }

    /// What a change must wait for before it may be tried.
    pub(crate) fn behind(&self, handed: &Handed) -> Option<Behind> {
        // A change that leaves a lane is parked before the lane stops leaving: in this order none is missed.
        let leaving = self.lanes.destinations().zip(handed.lane);
        let leaving = leaving.filter(|(lanes, lane)| lanes.is_leaving(*lane));
        let on_hold = handed
            .destination
            .filter(|lane| self.health.hold(*lane).is_some());
        let parked = self.parked.lock().behind(handed.key, handed.destination);
        let waits = parked.or_else(|| leaving.map(|(_, lane)| Behind::Destination(lane)));
        waits.or_else(|| on_hold.map(Behind::Destination))
    }

    /// Delivers a batch of a lane, once few enough deliveries are under way. The answer concerns the lane
    /// `about`.
    pub(crate) async fn attempt(
        &self,
        lane: LaneName,
        about: LaneName,
        batch: &Batch,
    ) -> Result<(Outcome, Option<Enlistment>), Stopped> {
        let _underway = match self.lanes.destinations() {
            None => None,
            Some(lanes) => tokio::select! {
                underway = lanes.begin(lane, || self.clock.now()) => Some(underway),
                () = self.stopped() => return Err(Stopped),
            },
        };
        let _attempting = self.health.attempting(about, self.clock.now());
        Ok(attempt(&self.door, batch).await)
    }

    /// How often the target has answered, counting only answers that are relevant for this lane.
    pub(crate) fn answers(&self, lane: LaneName) -> u64 {
        match self.lanes.are_items() {
            true => self.health.all_answers(),
            false => self.health.answers(lane),
        }
    }

    /// Whether a change is for this route.
    pub(crate) fn takes(&self, read: &ReadChange) -> bool {
        self.matcher.takes(&read.typed)
    }

    /// Whether rows of a backfill can be for this route.
    pub(crate) fn takes_rows(&self) -> bool {
        self.matcher.takes_rows()
    }

    /// Hands a change to its lane.
    pub(crate) fn hand(&self, handed: Handed) {
        self.ahead.fetch_add(1, Ordering::AcqRel);
        self.ahead_bytes.fetch_add(handed.bytes, Ordering::AcqRel);
        self.lanes.hand(handed);
    }

    /// Marks changes as done: the checkpoint may pass them, and there is room for others.
    pub(crate) fn done<'h>(&self, changes: impl Iterator<Item = &'h Handed> + Clone) {
        let had_room = self.has_room();
        self.tracker
            .lock()
            .done(changes.clone().map(|handed| &handed.ticket));
        if let Some(lanes) = self.lanes.destinations() {
            lanes.done(changes.clone());
        }
        let (count, bytes) = changes.fold((0, 0), |(count, bytes), handed| (count + 1, bytes + handed.bytes));
        self.ahead.fetch_sub(count, Ordering::AcqRel);
        self.ahead_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.moved.notify_one();
        if !had_room && self.has_room() {
            self.reader_bell.notify_one();
        }
    }

    /// Records that changes have become dead letters; `error` is the reason of the last one.
    pub(crate) fn given_up(&self, number: usize, error: &str) {
        count(&self.counters.dead, number);
        if self.seldom_log.admit("dead letters").is_some() {
            let dead = self.counters.dead.load(Ordering::Relaxed);
            tracing::warn!(route = %self.name, dead, %error, "changes were given up; they are dead letters");
        }
    }

    /// Logs that the route has the maximum number of parked changes.
    pub(crate) fn log_no_room(&self) {
        if self.seldom_log.admit("parked").is_some() {
            tracing::error!(
                route = %self.name,
                parked = self.parked_max,
                "the route has reached its limit of parked changes; it stops until some are delivered"
            );
        }
    }

    /// Whether a shard has ended and everything in it is durably done.
    pub(crate) fn has_finished(&self, shard: &ShardName) -> bool {
        self.stored
            .lock()
            .get(shard)
            .is_some_and(|checkpoint| checkpoint.ended)
    }

    /// Whether the stored checkpoint has passed this record, so that it will not be read again.
    pub(crate) fn has_passed(&self, shard: &ShardName, sequence: &SequenceNumber) -> bool {
        if self
            .finished
            .lock()
            .as_ref()
            .is_some_and(|finished| shard.stream <= *finished)
        {
            return true;
        }
        let stored = self.stored.lock();
        let is_behind = |checkpoint: &ShardCheckpoint| {
            checkpoint
                .sequence
                .as_ref()
                .is_some_and(|passed| passed >= sequence)
        };
        stored
            .get(shard)
            .is_some_and(|checkpoint| checkpoint.ended || is_behind(checkpoint))
    }

    /// Whether a parked change, or the changes that a parked row contains, will not be read again.
    pub(crate) fn has_passed_parked(&self, entry: &Entry) -> bool {
        match &entry.mark {
            None => self.has_passed(&entry.shard, &entry.sequence),
            Some(mark) => self.has_passed_mark(mark),
        }
    }

    /// The route begins or continues to read a shard.
    pub(crate) fn open(&self, shard: &Arc<ShardName>) -> ShardCheckpoint {
        self.stored.lock().entry(Arc::clone(shard)).or_default().clone()
    }

    /// The shards that the route has begun and not finished, with its checkpoint in each.
    pub(crate) fn unfinished(&self) -> Vec<(Arc<ShardName>, ShardCheckpoint)> {
        let stored = self.stored.lock();
        let is_open = |(_, checkpoint): &(&Arc<ShardName>, &ShardCheckpoint)| !checkpoint.ended;
        let open = stored.iter().filter(is_open);
        open.map(|(shard, checkpoint)| (Arc::clone(shard), checkpoint.clone()))
            .collect()
    }

    /// The route has finished all streams up to this one.
    pub(crate) fn close(&self, finished: &Arc<str>) {
        *self.finished.lock() = Some(Arc::clone(finished));
        self.stored.lock().retain(|shard, _| shard.stream > *finished);
        self.parked_bell.notify_one();
    }

    /// Records that checkpoints are stored.
    pub(crate) fn stored(&self, checkpoints: Vec<(Arc<ShardName>, ShardCheckpoint)>) {
        let (rows, checkpoints): (Vec<_>, Vec<_>) = checkpoints
            .into_iter()
            .partition(|(shard, _)| shard.is_backfill());
        for (line, checkpoint) in rows {
            self.rows_passed(&line, &checkpoint);
        }
        let has_ended = checkpoints.iter().any(|(_, checkpoint)| checkpoint.ended);
        self.stored.lock().extend(checkpoints);
        self.parked_bell.notify_one();
        if has_ended {
            self.reader_bell.notify_one();
        }
    }

    /// The id under which a change is delivered.
    pub(crate) fn delivery_id(&self, change: &Change) -> String {
        delivery_id(&self.name, change)
    }

    /// A batch in the form that the target gets.
    pub(crate) fn batch<'h>(&self, changes: impl Iterator<Item = (&'h Arc<Typed>, u32)>) -> Batch {
        let template = self.template.as_ref();
        let delivery =
            |(typed, attempt): (&Arc<Typed>, u32)| Delivery::of(&self.name, typed, attempt, template);
        Batch {
            route: Arc::clone(&self.name),
            deliveries: changes.map(delivery).collect(),
        }
    }

    fn held(&self, read: impl FnOnce(&dyn HeldSpace) -> u64) -> u64 {
        self.held.as_deref().map_or(0, read)
    }

    /// Waits until a time, or until the route is stopped.
    pub(crate) async fn wait_until(&self, time: Timestamp) -> Result<(), Stopped> {
        let mut alarm = Alarm::new(Arc::clone(&self.clock));
        tokio::select! {
            () = alarm.at(time) => Ok(()),
            () = self.stopped() => Err(Stopped),
        }
    }

    /// Whether no change is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.ahead.load(Ordering::Acquire) == 0
    }

    /// Whether the route must stop.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Returns when the route must stop.
    pub(crate) async fn stopped(&self) {
        // An error means that the router was dropped.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Records an error of the database and waits a little before the next request.
    pub(crate) async fn pause(&self, error: &trestle_api::Error) -> Result<(), Stopped> {
        tracing::warn!(route = %self.name, %error, "the router's rows cannot be written; trying again");
        self.counters.failed(self.clock.now(), &error.to_string());
        let wait = self.route.backoff.after(1);
        self.wait_until(self.clock.now().plus(wait)).await
    }

    pub(crate) fn set_reading(&self, reading: Reading) {
        self.reading.store(reading as u8, Ordering::Relaxed);
        if reading != Reading::Behind {
            *self.unread.lock() = None;
        }
    }

    pub(crate) fn reading(&self) -> Reading {
        let reading = self.reading.load(Ordering::Relaxed);
        [Reading::AtTheEnd, Reading::NoStream]
            .into_iter()
            .find(|known| *known as u8 == reading)
            .unwrap_or(Reading::Behind)
    }

    /// The number of records that have been read, including those that are not for this route.
    pub(crate) fn read_count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Sets the count of unread records; it is dropped if the route has reached the end meanwhile.
    pub(crate) fn set_unread(&self, unread: Option<Unread>) {
        let mut known = self.unread.lock();
        *known = unread.filter(|_| self.reading() == Reading::Behind);
    }

    pub(crate) fn status(&self) -> RouteStatus {
        let reading = self.reading();
        let on_hold = self.health.status(self.lanes.destinations().is_some());
        let state = match reading {
            _ if on_hold.is_some() => RouteState::OnHold,
            _ if self.health.is_slow(self.clock.now()) => RouteState::AwaitingAnswer,
            Reading::NoStream => RouteState::NoStream,
            Reading::Behind => RouteState::CatchingUp,
            Reading::AtTheEnd => RouteState::Running,
        };
        let counted = *self.unread.lock();
        let is_counted = counted.is_some_and(|unread| unread.is_complete);
        let unread = counted.and_then(|unread| unread.after(self.read_count()));
        let unread = unread.unwrap_or_default();
        let waiting = self.ahead.load(Ordering::Relaxed) as u64;
        let lag = self
            .oldest(unread)
            .map(|at| self.clock.now().since(at).as_millis());
        RouteStatus {
            route: self.route.name.clone(),
            table: self.route.table.clone(),
            state,
            waiting,
            lag_records: waiting + unread,
            lag_at_least: reading == Reading::Behind && !is_counted && waiting + unread > 0,
            lag_ms: u64::try_from(lag.unwrap_or_default()).unwrap_or(u64::MAX),
            delivered: self.counters.delivered.load(Ordering::Relaxed),
            retried: self.counters.retried.load(Ordering::Relaxed),
            parked: self.parked.lock().count() as u64,
            dead: self.counters.dead.load(Ordering::Relaxed),
            gaps: self.gaps.all(),
            held_bytes: self.held(|held| held.held_bytes(&self.route.table)),
            held_bytes_max: self.held(|held| held.held_bytes_max()),
            on_hold,
            last_error: self.counters.last_error(),
            backfill: self
                .backfill
                .lock()
                .as_ref()
                .map(|backfill| backfill.row.status()),
        }
    }

    /// The time of the oldest change that is not done. For unread changes it is an estimate.
    fn oldest(&self, unread: u64) -> Option<Timestamp> {
        let on_its_way = self.tracker.lock().oldest();
        let parked = self.parked.lock().oldest();
        on_its_way.into_iter().chain(parked).min().or_else(|| {
            let read_up_to = self.read_up_to.load(Ordering::Relaxed);
            (unread > 0).then(|| Timestamp::from_millis(read_up_to))
        })
    }
}
