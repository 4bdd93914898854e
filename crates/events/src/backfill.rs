//! A running backfill of a route: which rows are under way, and therefore how far it has come.
//!
//! The rows of a backfill are numbered in the order in which they are read. They are handled like changes:
//! each goes to the lane of its item, and has a ticket of the tracker in a separate line. The position that
//! the tracker reports as done is stored.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle_api::{Error, TransactWriteItem};
use trestle_env::Timestamp;

use crate::live::{Handed, Live, ReadChange};
use crate::rows::{BackfillRow, RowPlace};
use crate::sequence::SequenceNumber;
use crate::target::Door;
use crate::tracker::{ShardCheckpoint, ShardName};

/// Takes the place of a stream's label in the names of lines of rows. Labels of streams are times.
const STREAM: &str = "backfill";

/// The state of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackfillState {
    /// Rows are under way, or still to be read.
    Running,
    /// Every row was delivered, is parked or is a dead letter.
    Done,
    /// It was cancelled.
    Cancelled,
}

impl BackfillState {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Running, Self::Done, Self::Cancelled];
        all.into_iter().find(|state| state.name() == name)
    }
}

/// The progress of a backfill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillStatus {
    /// Its id, different from that of every other backfill.
    pub id: String,
    /// Its state.
    pub state: BackfillState,
    /// Rows that are done, including those that the route does not take.
    pub rows: u64,
    /// How many rows the table had when it began.
    pub total: u64,
    /// The maximum number of rows per second; `None` for no limit.
    pub rate: Option<u32>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it was done or cancelled.
    pub ended_ms: Option<u64>,
}

impl BackfillRow {
    /// A backfill that starts now.
    pub(crate) fn new(total: u64, rate: Option<u32>, now: Timestamp) -> Self {
        Self {
            id: format!("{:016x}", trestle_env::ids::random_u64()),
            state: BackfillState::Running,
            place: RowPlace::default(),
            total,
            rate,
            began: now,
            ended: None,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == BackfillState::Running
    }

    pub(crate) fn status(&self) -> BackfillStatus {
        BackfillStatus {
            id: self.id.clone(),
            state: self.state,
            rows: self.place.rows,
            total: self.total,
            rate: self.rate,
            began_ms: self.began.as_millis(),
            ended_ms: self.ended.map(Timestamp::as_millis),
        }
    }

    /// The name of its line of rows.
    pub(crate) fn line(&self) -> Arc<ShardName> {
        Arc::new(ShardName {
            stream: STREAM.into(),
            shard: self.id.as_str().into(),
        })
    }
}

impl RowPlace {
    /// Restarts the walk at the beginning of the table, in another order of rows.
    pub(crate) fn begin_again(&mut self, layout: &str) {
        self.after = None;
        self.is_end = false;
        self.layout = Some(layout.to_owned());
    }
}

impl ShardName {
    /// Whether this is the line of rows of a backfill.
    pub(crate) fn is_backfill(&self) -> bool {
        &*self.stream == STREAM
    }
}

/// The number of a row, in the form that the tracker uses.
fn numbered(number: u64) -> SequenceNumber {
    SequenceNumber::new(&number.to_string())
}

/// After which changes a row is ordered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowMark {
    /// After all changes up to the position at which it was read.
    At(StreamPosition),
    /// After all changes that were handed over before it; none of them can be read again, because all are
    /// durably done.
    Settled,
}

/// The position in a stream at which rows were read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamPosition {
    /// The label of the stream; empty without one.
    pub(crate) stream: Arc<str>,
    pub(crate) sequence: SequenceNumber,
    /// The shards that were open at that moment.
    pub(crate) shards: Arc<[Arc<ShardName>]>,
}

/// A running backfill of a route.
#[derive(Debug)]
pub(crate) struct LiveBackfill {
    /// Its stored row.
    pub(crate) row: BackfillRow,
    pub(crate) line: Arc<ShardName>,
    /// Positions that were handed over and are not stored yet, in order.
    places: VecDeque<RowPlace>,
}

impl LiveBackfill {
    pub(crate) fn new(row: BackfillRow) -> Self {
        Self {
            line: row.line(),
            row,
            places: VecDeque::new(),
        }
    }

    /// The last position that a checkpoint has passed.
    fn place(&self, checkpoint: &ShardCheckpoint) -> Option<&RowPlace> {
        let passed: u64 = checkpoint.sequence.as_ref()?.as_str().parse().ok()?;
        let is_passed = |place: &&RowPlace| place.rows <= passed;
        self.places.iter().take_while(is_passed).last()
    }

    /// Records that a position is stored.
    fn stored(&mut self, place: RowPlace, now: Timestamp) {
        // The last page may have no rows: then its end has the number of the previous page.
        if let Some(at) = self.places.iter().position(|other| *other == place) {
            self.places.drain(..=at);
        }
        if place.is_end && self.row.is_running() {
            self.row.state = BackfillState::Done;
            self.row.ended = Some(now);
        }
        self.row.place = place;
    }

    /// The walk restarts: the positions handed over so far are invalid.
    fn forget_places(&mut self, layout: &str) {
        for place in &mut self.places {
            place.begin_again(layout);
        }
    }

    /// Ends the backfill, except for the rows under way.
    fn cancel(&mut self, now: Timestamp) {
        self.row.state = BackfillState::Cancelled;
        self.row.ended = Some(now);
        for place in &mut self.places {
            place.is_end = false;
        }
    }
}

/// A page of rows for one route.
pub(crate) struct RowsToHand {
    /// The rows, each as a change of its own, with its number.
    pub(crate) rows: Vec<(u64, ReadChange)>,
    pub(crate) mark: RowMark,
    /// The position after them.
    pub(crate) end: RowPlace,
}

impl Live {
    /// Takes the rows of a page that are for this route. All changes that precede them in order have been
    /// handed over, and no later change of their items has.
    pub(crate) fn feed_rows(&self, page: RowsToHand) {
        let mut backfill = self.backfill.lock();
        let Some(backfill) = backfill.as_mut().filter(|backfill| backfill.row.is_running()) else {
            return;
        };
        // If delivery is part of a transaction, progress is stored row by row.
        let is_by_row = matches!(self.door, Door::Enlist(_));
        let mut tracker = self.tracker.lock();
        if let RowMark::At(position) = &page.mark {
            for shard in &*position.shards {
                tracker.passed(shard, &position.sequence);
            }
        }
        for (number, read) in page.rows {
            if !self.takes(&read) {
                continue;
            }
            let sequence = numbered(number);
            if is_by_row {
                backfill.places.push_back(RowPlace {
                    rows: number,
                    after: Some(read.typed.change.keys.clone()),
                    layout: page.end.layout.clone(),
                    is_end: false,
                });
            }
            self.hand(Handed {
                ticket: tracker.sent(&backfill.line, &sequence, read.typed.change.at),
                destination: self.lanes.destination(&read.typed, read.key),
                lane: None,
                typed: read.typed,
                key: read.key,
                sequence,
                mark: Some(page.mark.clone()),
                bytes: read.bytes,
            });
        }
        tracker.passed(&backfill.line, &numbered(page.end.rows));
        if page.end.is_end {
            tracker.read(&backfill.line);
        }
        backfill.places.push_back(page.end);
        drop(tracker);
        self.moved.notify_one();
        if !self.has_room() {
            self.crowded.notify_one();
        }
    }

    /// Stores how far the backfill has come.
    pub(crate) async fn store_rows(
        &self,
        line: &ShardName,
        checkpoint: &ShardCheckpoint,
    ) -> Result<(), Error> {
        let Some(place) = self.place_at(line, checkpoint) else {
            return Ok(());
        };
        self.checkpoints.move_backfill(&place, self.clock.now()).await?;
        self.rows_stored(line, place);
        Ok(())
    }

    /// Stores it in a transaction.
    pub(crate) fn store_rows_with(
        &self,
        line: &ShardName,
        checkpoint: &ShardCheckpoint,
    ) -> Option<TransactWriteItem> {
        let to = self.place_at(line, checkpoint)?;
        let from = self.backfill.lock().as_ref()?.row.place.rows;
        Some(self.checkpoints.move_backfill_from(from, &to, self.clock.now()))
    }

    /// Whether it is stored, according to the row.
    pub(crate) async fn rows_are_stored(&self, line: &ShardName, checkpoint: &ShardCheckpoint) -> bool {
        let Some(place) = self.place_at(line, checkpoint) else {
            return false;
        };
        let stored = self.checkpoints.backfill().await;
        let is_at = |row: &BackfillRow| (row.place.rows, row.place.is_end) == (place.rows, place.is_end);
        stored.is_ok_and(|row| row.as_ref().is_some_and(is_at))
    }

    /// The walk through the rows restarts.
    pub(crate) fn forget_row_places(&self, layout: &str) {
        if let Some(backfill) = self.backfill.lock().as_mut() {
            backfill.forget_places(layout);
        }
    }

    /// The rows up to a checkpoint are stored.
    pub(crate) fn rows_passed(&self, line: &ShardName, checkpoint: &ShardCheckpoint) {
        if let Some(place) = self.place_at(line, checkpoint) {
            self.rows_stored(line, place);
        }
    }

    /// When the last backfill began, if it is done.
    pub(crate) fn done_backfill_began(&self) -> Option<Timestamp> {
        let backfill = self.backfill.lock();
        let row = &backfill.as_ref()?.row;
        (row.state == BackfillState::Done).then_some(row.began)
    }

    fn place_at(&self, line: &ShardName, checkpoint: &ShardCheckpoint) -> Option<RowPlace> {
        let backfill = self.backfill.lock();
        let backfill = backfill.as_ref().filter(|backfill| *backfill.line == *line)?;
        backfill.place(checkpoint).cloned()
    }

    fn rows_stored(&self, line: &ShardName, place: RowPlace) {
        let now = self.clock.now();
        if let Some(backfill) = self.backfill.lock().as_mut()
            && *backfill.line == *line
        {
            backfill.stored(place, now);
        }
        self.parked_bell.notify_one();
    }

    /// Whether the changes that a row contains will not be read again.
    pub(crate) fn has_passed_mark(&self, mark: &RowMark) -> bool {
        match mark {
            RowMark::At(position) => {
                let mut shards = position.shards.iter();
                shards.all(|shard| self.has_passed(shard, &position.sequence))
            }
            RowMark::Settled => true,
        }
    }

    /// Starts a backfill, or returns why it cannot start now.
    pub(crate) fn begin_backfill(&self, row: BackfillRow) -> Result<(), String> {
        let mut backfill = self.backfill.lock();
        if let Some(before) = &*backfill {
            if before.row.is_running() {
                let (rows, total) = (before.row.place.rows, before.row.total);
                return Err(format!(
                    "its backfill is running, {rows} of {total} rows are done; wait for it, or cancel it"
                ));
            }
            if !self.tracker.lock().is_idle(&before.line) {
                return Err(
                    "rows of its last backfill are still under way; try again in a moment".to_owned(),
                );
            }
        }
        *backfill = Some(LiveBackfill::new(row));
        Ok(())
    }

    /// Cancels the backfill: rows under way are delivered, others are not. `false` if none was running.
    pub(crate) fn cancel_backfill(&self, now: Timestamp) -> bool {
        let mut backfill = self.backfill.lock();
        let Some(backfill) = backfill.as_mut().filter(|backfill| backfill.row.is_running()) else {
            return false;
        };
        backfill.cancel(now);
        self.tracker.lock().read(&backfill.line);
        self.parked_bell.notify_one();
        true
    }
}
