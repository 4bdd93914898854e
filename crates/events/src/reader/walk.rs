//! The order of reading the streams and shards of a table: a stream before the next, parents before their
//! children.
//!
//! It does not read the database: [`Streams`] has the shards, and [`ShardProgress`] knows which of them are
//! finished. The delivering reader, the survey of lag and the tail all use it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::streams::{Shard, Stream, Streams};
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// The position of a reader in a shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ShardPosition {
    /// At the oldest remaining record.
    TrimHorizon,
    /// After the newest record at the time of the first read.
    Latest,
    /// After this record.
    After(SequenceNumber),
    /// At the end of a closed shard.
    End,
}

/// A shard and the position in it.
pub(super) type ReadPoint = (Arc<ShardName>, ShardPosition);

/// What a walk needs to know from its reader.
pub(super) trait ShardProgress {
    /// Whether everything in a shard is done, so that its children may be read.
    fn is_finished(&self, shard: &ShardName, position: Option<&ShardPosition>) -> bool;

    /// Where to begin to read a shard.
    fn begin(&self, shard: &Arc<ShardName>) -> ShardPosition;
}

/// A reader without checkpoints: a shard is finished when it has been read, and begins at its oldest record.
pub(super) struct WithoutCheckpoints;

impl ShardProgress for WithoutCheckpoints {
    fn is_finished(&self, _: &ShardName, position: Option<&ShardPosition>) -> bool {
        position == Some(&ShardPosition::End)
    }

    fn begin(&self, _: &Arc<ShardName>) -> ShardPosition {
        ShardPosition::TrimHorizon
    }
}

/// How far a reader has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardWalk {
    /// Streams up to this one are finished.
    finished: Option<Arc<str>>,
    /// The stream that is being read; all positions are in it.
    stream: Option<Arc<str>>,
    positions: HashMap<Arc<ShardName>, ShardPosition>,
    /// A shard has ended since the last step.
    has_ended_shard: bool,
}

/// The result of a step.
pub(super) enum WalkStep<'s> {
    /// There is no stream to read.
    NoStream,
    /// The open shards can be read.
    Reading,
    /// This stream is finished: [`ShardWalk::leave`] it, then take another step.
    Finished(&'s Stream),
}

/// The start for a reader that wants only changes from now on.
pub(super) struct LatestStart<'s> {
    /// Streams up to this one are skipped.
    pub(super) finished: Option<Arc<str>>,
    /// Closed shards of the stream after it, which are skipped too.
    pub(super) closed: Vec<&'s Shard>,
    /// Its open shards.
    pub(super) open: Vec<&'s Shard>,
}

impl<'s> LatestStart<'s> {
    /// The end of the newest stream; `None` without a stream.
    pub(super) fn of(streams: &'s Streams) -> Option<Self> {
        let newest = streams.newest()?;
        if newest.is_closed {
            return Some(Self {
                finished: Some(Arc::clone(&newest.label)),
                closed: Vec::new(),
                open: Vec::new(),
            });
        }
        let (closed, open) = newest.shards.iter().partition(|shard| shard.is_closed);
        Some(Self {
            finished: streams.before(newest).map(|stream| Arc::clone(&stream.label)),
            closed,
            open,
        })
    }
}

impl ShardWalk {
    /// Begins after the streams up to `finished`.
    pub(super) fn after(finished: Option<Arc<str>>) -> Self {
        Self {
            finished,
            ..Self::default()
        }
    }

    /// Begins at the end of the newest stream.
    pub(super) fn begin_latest(&mut self, start: &LatestStart<'_>) {
        self.finished.clone_from(&start.finished);
        for shard in &start.closed {
            self.move_to(&shard.name, ShardPosition::End);
        }
        for shard in &start.open {
            self.move_to(&shard.name, ShardPosition::Latest);
        }
    }

    /// The same walk for another reader, which advances separately.
    pub(super) fn fork(&self) -> Self {
        Self {
            has_ended_shard: true,
            ..self.clone()
        }
    }

    /// The stream that is being read.
    pub(super) fn stream(&self) -> Option<&Arc<str>> {
        self.stream.as_ref()
    }

    /// The stream that is being read, or the last that is finished.
    pub(super) fn last_stream(&self) -> Option<Arc<str>> {
        self.stream.clone().or_else(|| self.finished.clone())
    }

    /// Whether a shard has ended since the last step: there may be children, or the stream may be closed.
    pub(super) fn has_ended_shard(&self) -> bool {
        self.has_ended_shard
    }

    /// Whether every shard that was begun has been read to its end.
    pub(super) fn is_at_end(&self) -> bool {
        self.positions
            .values()
            .all(|position| *position == ShardPosition::End)
    }

    /// Whether there are more than the open shards: children whose parents are not finished, or a later
    /// stream.
    pub(super) fn has_waiting(&self, streams: &Streams) -> bool {
        let stream = self.stream.as_deref().and_then(|label| streams.get(label));
        let is_waiting = |shard: &Shard| !self.positions.contains_key(&shard.name);
        stream.is_some_and(|stream| stream.is_closed || stream.shards.iter().any(is_waiting))
    }

    /// The positions in open shards, in a fixed order.
    pub(super) fn open(&self) -> Vec<ReadPoint> {
        let open = self
            .positions
            .iter()
            .filter(|(_, position)| **position != ShardPosition::End);
        let mut open: Vec<_> = open
            .map(|(shard, position)| (Arc::clone(shard), position.clone()))
            .collect();
        open.sort_unstable();
        open
    }

    pub(super) fn is_at(&self, shard: &Arc<ShardName>, position: &ShardPosition) -> bool {
        self.positions.get(shard) == Some(position)
    }

    pub(super) fn move_to(&mut self, shard: &Arc<ShardName>, position: ShardPosition) {
        self.has_ended_shard |= position == ShardPosition::End;
        self.positions.insert(Arc::clone(shard), position);
    }

    /// Stops reading a shard that was removed.
    pub(super) fn forget(&mut self, shard: &Arc<ShardName>) {
        self.positions.remove(shard);
    }

    /// Opens the shards that can be read next in the first unfinished stream.
    pub(super) fn step<'s>(&mut self, streams: &'s Streams, progress: &impl ShardProgress) -> WalkStep<'s> {
        let Some(stream) = streams.after(self.finished.as_deref()) else {
            self.stream = None;
            self.positions.clear();
            return WalkStep::NoStream;
        };
        self.enter(stream, progress);
        let is_finished = |shard: &Shard| progress.is_finished(&shard.name, self.positions.get(&shard.name));
        if stream.is_closed && stream.shards.iter().all(is_finished) {
            return WalkStep::Finished(stream);
        }
        WalkStep::Reading
    }

    /// Opens the shards of a stream whose parents are finished.
    fn enter(&mut self, stream: &Stream, progress: &impl ShardProgress) {
        self.has_ended_shard = false;
        self.stream = Some(Arc::clone(&stream.label));
        // A stream whose records have all been trimmed does not exist any more, finished or not.
        self.positions.retain(|shard, _| shard.stream == stream.label);
        for shard in &stream.shards {
            let is_finished =
                |parent: &Arc<ShardName>| progress.is_finished(parent, self.positions.get(parent));
            let has_turn = shard.parent.as_ref().is_none_or(is_finished);
            if has_turn && !self.positions.contains_key(&shard.name) {
                let position = progress.begin(&shard.name);
                self.positions.insert(Arc::clone(&shard.name), position);
            }
        }
    }

    /// Moves past a finished stream.
    pub(super) fn leave(&mut self, stream: &Stream) {
        self.finished = Some(Arc::clone(&stream.label));
    }

    /// Streams up to this one are finished.
    pub(super) fn finished(&self) -> Option<&Arc<str>> {
        self.finished.as_ref()
    }

    /// Every position, also in shards that were read to their end, in a fixed order.
    pub(super) fn positions(&self) -> Vec<ReadPoint> {
        let positions = self.positions.iter();
        let mut positions: Vec<_> = positions
            .map(|(shard, position)| (Arc::clone(shard), position.clone()))
            .collect();
        positions.sort_unstable();
        positions
    }

    /// Takes steps until there is something to read, for a reader without checkpoints; returns whether there
    /// is a stream.
    pub(super) fn advance(&mut self, streams: &Streams) -> bool {
        loop {
            match self.step(streams, &WithoutCheckpoints) {
                WalkStep::NoStream => return false,
                WalkStep::Reading => return true,
                WalkStep::Finished(stream) => self.leave(stream),
            }
        }
    }
}

/// The positions in open shards of several walks, with the numbers of the walks that are there: walks at the
/// same position share the page that is read.
pub(super) fn read_points<'w>(walks: impl Iterator<Item = &'w ShardWalk>) -> BTreeMap<ReadPoint, Vec<usize>> {
    let mut read_points: BTreeMap<ReadPoint, Vec<usize>> = BTreeMap::new();
    for (number, walk) in walks.enumerate() {
        for point in walk.open() {
            read_points.entry(point).or_default().push(number);
        }
    }
    read_points
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
