//! A way through the streams and shards of a table for somebody who keeps no durable place: parents before their children,
//! a stream before the next.

use std::collections::HashMap;
use std::sync::Arc;

use super::Spot;
use super::streams::{Stream, Streams};
use crate::tracker::ShardName;

/// How far somebody has read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// Streams up to this one have been read.
    pub(super) past: Option<Arc<str>>,
    pub(super) spots: HashMap<Arc<ShardName>, Spot>,
    /// A shard has ended since the last look at what comes next.
    has_news: bool,
}

impl Walk {
    pub(super) fn new(past: Option<Arc<str>>, spots: HashMap<Arc<ShardName>, Spot>) -> Self {
        Self {
            past,
            spots,
            has_news: true,
        }
    }

    /// Begins behind the newest record: skips the streams before the newest, and of that one what is closed.
    pub(super) fn begin_latest(&mut self, streams: &Streams) {
        let Some(newest) = streams.newest() else {
            return;
        };
        self.past = streams.before(newest).map(|stream| Arc::clone(&stream.label));
        for shard in &newest.shards {
            let spot = if shard.is_closed { Spot::End } else { Spot::Latest };
            self.spots.insert(Arc::clone(&shard.name), spot);
        }
    }

    /// Whether it has to be looked up what comes next.
    pub(super) fn needs_shards(&mut self) -> bool {
        // Without an open shard, there must be another one soon, or the stream has been closed.
        let is_at_the_end = self.spots.values().all(|spot| *spot == Spot::End);
        std::mem::take(&mut self.has_news) || is_at_the_end
    }

    /// Goes on to the shards and streams whose turn has come; says whether there is a stream.
    pub(super) fn go_on(&mut self, streams: &Streams) -> bool {
        loop {
            let Some(stream) = streams.after(self.past.as_deref()) else {
                return false;
            };
            self.enter(stream);
            let is_read = |shard: &Arc<ShardName>| self.spots.get(shard) == Some(&Spot::End);
            if !stream.is_closed || !stream.shards.iter().all(|shard| is_read(&shard.name)) {
                return true;
            }
            self.spots.retain(|shard, _| shard.stream > stream.label);
            self.past = Some(Arc::clone(&stream.label));
        }
    }

    /// Opens the shards of a stream whose parents have been read.
    fn enter(&mut self, stream: &Stream) {
        for shard in &stream.shards {
            let is_read = |parent: &Arc<ShardName>| self.spots.get(parent) == Some(&Spot::End);
            if shard.parent.as_ref().is_none_or(is_read) && !self.spots.contains_key(&shard.name) {
                self.spots.insert(Arc::clone(&shard.name), Spot::Beginning);
            }
        }
    }

    /// Where there may be something to read, in a fixed order.
    pub(super) fn open(&self) -> Vec<(Arc<ShardName>, Spot)> {
        let open = self.spots.iter().filter(|(_, spot)| **spot != Spot::End);
        let mut open: Vec<_> = open
            .map(|(shard, spot)| (Arc::clone(shard), spot.clone()))
            .collect();
        open.sort_unstable();
        open
    }

    pub(super) fn move_to(&mut self, shard: &Arc<ShardName>, spot: Spot) {
        self.has_news |= spot == Spot::End;
        self.spots.insert(Arc::clone(shard), spot);
    }
}
