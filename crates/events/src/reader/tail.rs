//! Shows what a route would take, without storing anything; no route or retention waits for it.

use std::sync::Arc;

use trestle_api::{Database, Error, Record};
use trestle_env::Timestamp;
use trestle_pattern::Template;

use super::page_reader::{PageReader, ShardPage};
use super::streams::Streams;
use super::walk::{LatestStart, ReadPoint, ShardPosition, ShardWalk};
use crate::matcher::{Matcher, Typed};
use crate::record;
use crate::tracker::ShardName;
use crate::{Delivery, Route, StartingPosition, Typer};

/// Reads what a route would take, from its starting position on. It stores no checkpoint: nothing remains
/// after it is dropped.
///
/// Changes of one item are in order: a shard is read when its parent has been read to the end, and a stream
/// when the previous one has.
pub struct Tail {
    database: Arc<dyn Database>,
    typer: Arc<dyn Typer>,
    table: Arc<str>,
    route: String,
    matcher: Matcher,
    template: Option<Arc<Template>>,
    /// Changes before this time are not shown.
    from: Timestamp,
    /// When it was created.
    begun: Timestamp,
    /// It has not read anything yet, and begins after the newest record.
    begins_latest: bool,
    streams: Streams,
    walk: ShardWalk,
    pages: PageReader,
    has_stream: bool,
    /// Results that were read and not returned yet: an error must not lose them.
    taken: Vec<Delivery>,
}

impl Tail {
    /// A tail of the changes that the route would take, or what is wrong with the route. `now` is the time of
    /// the database, as far as it is known.
    pub fn new(
        database: Arc<dyn Database>,
        typer: Arc<dyn Typer>,
        route: &Route,
        now: Timestamp,
    ) -> Result<Self, String> {
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
                StartingPosition::Latest | StartingPosition::TrimHorizon | StartingPosition::AllRows => {
                    Timestamp::EPOCH
                }
            },
            begun: now,
            // Rows are not changes: a tail shows the changes after them.
            begins_latest: matches!(
                route.starting_position,
                StartingPosition::Latest | StartingPosition::AllRows
            ),
            streams,
            walk: ShardWalk::default(),
            pages: PageReader::default(),
            has_stream: false,
            taken: Vec::new(),
        })
    }

    /// Whether the table had a stream to read when it was last described.
    #[must_use]
    pub fn has_stream(&self) -> bool {
        self.has_stream
    }

    /// The changes since the last call; empty if there are none now. The first call finds the start: later
    /// writes are shown. After an error, it can be called again without loss.
    pub async fn next(&mut self) -> Result<Vec<Delivery>, Error> {
        self.advance().await?;
        for point in self.walk.open() {
            self.read(&point).await?;
        }
        Ok(std::mem::take(&mut self.taken))
    }

    /// Reads a page, keeps the changes for the route, and moves on.
    async fn read(&mut self, point: &ReadPoint) -> Result<(), Error> {
        let shard = &point.0;
        let next = match self.pages.read(&*self.database, &self.streams, point).await? {
            ShardPage::Read { records, next } => {
                self.take(shard, records);
                next
            }
            ShardPage::Expired(position) => {
                if point.1 == ShardPosition::Latest {
                    // It is read from the trim horizon, where there are also changes from before the start.
                    self.from = self.from.max(self.begun);
                }
                position
            }
            ShardPage::Trimmed(_) => ShardPosition::TrimHorizon,
            ShardPage::Gone(_) => {
                self.streams.look_again();
                ShardPosition::End
            }
        };
        self.walk.move_to(shard, next);
        Ok(())
    }

    fn take(&mut self, shard: &ShardName, records: Vec<Record>) {
        for record in records {
            let change = record::change(record, &self.table, &shard.shard, &*self.typer);
            let typed = Arc::new(Typed::new(Arc::new(change)));
            if typed.change.at >= self.from && self.matcher.takes(&typed) {
                let delivery = Delivery::of(&self.route, &typed, 1, self.template.as_ref());
                self.taken.push(delivery);
            }
        }
    }

    /// Moves to the shards and streams that can be read next.
    async fn advance(&mut self) -> Result<(), Error> {
        let is_needed = !self.has_stream || self.walk.has_ended_shard() || self.walk.is_at_end();
        self.streams
            .refresh(&*self.database, &self.table, is_needed)
            .await?;
        if std::mem::take(&mut self.begins_latest)
            && let Some(start) = LatestStart::of(&self.streams)
        {
            self.walk.begin_latest(&start);
        }
        self.has_stream = self.walk.advance(&self.streams);
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
