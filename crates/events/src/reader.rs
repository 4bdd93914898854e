//! One reader for all routes of a table. It reads the table's streams, oldest first, and their shards,
//! parents first, reads and types each record once, and passes it to every route at that position.
//!
//! Each route has its own walk. Routes at the same position share the page that is read there; a route
//! without room stops and catches up when it has room again. So a slow route does not delay the others.

mod backfill;
mod changed_keys;
mod follower;
mod page_reader;
mod row_reader;
mod scanned_rows;
mod streams;
mod survey;
mod tail;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use trestle_api::{Database, Error, Record};
use trestle_env::{Alarm, Clock, Signal, Timestamp};

use crate::Typer;
use crate::live::{ReadChange, Reading};
use crate::record;
use crate::row_source::RowReading;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

pub(crate) use backfill::BackfillWalk;
pub use changed_keys::{ChangedKeys, KeyPage, KeyPosition};
pub(crate) use follower::RouteFollower;
use page_reader::{PageReader, ShardPage};
use streams::Streams;
use survey::Behind;
pub(crate) use survey::LagSurvey;
pub use tail::Tail;
use walk::{ReadPoint, ShardPosition, read_points};

/// A stream keeps its records for at least this long.
const RETENTION_MIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The dependencies of a reader.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Rings when there may be something to read.
    pub(crate) bell: Option<Arc<Signal>>,
    pub(crate) typer: Arc<dyn Typer>,
    /// How rows are read.
    pub(crate) rows: RowReading,
    /// How long to wait before polling again without a signal.
    pub(crate) poll: Duration,
}

/// A command to a reader.
pub(crate) enum Command {
    /// Adds a route; answered when its position has been found.
    Attach(RouteFollower, oneshot::Sender<()>),
    /// Removes a route; it gets no more changes once this is answered.
    Detach(Arc<str>, oneshot::Sender<()>),
    /// Starts a backfill of a route, or ends one.
    Backfill(Arc<str>, Option<BackfillWalk>, oneshot::Sender<()>),
    /// Returns the routes that are not at the end.
    Behind(oneshot::Sender<Vec<Behind>>),
}

/// Reads one table for all its routes until all senders of commands are dropped.
pub(crate) struct Reader {
    source: Source,
    table: Arc<str>,
    followers: Vec<RouteFollower>,
    streams: Streams,
    /// When the streams were last described.
    looked: Timestamp,
    pages: PageReader,
    /// When no record was found after a position, so that no earlier record was missed.
    at_end: HashMap<ReadPoint, Timestamp>,
    bell: Arc<Notify>,
    /// Rung when a route cannot continue, so that the survey counts its unread records.
    survey_bell: Arc<Notify>,
}

/// The result of a round.
#[derive(PartialEq, Eq)]
enum Round {
    /// There may be more at once.
    Some,
    /// Nothing for now.
    None,
}

impl Reader {
    pub(crate) fn new(source: Source, table: Arc<str>, bell: Arc<Notify>, survey_bell: Arc<Notify>) -> Self {
        Self {
            source,
            table,
            followers: Vec::new(),
            streams: Streams::default(),
            looked: Timestamp::EPOCH,
            pages: PageReader::default(),
            at_end: HashMap::new(),
            bell,
            survey_bell,
        }
    }

    pub(crate) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let mut alarm = Alarm::new(Arc::clone(&self.source.clock));
        loop {
            let rings = self.source.bell.as_ref().map(|bell| bell.rings());
            let round = self.round().await.unwrap_or_else(|error| {
                self.failed(&error);
                Round::None
            });
            let command = match round {
                // Lets other tasks on this thread run, and commands arrive.
                Round::Some => {
                    tokio::task::yield_now().await;
                    match commands.try_recv() {
                        Err(mpsc::error::TryRecvError::Empty) => continue,
                        received => received.ok(),
                    }
                }
                Round::None => {
                    let poll = self.source.clock.now().plus(self.source.poll);
                    let rows = self.rows_due().unwrap_or(poll);
                    tokio::select! {
                        command = commands.recv() => command,
                        () = rung(self.source.bell.as_deref(), rings) => continue,
                        () = self.bell.notified() => continue,
                        _ = alarm.until(poll.min(rows)) => {
                            if self.source.clock.now() >= poll {
                                self.streams.look_again();
                            }
                            continue;
                        }
                    }
                }
            };
            match command {
                Some(Command::Attach(follower, found)) => self.attach(follower, found).await,
                Some(Command::Detach(name, gone)) => {
                    self.followers.retain(|follower| follower.live.name != name);
                    let _ = gone.send(());
                }
                Some(Command::Backfill(name, walk, begun)) => {
                    let mut followers = self.followers.iter_mut();
                    if let Some(follower) = followers.find(|follower| follower.live.name == name) {
                        follower.backfill = walk;
                    }
                    let _ = begun.send(());
                }
                Some(Command::Behind(answer)) => {
                    let _ = answer.send(self.behind());
                }
                None => {
                    self.survey_bell.notify_one();
                    return;
                }
            }
        }
    }

    /// The routes that are not at the end, with their positions.
    fn behind(&self) -> Vec<Behind> {
        let is_behind = |follower: &&RouteFollower| follower.live.reading() == Reading::Behind;
        let behind = |follower: &RouteFollower| Behind {
            live: Arc::clone(&follower.live),
            read: follower.live.read_count(),
            is_held: follower.is_held(&self.streams),
            walk: follower.walk.fork(),
            pages: self
                .pages
                .fork(|shard, position| follower.walk.is_at(shard, position)),
        };
        self.followers.iter().filter(is_behind).map(behind).collect()
    }

    fn failed(&self, error: &Error) {
        tracing::warn!(table = %self.table, %error, "the stream cannot be read; trying again");
        let now = self.source.clock.now();
        for follower in &self.followers {
            follower.live.counters.failed(now, &error.to_string());
        }
    }

    async fn attach(&mut self, follower: RouteFollower, found: oneshot::Sender<()>) {
        self.followers.push(follower);
        self.streams.look_again();
        if let Err(error) = self.advance().await {
            self.failed(&error);
        }
        // A new route begins after the newest record: that position must be known before the next write.
        let open = self.followers.last().map(|follower| follower.walk.open());
        let latest = open
            .into_iter()
            .flatten()
            .filter(|(_, at)| *at == ShardPosition::Latest);
        for point in latest {
            let database = &*self.source.database;
            if let Err(error) = self.pages.find(database, &self.streams, &point).await {
                self.failed(&error);
                // Records older than the route are read there, too, but are not for it.
                if let Some(follower) = self.followers.last_mut() {
                    follower.jump(&point.0, ShardPosition::TrimHorizon);
                }
            }
        }
        let _ = found.send(());
    }

    /// Reads a page at every position of a route that can continue.
    async fn round(&mut self) -> Result<Round, Error> {
        self.advance().await?;
        let mut round = self.read_rows().await;
        let read_points = read_points(self.followers.iter().map(|follower| &follower.walk));
        self.pages.retain(&read_points);
        self.at_end.retain(|point, _| read_points.contains_key(point));
        let mut has_read = vec![false; self.followers.len()];
        for (point, mut at) in read_points {
            if self.is_resting(&point) {
                continue;
            }
            at.retain(|at| {
                self.followers
                    .get(*at)
                    .is_some_and(|follower| follower.may_read(&point.0))
            });
            if !at.is_empty() && self.read(&point, &at).await? == Round::Some {
                round = Round::Some;
                for at in at {
                    if let Some(has_read) = has_read.get_mut(at) {
                        *has_read = true;
                    }
                }
            }
        }
        if self.has_rows_to_hand() {
            round = Round::Some;
        }
        for (follower, has_read) in self.followers.iter().zip(has_read) {
            follower.live.set_reading(if follower.walk.stream().is_none() {
                Reading::NoStream
            } else if follower.is_held(&self.streams) {
                self.survey_bell.notify_one();
                Reading::Behind
            } else if has_read {
                Reading::Behind
            } else {
                Reading::AtTheEnd
            });
        }
        Ok(round)
    }

    /// Whether no record was found after a position a moment ago, so that an endpoint is not asked again yet.
    fn is_resting(&self, point: &ReadPoint) -> bool {
        let now = self.source.clock.now();
        let is_recent = |at: &Timestamp| now.since(*at) < self.source.poll;
        self.source.bell.is_none() && self.at_end.get(point).is_some_and(is_recent)
    }

    /// Moves every route to the shards and streams that it may read next.
    async fn advance(&mut self) -> Result<(), Error> {
        let is_needed =
            |follower: &RouteFollower| follower.walk.stream().is_none() || follower.walk.has_ended_shard();
        let is_needed = self.followers.iter().any(is_needed);
        let (database, table) = (&*self.source.database, &*self.table);
        let (now, looks) = (self.source.clock.now(), self.streams.looks());
        self.streams.refresh(database, table, is_needed).await?;
        if self.streams.looks() != looks {
            self.looked = now;
        }
        for follower in &mut self.followers {
            follower.advance(&self.streams).await?;
        }
        Ok(())
    }

    /// Reads a page and passes it to the routes at that position.
    async fn read(&mut self, point: &ReadPoint, at: &[usize]) -> Result<Round, Error> {
        let database = &*self.source.database;
        let asked = self.source.clock.now();
        match self.pages.read(database, &self.streams, point).await? {
            ShardPage::Read { records, next } if records.is_empty() && next == point.1 => {
                self.found_nothing(&point.0, asked, at);
                self.at_end.insert(point.clone(), self.source.clock.now());
                Ok(Round::None)
            }
            ShardPage::Read { records, next } => {
                if let Some(first) = records.first() {
                    self.end_gaps(&point.0, first, at).await?;
                }
                self.feed(&point.0, records, &next, at);
                Ok(Round::Some)
            }
            ShardPage::Expired(position) => {
                self.move_all(point, &position);
                Ok(Round::Some)
            }
            ShardPage::Trimmed(_) => {
                self.note_gaps(point).await?;
                self.move_all(point, &ShardPosition::TrimHorizon);
                Ok(Round::Some)
            }
            ShardPage::Gone(error) => {
                self.streams.look_again();
                Err(error)
            }
        }
    }

    /// Records after a position were trimmed: the routes there may have missed some, unless there were none a
    /// short time ago.
    async fn note_gaps(&self, point: &ReadPoint) -> Result<(), Error> {
        let (shard, position) = point;
        let now = self.source.clock.now();
        let is_recent = |at: &Timestamp| now.since(*at) < RETENTION_MIN;
        let ShardPosition::After(after) = position else {
            return Ok(());
        };
        if self.at_end.get(point).is_some_and(is_recent) {
            return Ok(());
        }
        for follower in &self.followers {
            if follower.walk.is_at(shard, position) {
                follower.live.note_gap(shard, Some(after)).await?;
            }
        }
        Ok(())
    }

    /// Records where reading continues after a gap.
    async fn end_gaps(&self, shard: &Arc<ShardName>, first: &Record, at: &[usize]) -> Result<(), Error> {
        let sequence = SequenceNumber::new(&first.dynamodb.sequence_number);
        for at in at {
            if let Some(follower) = self.followers.get(*at) {
                follower.live.end_gap(shard, &sequence).await?;
            }
        }
        Ok(())
    }

    /// Passes records to the routes numbered `at`, which are then at `next`.
    fn feed(&mut self, shard: &Arc<ShardName>, records: Vec<Record>, next: &ShardPosition, at: &[usize]) {
        let typer = &*self.source.typer;
        let changes: Vec<ReadChange> = records
            .into_iter()
            .map(|record| {
                let bytes = usize::try_from(record.dynamodb.size_bytes).unwrap_or_default();
                ReadChange::new(record::change(record, &self.table, &shard.shard, typer), bytes)
            })
            .collect();
        for at in at {
            if let Some(follower) = self.followers.get_mut(*at) {
                follower.take(shard, &changes, next);
            }
        }
    }

    fn move_all(&mut self, (shard, from): &ReadPoint, to: &ShardPosition) {
        for follower in &mut self.followers {
            if follower.walk.is_at(shard, from) {
                follower.jump(shard, to.clone());
            }
        }
    }
}

/// Returns when the bell has rung since `seen`; never, without a bell.
async fn rung(bell: Option<&Signal>, seen: Option<u64>) {
    match bell.zip(seen) {
        Some((bell, seen)) => {
            bell.rung(seen).await;
        }
        None => std::future::pending().await,
    }
}
