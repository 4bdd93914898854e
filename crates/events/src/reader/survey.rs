//! Counts the records that a route has yet to read while it cannot read on, so that its lag is known. It reads what the
//! route will read later, at its own pace, and delivers nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::WeakUnboundedSender;
use tokio::sync::{Notify, oneshot};
use trestle_api::Error;
use trestle_env::Timestamp;

use super::page_reader::{PageReader, ShardPage};
use super::streams::Streams;
use super::walk::{ReadPoint, ShardWalk, read_points};
use super::{Command, Source};
use crate::live::{Live, Unread};

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
    pub(super) walk: ShardWalk,
    /// The iterators of its positions, as far as they are known.
    pub(super) pages: PageReader,
}

/// Counts for all routes of a table; those at the same position share what is read there.
pub(crate) struct LagSurvey {
    source: Source,
    table: Arc<str>,
    reader: WeakUnboundedSender<Command>,
    /// Rung when a route cannot read on, and when the reader is gone.
    bell: Arc<Notify>,
    streams: Streams,
    counts: Vec<Count>,
    pages: PageReader,
}

/// What has been counted for a route.
struct Count {
    live: Arc<Live>,
    walk: ShardWalk,
    unread: Unread,
    begun: Timestamp,
}

impl LagSurvey {
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
            pages: PageReader::default(),
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
                // The reader reports it too, if a route needs these records.
                tracing::debug!(table = %self.table, %error, "the unread records of the stream cannot be counted");
                // Records may have been trimmed or be gone: count again, from where the routes are then.
                self.pages.clear();
                self.counts.clear();
                self.bell.notify_one();
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
                    self.pages.join(route.pages);
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

    /// Reads a page at every position where a count read_points.
    async fn turn(&mut self) -> Result<(), Error> {
        let is_needed = |count: &Count| count.walk.has_ended_shard() || count.walk.is_at_end();
        let is_needed = self.counts.iter().any(is_needed);
        let database = &*self.source.database;
        self.streams.refresh(database, &self.table, is_needed).await?;
        for count in &mut self.counts {
            count.walk.advance(&self.streams);
            count.unread.is_complete = true;
        }
        let read_points = read_points(self.counts.iter().map(|count| &count.walk));
        self.pages.retain(&read_points);
        for (point, at) in read_points {
            self.read(&point, &at).await?;
        }
        for count in &self.counts {
            count.live.set_unread(Some(count.unread));
        }
        Ok(())
    }

    async fn read(&mut self, point: &ReadPoint, at: &[usize]) -> Result<(), Error> {
        let database = &*self.source.database;
        let (counted, next) = match self.pages.read(database, &self.streams, point).await? {
            ShardPage::Read { records, next } => (records.len(), next),
            ShardPage::Expired(position) => (0, position),
            ShardPage::Trimmed(error) | ShardPage::Gone(error) => return Err(error),
        };
        let is_at_the_end = counted == 0 && next == point.1;
        for at in at {
            if let Some(count) = self.counts.get_mut(*at) {
                count.unread.counted += counted as u64;
                count.unread.is_complete &= is_at_the_end;
                count.walk.move_to(&point.0, next.clone());
            }
        }
        Ok(())
    }
}
