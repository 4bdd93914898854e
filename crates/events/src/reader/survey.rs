//! Counts the records that a route has yet to read while it cannot continue, so that its lag is known. It
//! reads the same records as the route will later, at its own pace, and delivers nothing.

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

/// The pause between two pages of a shard. Real time, because it limits the work of this machine and of the
/// database.
const PAUSE: Duration = Duration::from_millis(50);
/// The pause when everything has been counted.
const REST: Duration = Duration::from_millis(250);
/// An older count is repeated: the stream has trimmed records that it counted.
const COUNT_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// A route that is not at the end of its stream.
pub(crate) struct Behind {
    pub(super) live: Arc<Live>,
    /// The number of records that have been read for it.
    pub(super) read: u64,
    /// It cannot continue at the moment.
    pub(super) is_held: bool,
    /// How far it has read.
    pub(super) walk: ShardWalk,
    /// The known iterators of its positions.
    pub(super) pages: PageReader,
}

/// Counts for all routes of a table; routes at the same position share the page that is read there.
pub(crate) struct LagSurvey {
    source: Source,
    table: Arc<str>,
    reader: WeakUnboundedSender<Command>,
    /// Rung when a route cannot continue, and when the reader ends.
    bell: Arc<Notify>,
    streams: Streams,
    counts: Vec<Count>,
    pages: PageReader,
}

/// The count for a route.
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

    /// Counts until the reader ends.
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
                // Records may have been trimmed or removed: count again, from the current positions of the
                // routes.
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

    /// Continues to count for routes that are still behind, and starts for those that cannot continue.
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
                // It reads as fast as it can; a count would be outdated.
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

    /// Reads a page at every position of a count.
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
