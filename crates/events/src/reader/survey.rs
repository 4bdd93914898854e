//! Counts what lies in a stream behind the place of a route that stands still, so that its lag is known. It reads what the
//! route will read later, at a pace of its own, and hands nothing to anybody.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::WeakUnboundedSender;
use tokio::sync::{Notify, oneshot};
use trestle_api::{DatabaseExt, Error, ErrorKind, GetRecords, GetRecordsOutput};
use trestle_env::Timestamp;

use super::streams::Streams;
use super::walk::Walk;
use super::{Command, Source, Spot, iterator_request};
use crate::live::{Live, Unread};
use crate::sequence::Sequence;
use crate::tracker::ShardName;

/// Between two pages of a shard. Real time, because it is about the work of this machine and of the database.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks when everything has been counted.
const REST: Duration = Duration::from_millis(250);
/// A count that is older is made anew: the stream has dropped records that it counted.
const COUNT_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// A route that is not at the end of its stream.
pub(crate) struct Behind {
    pub(super) live: Arc<Live>,
    /// The records that have been read for it.
    pub(super) read: u64,
    /// It cannot read on for now.
    pub(super) is_held: bool,
    /// How far it has read.
    pub(super) walk: Walk,
    /// The ways on from there, as far as they are known.
    pub(super) iterators: Iterators,
}

/// Iterators by where they lead.
pub(super) type Iterators = HashMap<(Arc<ShardName>, Spot), String>;

/// Counts for all routes of a table; those at the same place share what is read there.
pub(crate) struct Survey {
    source: Source,
    table: Arc<str>,
    reader: WeakUnboundedSender<Command>,
    /// Rung when a route cannot read on, and when the reader is gone.
    bell: Arc<Notify>,
    streams: Streams,
    counts: Vec<Count>,
    iterators: Iterators,
}

/// What has been counted for a route.
struct Count {
    live: Arc<Live>,
    walk: Walk,
    unread: Unread,
    begun: Timestamp,
}

impl Survey {
    pub(crate) fn new(
        source: Source,
        table: Arc<str>,
        reader: WeakUnboundedSender<Command>,
        bell: Arc<Notify>,
    ) -> Self {
        let mut streams = Streams::default();
        streams.look_again();
        Self {
            source,
            table,
            reader,
            bell,
            streams,
            counts: Vec::new(),
            iterators: Iterators::new(),
        }
    }

    /// Counts until the reader is gone.
    pub(crate) async fn run(mut self) {
        loop {
            if self.counts.is_empty() {
                self.bell.notified().await;
            }
            let is_complete = self.counts.iter().all(|count| count.unread.is_complete);
            tokio::time::sleep(if is_complete { REST } else { PAUSE }).await;
            let Some(behind) = self.behind().await else {
                return;
            };
            self.begin(behind);
            if let Err(error) = self.turn().await {
                // The reader says it, too, if it concerns anybody.
                tracing::debug!(table = %self.table, %error, "what lies in the stream cannot be counted");
                self.iterators.clear();
            }
        }
    }

    async fn behind(&self) -> Option<Vec<Behind>> {
        let (answer, answered) = oneshot::channel();
        self.reader.upgrade()?.send(Command::Behind(answer)).ok()?;
        answered.await.ok()
    }

    /// Goes on counting for those that are still behind, and begins for those that cannot read on.
    fn begin(&mut self, behind: Vec<Behind>) {
        let now = self.source.clock.now();
        let mut counts = Vec::new();
        for route in behind {
            let at = self
                .counts
                .iter()
                .position(|count| Arc::ptr_eq(&count.live, &route.live));
            let count = at.map(|at| self.counts.swap_remove(at));
            let is_usable = |count: &Count| {
                let is_overtaken = count.unread.after(route.read).is_none();
                !is_overtaken && now.since(count.begun) < COUNT_AGE_MAX
            };
            match count.filter(is_usable) {
                Some(count) => counts.push(count),
                // It is being read as fast as it can be; a count would be late.
                None if !route.is_held => route.live.set_unread(None),
                None => {
                    self.iterators.extend(route.iterators);
                    counts.push(Count {
                        live: route.live,
                        walk: route.walk,
                        unread: Unread::since(route.read),
                        begun: now,
                    });
                }
            }
        }
        self.counts = counts;
    }

    /// Reads a page at every place where a count stands.
    async fn turn(&mut self) -> Result<(), Error> {
        let mut needs_shards = false;
        for count in &mut self.counts {
            needs_shards |= count.walk.needs_shards();
        }
        let database = &*self.source.database;
        self.streams
            .refresh(database, &self.table, false, needs_shards)
            .await?;
        let mut places: BTreeMap<(Arc<ShardName>, Spot), Vec<usize>> = BTreeMap::new();
        for (at, count) in self.counts.iter_mut().enumerate() {
            count.walk.go_on(&self.streams);
            count.unread.is_complete = true;
            for place in count.walk.open() {
                places.entry(place).or_default().push(at);
            }
        }
        self.iterators.retain(|place, _| places.contains_key(place));
        for (place, at) in places {
            self.read(place, &at).await?;
        }
        for count in &self.counts {
            count.live.set_unread(Some(count.unread));
        }
        Ok(())
    }

    async fn read(&mut self, place: (Arc<ShardName>, Spot), at: &[usize]) -> Result<(), Error> {
        let page = self.page(&place).await?;
        let (shard, spot) = place;
        let last = page.records.last();
        let next = match (&page.next_shard_iterator, last) {
            (None, _) => Spot::End,
            (Some(_), Some(last)) => Spot::After(Sequence::new(&last.dynamodb.sequence_number)),
            (Some(_), None) => spot,
        };
        let is_at_the_end = page.records.is_empty() && page.next_shard_iterator.is_some();
        for at in at {
            if let Some(count) = self.counts.get_mut(*at) {
                count.unread.counted += page.records.len() as u64;
                count.unread.is_complete &= is_at_the_end;
                count.walk.move_to(&shard, next.clone());
            }
        }
        self.iterators
            .extend(page.next_shard_iterator.map(|text| ((shard, next), text)));
        Ok(())
    }

    async fn page(&mut self, place: &(Arc<ShardName>, Spot)) -> Result<GetRecordsOutput, Error> {
        let shard_iterator = match self.iterators.remove(place) {
            Some(iterator) => iterator,
            None => {
                let request = iterator_request(&self.streams, &place.0, &place.1);
                let answer = self.source.database.get_shard_iterator(request).await?;
                answer.shard_iterator.unwrap_or_default()
            }
        };
        let request = GetRecords {
            shard_iterator,
            limit: None,
        };
        let page = self.source.database.get_records(request).await;
        if page
            .as_ref()
            .is_err_and(|error| error.kind() != ErrorKind::ExpiredIterator)
        {
            // What has been dropped or is gone: count again, from where the routes are then.
            self.counts.clear();
            self.bell.notify_one();
        }
        page
    }
}
