//! A route's way through the streams and shards of its table.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;

use super::Spot;
use super::streams::{Shard, Stream, Streams};
use super::walk::Walk;
use crate::live::Live;
use crate::rows::Position;
use crate::tracker::{Mark, ShardName};

/// A route and where it is.
pub(crate) struct Follower {
    pub(crate) live: Arc<Live>,
    position: Position,
    /// It is new and begins behind the newest record.
    begins_latest: bool,
    stream: Option<Arc<str>>,
    spots: HashMap<Arc<ShardName>, Spot>,
    /// A shard has ended since the last look at what comes next.
    has_news: bool,
}

impl Follower {
    pub(crate) fn new(live: Arc<Live>, position: Position, begins_latest: bool) -> Self {
        Self {
            live,
            position,
            begins_latest,
            stream: None,
            spots: HashMap::new(),
            has_news: false,
        }
    }

    /// Changes before this time are not for the route.
    pub(super) fn from(&self) -> Timestamp {
        self.position.from
    }

    /// The stream it is in.
    pub(super) fn stream(&self) -> Option<&Arc<str>> {
        self.stream.as_ref()
    }

    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    /// The places where it waits for records.
    pub(super) fn spots(&self) -> impl Iterator<Item = (&Arc<ShardName>, &Spot)> {
        self.spots.iter().filter(|(_, spot)| **spot != Spot::End)
    }

    /// Whether there is something that it does not read yet: it has no room, or shards and streams wait until what comes
    /// before them is done.
    pub(super) fn is_held(&self, streams: &Streams) -> bool {
        let stream = self.stream.as_deref().and_then(|label| streams.get(label));
        let waits = |shard: &Shard| !self.spots.contains_key(&shard.name);
        let has_waiting = stream.is_some_and(|stream| stream.is_closed || stream.shards.iter().any(waits));
        !self.live.has_room() || self.has_news || has_waiting
    }

    /// The way on from where it is, for somebody else.
    pub(super) fn walk(&self) -> Walk {
        Walk::new(self.position.past.clone(), self.spots.clone())
    }

    pub(super) fn at_latest(&self) -> Vec<Arc<ShardName>> {
        let latest = self.spots.iter().filter(|(_, spot)| **spot == Spot::Latest);
        latest.map(|(shard, _)| Arc::clone(shard)).collect()
    }

    pub(super) fn is_at(&self, shard: &Arc<ShardName>, spot: &Spot) -> bool {
        self.spots.get(shard) == Some(spot)
    }

    pub(super) fn move_to(&mut self, shard: &Arc<ShardName>, spot: Spot) {
        self.has_news |= spot == Spot::End;
        self.spots.insert(Arc::clone(shard), spot);
    }

    /// Goes on to the shards and streams whose turn has come.
    pub(super) async fn go_on(&mut self, streams: &Streams) -> Result<(), Error> {
        if self.begins_latest {
            self.begin_latest(streams).await?;
        }
        loop {
            let past = self.position.past.as_deref();
            let Some(stream) = streams.after(past) else {
                self.stream = None;
                self.spots.clear();
                return Ok(());
            };
            self.enter(stream);
            if !self.is_through(stream) {
                return Ok(());
            }
            self.leave(stream).await?;
        }
    }

    /// Skips the streams before the newest, and of that one what is closed.
    async fn begin_latest(&mut self, streams: &Streams) -> Result<(), Error> {
        self.begins_latest = false;
        let Some(newest) = streams.newest() else {
            return Ok(());
        };
        let before = streams.before(newest);
        self.position.past = if newest.is_closed {
            Some(Arc::clone(&newest.label))
        } else {
            before.map(|stream| Arc::clone(&stream.label))
        };
        self.live.place.set_position(&self.position).await?;
        if let Some(past) = &self.position.past {
            self.live.close(past);
        }
        if newest.is_closed {
            return Ok(());
        }
        let ended = Mark {
            sequence: None,
            ended: true,
        };
        let (closed, open): (Vec<&Shard>, Vec<&Shard>) =
            newest.shards.iter().partition(|shard| shard.is_closed);
        let closed: Vec<_> = closed
            .iter()
            .map(|shard| (Arc::clone(&shard.name), ended.clone()))
            .collect();
        let marks = closed.iter().map(|(shard, mark)| (shard, mark));
        self.live.place.set_marks(marks).await?;
        self.live.stored(closed);
        for shard in open {
            self.live.open(&shard.name);
            self.spots.insert(Arc::clone(&shard.name), Spot::Latest);
        }
        Ok(())
    }

    /// Opens the shards of a stream whose parents are finished. A shard has its turn only when everything in its parent
    /// is done: after a crash, the parent might be read again and overtake what came later.
    fn enter(&mut self, stream: &Stream) {
        self.has_news = false;
        self.stream = Some(Arc::clone(&stream.label));
        // A stream whose records are all gone is gone itself, and need not have been finished.
        self.spots.retain(|shard, _| shard.stream == stream.label);
        for shard in &stream.shards {
            if self.spots.contains_key(&shard.name) {
                continue;
            }
            let is_finished = |parent: &Arc<ShardName>| self.live.has_finished(parent);
            if !shard.parent.as_ref().is_none_or(is_finished) {
                continue;
            }
            let mark = self.live.open(&shard.name);
            let spot = match mark.sequence {
                _ if mark.ended => Spot::End,
                Some(sequence) => Spot::After(sequence),
                None => Spot::Beginning,
            };
            self.spots.insert(Arc::clone(&shard.name), spot);
        }
    }

    fn is_through(&self, stream: &Stream) -> bool {
        stream.is_closed
            && stream
                .shards
                .iter()
                .all(|shard| self.live.has_finished(&shard.name))
    }

    /// Closes a stream that is through, durably.
    async fn leave(&mut self, stream: &Stream) -> Result<(), Error> {
        let past = Position {
            past: Some(Arc::clone(&stream.label)),
            ..self.position.clone()
        };
        self.live.place.set_position(&past).await?;
        self.live.place.forget_marks(&stream.label).await?;
        self.live.close(&stream.label);
        self.position = past;
        Ok(())
    }
}
