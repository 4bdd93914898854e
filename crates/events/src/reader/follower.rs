//! The progress of a route through the streams and shards of its table, with durable checkpoints.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;

use super::backfill::{BackfillWalk, Portion};
use super::page_reader::PageReader;
use super::streams::{Stream, Streams};
use super::walk::{LatestStart, ShardPosition, ShardProgress, ShardWalk, WalkStep};
use crate::Maintenance;
use crate::live::{Live, ReadChange};
use crate::rows::Checkpoint;
use crate::tracker::{ShardCheckpoint, ShardName};

/// A route and its position.
pub(crate) struct RouteFollower {
    pub(crate) live: Arc<Live>,
    /// Changes before this time are not for the route.
    pub(super) from: Timestamp,
    /// It is new and begins after the newest record.
    begins_latest: bool,
    pub(super) walk: ShardWalk,
    /// Its position among the rows, during a backfill.
    pub(super) backfill: Option<BackfillWalk>,
    /// The description of the streams after which missing shards were last checked.
    looks: u64,
}

/// A shard is read only when everything in its parent is durably done: otherwise the parent might be read
/// again after a crash, and its changes delivered after later ones.
impl ShardProgress for Live {
    fn is_finished(&self, shard: &ShardName, _: Option<&ShardPosition>) -> bool {
        self.has_finished(shard)
    }

    fn begin(&self, shard: &Arc<ShardName>) -> ShardPosition {
        let checkpoint = self.open(shard);
        match checkpoint.sequence {
            _ if checkpoint.ended => ShardPosition::End,
            Some(sequence) => ShardPosition::After(sequence),
            None => ShardPosition::TrimHorizon,
        }
    }
}

impl RouteFollower {
    pub(crate) fn new(
        live: Arc<Live>,
        checkpoint: Checkpoint,
        begins_latest: bool,
        backfill: Option<BackfillWalk>,
    ) -> Self {
        Self {
            live,
            from: checkpoint.from,
            begins_latest,
            walk: ShardWalk::after(checkpoint.finished),
            backfill,
            looks: 0,
        }
    }

    /// Whether it cannot read some records yet: it has no room, or shards and streams wait until earlier ones
    /// are done.
    pub(super) fn is_held(&self, streams: &Streams) -> bool {
        !self.live.has_room() || self.walk.has_ended_shard() || self.walk.has_waiting(streams)
    }

    /// Whether it can be given the next records of a shard.
    pub(super) fn may_read(&self, shard: &Arc<ShardName>) -> bool {
        self.live.has_room() && !self.backfill.as_ref().is_some_and(|walk| walk.stops(shard))
    }

    /// No more records were found in an open shard, by a request at the time `asked`.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, asked: Timestamp) {
        if let Some(backfill) = &mut self.backfill {
            backfill.found_nothing(shard, asked);
        }
    }

    /// Continues in a shard at another position.
    pub(super) fn jump(&mut self, shard: &Arc<ShardName>, to: ShardPosition) {
        if let Some(rows) = self.backfill.as_mut().and_then(BackfillWalk::scanned) {
            rows.lost_place(shard);
        }
        self.walk.move_to(shard, to);
    }

    /// Takes the changes read in a shard; while a page of rows is held, only those before it.
    pub(super) fn take(&mut self, shard: &Arc<ShardName>, changes: &[ReadChange], next: &ShardPosition) {
        let portion = match &mut self.backfill {
            Some(backfill) => backfill.portion(shard, changes, next),
            None => Portion {
                changes: changes.len(),
                next: next.clone(),
            },
        };
        let changes = changes.get(..portion.changes).unwrap_or(changes);
        self.tell_rows(shard, changes);
        let has_ended = portion.next == ShardPosition::End;
        self.live.feed(shard, changes, self.from, has_ended);
        self.walk.move_to(shard, portion.next);
    }

    /// Informs the rows that are held without a mark which changes the route is given.
    fn tell_rows(&mut self, shard: &Arc<ShardName>, changes: &[ReadChange]) {
        let Some(backfill) = &mut self.backfill else {
            return;
        };
        let has_begun_again = backfill.has_begun_again();
        let Some(rows) = backfill.scanned() else { return };
        let (live, from) = (&self.live, self.from);
        rows.given(shard, changes, |read| {
            read.typed.change.at >= from && live.takes(read)
        });
        let is_move = |read: &ReadChange| read.typed.change.maintenance == Some(Maintenance::Move);
        if !has_begun_again && changes.iter().any(is_move) {
            tracing::info!(route = %live.name, "a migration moves rows: the backfill begins again");
            backfill.begin_scan_again(live);
        }
    }

    /// When the next page of rows should be read, if there is one and the route has room.
    pub(super) fn rows_due(&self) -> Option<Timestamp> {
        let backfill = self.backfill.as_ref().filter(|_| self.live.has_room());
        backfill?.due()
    }

    /// Whether the positions after the newest record have been found, if the route begins there: changes
    /// after the rows were read must be found after them.
    pub(super) fn has_found_latest(&self, pages: &PageReader) -> bool {
        let open = self.walk.open();
        let mut latest = open.iter().filter(|(_, at)| *at == ShardPosition::Latest);
        latest.all(|point| pages.has(point))
    }

    /// Delays the next page of rows until this time.
    pub(super) fn postpone_rows(&mut self, until: Timestamp) {
        if let Some(backfill) = &mut self.backfill {
            backfill.postpone(until);
        }
    }

    /// Whether a page of rows is held, and everything that must precede it has been handed over. `looked` is
    /// when the streams were last described.
    pub(super) fn has_rows_to_hand(&mut self, streams: &Streams, looked: Timestamp) -> bool {
        let Some(backfill) = &mut self.backfill else {
            return false;
        };
        if self.walk.has_ended_shard() || self.walk.has_waiting(streams) {
            return false;
        }
        let open = self.walk.open();
        let Some(rows) = backfill.scanned() else {
            return backfill.is_at_mark(open.iter().map(|(shard, _)| shard));
        };
        rows.note_beyond(&open);
        let live = &self.live;
        let is_settled = rows.is_settled(&open, looked, |shard, sequence| live.has_passed(shard, sequence));
        is_settled && live.has_room()
    }

    /// Hands over a page of rows if it can be handed over now.
    pub(super) fn hand_rows(&mut self, streams: &Streams, looked: Timestamp) -> bool {
        if !self.has_rows_to_hand(streams, looked) {
            return false;
        }
        let Some(backfill) = &mut self.backfill else {
            return false;
        };
        let open = self.walk.open().into_iter().map(|(shard, _)| shard);
        let page = backfill.release(self.walk.last_stream(), open.collect());
        if backfill.has_ended() {
            self.backfill = None;
        }
        page.map(|page| self.live.feed_rows(page)).is_some()
    }

    /// Whether the streams must be described again before a page of rows can be handed over.
    pub(super) fn needs_look(&mut self, looked: Timestamp, now: Timestamp) -> bool {
        let rows = self.backfill.as_mut().and_then(BackfillWalk::scanned);
        rows.is_some_and(|rows| rows.needs_look(looked, now))
    }

    /// Moves to the shards and streams that can be read next.
    pub(super) async fn advance(&mut self, streams: &Streams) -> Result<(), Error> {
        if std::mem::take(&mut self.begins_latest)
            && let Some(start) = LatestStart::of(streams)
        {
            self.begin_latest(&start).await?;
        }
        if std::mem::replace(&mut self.looks, streams.looks()) != streams.looks() {
            self.note_gone(streams).await?;
        }
        while let WalkStep::Finished(stream) = self.walk.step(streams, &*self.live) {
            self.leave(stream).await?;
        }
        Ok(())
    }

    /// Shards that were removed before the route had finished them may have had records that it missed.
    async fn note_gone(&mut self, streams: &Streams) -> Result<(), Error> {
        for (shard, checkpoint) in self.live.unfinished() {
            if !streams.has(&shard) {
                if !self.live.gaps.has(&shard) {
                    self.live.note_gap(&shard, checkpoint.sequence.as_ref()).await?;
                }
                let ended = ShardCheckpoint {
                    ended: true,
                    ..checkpoint
                };
                // It cannot be read again, so its children and its parked changes need not wait.
                self.live
                    .checkpoints
                    .set_shards([(&shard, &ended)].into_iter())
                    .await?;
                self.walk.forget(&shard);
                self.live.stored(vec![(shard, ended)]);
            }
        }
        Ok(())
    }

    fn checkpoint(&self, finished: Option<Arc<str>>) -> Checkpoint {
        Checkpoint {
            from: self.from,
            finished,
        }
    }

    /// Skips what was written before the route was created. If this fails half way, the route begins at the
    /// oldest record: changes before `from` are not for it in any case.
    async fn begin_latest(&mut self, start: &LatestStart<'_>) -> Result<(), Error> {
        let live = &self.live;
        let checkpoint = self.checkpoint(start.finished.clone());
        live.checkpoints.set(&checkpoint).await?;
        if let Some(finished) = &start.finished {
            live.close(finished);
        }
        let ended = ShardCheckpoint {
            sequence: None,
            ended: true,
        };
        let closed: Vec<_> = start
            .closed
            .iter()
            .map(|shard| (Arc::clone(&shard.name), ended.clone()))
            .collect();
        // Open shards are stored, too: if one is removed before anything was read of it, that is a gap.
        let begun = ShardCheckpoint::default();
        let open = start.open.iter().map(|shard| (&shard.name, &begun));
        let shards = closed.iter().map(|(shard, checkpoint)| (shard, checkpoint));
        live.checkpoints.set_shards(shards.chain(open)).await?;
        live.stored(closed);
        for shard in &start.open {
            live.open(&shard.name);
        }
        self.walk.begin_latest(start);
        Ok(())
    }

    /// Closes a finished stream, durably.
    async fn leave(&mut self, stream: &Stream) -> Result<(), Error> {
        let finished = Some(Arc::clone(&stream.label));
        let checkpoints = &self.live.checkpoints;
        checkpoints.set(&self.checkpoint(finished)).await?;
        checkpoints.forget_shards(&stream.label).await?;
        self.live.close(&stream.label);
        self.walk.leave(stream);
        Ok(())
    }
}
