//! What a route would take, for somebody who only looks: nothing is stored, and nobody waits for them.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, GetRecords, GetRecordsOutput};
use trestle_env::Timestamp;
use trestle_pattern::Template;

use super::Spot;
use super::streams::Streams;
use super::walk::Walk;
use crate::matcher::{Matcher, Typed};
use crate::record;
use crate::sequence::Sequence;
use crate::tracker::ShardName;
use crate::{Delivery, Route, StartingPosition, Typer};

/// Reads what a route would take, from its starting position on. It keeps no place: dropped, it was never there.
///
/// Changes of one item come in order: a shard is read when its parent has been read to the end, and a stream when the one
/// before it has.
pub struct Tail {
    database: Arc<dyn Database>,
    typer: Arc<dyn Typer>,
    table: Arc<str>,
    route: String,
    matcher: Matcher,
    template: Option<Arc<Template>>,
    /// Changes before this time are not shown.
    from: Timestamp,
    /// It has not looked yet, and begins behind the newest record.
    begins_latest: bool,
    streams: Streams,
    walk: Walk,
    iterators: HashMap<Arc<ShardName>, String>,
    has_stream: bool,
    /// What was read and not given yet: a read that fails must not lose what was read before it.
    taken: Vec<Delivery>,
}

impl Tail {
    /// Shows what the route would take; or says what is wrong with the route.
    pub fn new(database: Arc<dyn Database>, typer: Arc<dyn Typer>, route: &Route) -> Result<Self, String> {
        let template = route.input.as_deref().map(Template::parse).transpose();
        let mut streams = Streams::default();
        streams.look_again();
        Ok(Self {
            database,
            typer,
            table: route.table.as_str().into(),
            route: route.name.clone(),
            matcher: Matcher::new(route)?,
            template: template
                .map_err(|error| format!("the input cannot be used: {error}"))?
                .map(Arc::new),
            from: match route.starting_position {
                StartingPosition::At(from) => from,
                StartingPosition::Latest | StartingPosition::TrimHorizon => Timestamp::EPOCH,
            },
            begins_latest: route.starting_position == StartingPosition::Latest,
            streams,
            walk: Walk::default(),
            iterators: HashMap::new(),
            has_stream: false,
            taken: Vec::new(),
        })
    }

    /// Whether the table had a stream to read when it was looked at last.
    #[must_use]
    pub fn has_stream(&self) -> bool {
        self.has_stream
    }

    /// What has come since the last call; nothing if there is nothing for now. The first call finds the beginning:
    /// whatever is written after it is shown. After an error it can be called again, and nothing is lost.
    pub async fn next(&mut self) -> Result<Vec<Delivery>, Error> {
        self.go_on().await?;
        for (shard, spot) in self.walk.open() {
            if let Some(page) = self.page(&shard, &spot).await? {
                self.take(&shard, spot, page);
            }
        }
        Ok(std::mem::take(&mut self.taken))
    }

    /// Keeps of a page what is for the route, and goes on behind it.
    fn take(&mut self, shard: &Arc<ShardName>, spot: Spot, page: GetRecordsOutput) {
        let last = page
            .records
            .last()
            .map(|last| Sequence::new(&last.dynamodb.sequence_number));
        for record in page.records {
            let change = record::change(record, &self.table, &shard.shard, &*self.typer);
            let typed = Arc::new(Typed::new(Arc::new(change)));
            if typed.change.at >= self.from && self.matcher.takes(&typed) {
                let delivery = Delivery::of(&self.route, &typed, 1, self.template.as_ref());
                self.taken.push(delivery);
            }
        }
        let next = match (&page.next_shard_iterator, last) {
            (None, _) => Spot::End,
            (Some(_), Some(last)) => Spot::After(last),
            (Some(_), None) => spot,
        };
        self.walk.move_to(shard, next);
        match page.next_shard_iterator {
            Some(next) => self.iterators.insert(Arc::clone(shard), next),
            None => self.iterators.remove(shard),
        };
    }

    /// The records at a place; `None` if it has to be looked for again.
    async fn page(&mut self, shard: &Arc<ShardName>, spot: &Spot) -> Result<Option<GetRecordsOutput>, Error> {
        let shard_iterator = match self.iterators.get(shard) {
            Some(iterator) => iterator.clone(),
            None => self.iterator(shard, spot).await?,
        };
        let request = GetRecords {
            shard_iterator,
            limit: None,
        };
        let answer = self.database.get_records(request).await;
        let Err(error) = answer else {
            return answer.map(Some);
        };
        self.iterators.remove(shard);
        match error.kind() {
            ErrorKind::ExpiredIterator => Ok(None),
            ErrorKind::TrimmedDataAccess => {
                self.walk.move_to(shard, Spot::Beginning);
                Ok(None)
            }
            ErrorKind::ResourceNotFound => {
                self.streams.look_again();
                self.walk.move_to(shard, Spot::End);
                Ok(None)
            }
            _ => Err(error),
        }
    }

    async fn iterator(&mut self, shard: &Arc<ShardName>, spot: &Spot) -> Result<String, Error> {
        let request = super::iterator_request(&self.streams, shard, spot);
        let answer = self.database.get_shard_iterator(request).await?;
        let iterator = answer.shard_iterator.unwrap_or_default();
        self.iterators.insert(Arc::clone(shard), iterator.clone());
        Ok(iterator)
    }

    /// Goes on to the shards and streams whose turn has come.
    async fn go_on(&mut self) -> Result<(), Error> {
        let needs_shards = self.walk.needs_shards();
        self.streams
            .refresh(&*self.database, &self.table, !self.has_stream, needs_shards)
            .await?;
        if std::mem::take(&mut self.begins_latest) {
            self.walk.begin_latest(&self.streams);
        }
        self.has_stream = self.walk.go_on(&self.streams);
        Ok(())
    }
}

impl std::fmt::Debug for Tail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tail")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
