//! One reader for all routes of a table. It walks the table's streams, oldest first, and their shards, parents first,
//! reads and types each record once, and hands it to every route that is there.
//!
//! Each route has its own place. Routes at the same place share what is read there; a route without room stays where it
//! is, alone, and catches up when it has room again. So a slow route costs the others nothing.

mod follower;
mod streams;
mod survey;
mod tail;
mod walk;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use trestle_api::{Database, DatabaseExt, Error, ErrorKind, GetRecords, GetShardIterator, ShardIteratorType};
use trestle_env::{Alarm, Clock, Signal};

use crate::Typer;
use crate::live::{ReadChange, Reading};
use crate::record;
use crate::sequence::Sequence;
use crate::tracker::ShardName;

pub(crate) use follower::Follower;
use streams::Streams;
pub(crate) use survey::Survey;
use survey::{Behind, Iterators};
pub use tail::Tail;

/// What a reader needs.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Rings when there may be something to read.
    pub(crate) bell: Option<Arc<Signal>>,
    pub(crate) typer: Arc<dyn Typer>,
    /// How long to wait before looking again without having been told.
    pub(crate) poll: Duration,
}

/// What a reader is told.
pub(crate) enum Command {
    /// A route comes; it is told when its place has been found.
    Attach(Follower, oneshot::Sender<()>),
    /// A route goes; it gets nothing more once this is answered.
    Detach(Arc<str>, oneshot::Sender<()>),
    /// Asks which routes are not at the end.
    Behind(oneshot::Sender<Vec<Behind>>),
}

/// Where a route stands in a shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Spot {
    /// At the oldest record.
    Beginning,
    /// After the newest, as of when it came.
    Latest,
    /// Behind this record.
    After(Sequence),
    /// At the end of a shard that was closed.
    End,
}

/// Reads one table for all its routes until nobody can send commands any more.
pub(crate) struct Reader {
    source: Source,
    table: Arc<str>,
    followers: Vec<Follower>,
    streams: Streams,
    /// Iterators by where they lead. A missing one is asked for again.
    iterators: Iterators,
    bell: Arc<Notify>,
    /// Rung when a route is held, so that somebody counts what it leaves unread.
    survey_bell: Arc<Notify>,
}

/// What a round came to.
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
            iterators: HashMap::new(),
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
                // Room for others on this thread, and for commands.
                Round::Some => {
                    tokio::task::yield_now().await;
                    match commands.try_recv() {
                        Err(mpsc::error::TryRecvError::Empty) => continue,
                        received => received.ok(),
                    }
                }
                Round::None => {
                    let poll = self.source.clock.now().plus(self.source.poll);
                    tokio::select! {
                        command = commands.recv() => command,
                        () = rung(self.source.bell.as_deref(), rings) => continue,
                        () = self.bell.notified() => continue,
                        _ = alarm.until(poll) => {
                            self.streams.look_again();
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

    /// The routes that are not at the end, and where they are.
    fn behind(&self) -> Vec<Behind> {
        let is_behind = |follower: &&Follower| follower.live.reading() == Reading::Behind;
        let behind = |follower: &Follower| Behind {
            live: Arc::clone(&follower.live),
            read: follower.live.read_count(),
            is_held: follower.is_held(&self.streams),
            walk: follower.walk(),
            iterators: self
                .iterators
                .iter()
                .filter(|((shard, spot), _)| follower.is_at(shard, spot))
                .map(|(place, iterator)| (place.clone(), iterator.clone()))
                .collect(),
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

    async fn attach(&mut self, follower: Follower, found: oneshot::Sender<()>) {
        self.followers.push(follower);
        self.streams.look_again();
        if let Err(error) = self.settle_places().await {
            self.failed(&error);
        }
        // A new route begins behind the newest record: that place must be known before the next write.
        let latest: Vec<_> = self.followers.last().map(Follower::at_latest).unwrap_or_default();
        for shard in latest {
            if let Err(error) = self.iterator(&shard, &Spot::Latest).await {
                self.failed(&error);
            }
        }
        let _ = found.send(());
    }

    /// Reads a page of every shard at every place where a route waits.
    async fn round(&mut self) -> Result<Round, Error> {
        self.settle_places().await?;
        let mut places: BTreeMap<(Arc<ShardName>, Spot), Vec<usize>> = BTreeMap::new();
        for (at, follower) in self.followers.iter().enumerate() {
            for (shard, spot) in follower.spots() {
                places
                    .entry((Arc::clone(shard), spot.clone()))
                    .or_default()
                    .push(at);
            }
        }
        self.iterators.retain(|place, _| places.contains_key(place));
        let mut round = Round::None;
        let mut has_read = vec![false; self.followers.len()];
        for ((shard, spot), mut at) in places {
            at.retain(|at| {
                self.followers
                    .get(*at)
                    .is_some_and(|follower| follower.live.has_room())
            });
            if !at.is_empty() && self.read(&shard, &spot, &at).await? == Round::Some {
                round = Round::Some;
                for at in at {
                    if let Some(has_read) = has_read.get_mut(at) {
                        *has_read = true;
                    }
                }
            }
        }
        for (follower, has_read) in self.followers.iter().zip(has_read) {
            follower.live.set_reading(if follower.stream().is_none() {
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

    /// Lets every route go on to the shards and streams whose turn has come.
    async fn settle_places(&mut self) -> Result<(), Error> {
        let needs_streams = self.followers.iter().any(|follower| follower.stream().is_none());
        let needs_shards = self.followers.iter().any(Follower::has_news);
        let (database, table) = (&*self.source.database, &*self.table);
        self.streams
            .refresh(database, table, needs_streams, needs_shards)
            .await?;
        for follower in &mut self.followers {
            follower.go_on(&self.streams).await?;
        }
        Ok(())
    }

    /// Reads a page and hands it to the routes that wait there.
    async fn read(&mut self, shard: &Arc<ShardName>, spot: &Spot, at: &[usize]) -> Result<Round, Error> {
        let Some(page) = self.page(shard, spot).await? else {
            return Ok(Round::Some); // The place has changed.
        };
        let has_ended = page.next_shard_iterator.is_none();
        if page.records.is_empty() && !has_ended {
            let place = (Arc::clone(shard), spot.clone());
            self.iterators
                .extend(page.next_shard_iterator.map(|next| (place, next)));
            return Ok(Round::None);
        }
        let typer = &*self.source.typer;
        let changes: Vec<ReadChange> = page
            .records
            .into_iter()
            .map(|record| {
                let bytes = usize::try_from(record.dynamodb.size_bytes).unwrap_or_default();
                ReadChange::new(record::change(record, &self.table, &shard.shard, typer), bytes)
            })
            .collect();
        let next = match (has_ended, changes.last()) {
            (true, _) => Spot::End,
            (false, Some(last)) => Spot::After(last.sequence.clone()),
            (false, None) => spot.clone(),
        };
        for at in at {
            if let Some(follower) = self.followers.get_mut(*at) {
                follower.live.feed(shard, &changes, follower.from(), has_ended);
                follower.move_to(shard, next.clone());
            }
        }
        let place = (Arc::clone(shard), next);
        self.iterators
            .extend(page.next_shard_iterator.map(|next| (place, next)));
        Ok(Round::Some)
    }

    /// The records at a place; `None` if the routes there had to be moved to another.
    async fn page(
        &mut self,
        shard: &Arc<ShardName>,
        spot: &Spot,
    ) -> Result<Option<trestle_api::GetRecordsOutput>, Error> {
        let answer = match self.iterator(shard, spot).await {
            Ok(shard_iterator) => {
                let request = GetRecords {
                    shard_iterator,
                    limit: None,
                };
                self.source.database.get_records(request).await
            }
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(page) => return Ok(Some(page)),
            Err(error) => error,
        };
        self.iterators.remove(&(Arc::clone(shard), spot.clone()));
        match (error.kind(), spot) {
            (ErrorKind::ExpiredIterator, Spot::After(_) | Spot::Beginning) => Ok(None),
            // Nothing was read since the route came: everything from then on is still to be found from the beginning.
            (ErrorKind::ExpiredIterator, Spot::Latest) => {
                self.move_all(shard, spot, &Spot::Beginning);
                Ok(None)
            }
            (ErrorKind::TrimmedDataAccess, _) => {
                self.failed(&error);
                self.move_all(shard, spot, &Spot::Beginning);
                Ok(None)
            }
            (ErrorKind::ResourceNotFound, _) => {
                self.streams.look_again();
                Err(error)
            }
            _ => Err(error),
        }
    }

    fn move_all(&mut self, shard: &Arc<ShardName>, from: &Spot, to: &Spot) {
        for follower in &mut self.followers {
            if follower.is_at(shard, from) {
                follower.move_to(shard, to.clone());
            }
        }
    }

    async fn iterator(&mut self, shard: &Arc<ShardName>, spot: &Spot) -> Result<String, Error> {
        let place = (Arc::clone(shard), spot.clone());
        if let Some(iterator) = self.iterators.get(&place) {
            return Ok(iterator.clone());
        }
        let request = iterator_request(&self.streams, shard, spot);
        let answer = self.source.database.get_shard_iterator(request).await?;
        let iterator = answer.shard_iterator.unwrap_or_default();
        self.iterators.insert(place, iterator.clone());
        Ok(iterator)
    }
}

/// Asks for the way to a place.
fn iterator_request(streams: &Streams, shard: &ShardName, spot: &Spot) -> GetShardIterator {
    let (shard_iterator_type, sequence) = match spot {
        Spot::Latest => (ShardIteratorType::Latest, None),
        Spot::After(sequence) => (ShardIteratorType::AfterSequenceNumber, Some(sequence)),
        Spot::Beginning | Spot::End => (ShardIteratorType::TrimHorizon, None),
    };
    GetShardIterator {
        stream_arn: streams.arn(&shard.stream).unwrap_or_default().to_owned(),
        shard_id: shard.shard.to_string(),
        shard_iterator_type,
        sequence_number: sequence.map(ToString::to_string),
        timestamp: None,
    }
}

/// Ends when the bell has rung since `seen`; without a bell, never.
async fn rung(bell: Option<&Signal>, seen: Option<u64>) {
    match bell.zip(seen) {
        Some((bell, seen)) => {
            bell.rung(seen).await;
        }
        None => std::future::pending().await,
    }
}
