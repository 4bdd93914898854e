//! The keys of changed items, for a reader that reads the items themselves: a copy of a table, or a gateway
//! that looks for changes made without it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle_api::{Database, Error, Record};
use trestle_env::Timestamp;
use trestle_item::Item;

use super::page_reader::{PageReader, ShardPage};
use super::streams::Streams;
use super::walk::{LatestStart, ReadPoint, ShardPosition, ShardWalk};
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// Reads which items of a table have changed. It stores nothing: the caller can store its [`KeyPosition`] and
/// continue with another reader.
///
/// A key may be returned more than once, and keys of different shards are in no particular order. A read of
/// an item after its key was returned sees the change, or a later one, whose key is returned again.
pub struct ChangedKeys {
    database: Arc<dyn Database>,
    table: String,
    /// Changes before this time are skipped.
    from: Timestamp,
    streams: Streams,
    walk: ShardWalk,
    pages: PageReader,
    /// Results that were read and not returned yet: an error must not lose them.
    taken: KeyPage,
    /// Whether whole records are returned with their keys.
    gives_records: bool,
}

/// How far a reader has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPosition {
    /// Streams up to this one have been read.
    finished: Option<String>,
    shards: Vec<PositionInShard>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PositionInShard {
    stream: String,
    shard: String,
    at: ReadUpTo,
}

/// How far a shard has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReadUpTo {
    Nothing,
    Record(String),
    End,
}

/// The results since the previous page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyPage {
    /// The keys of items that changed.
    pub keys: Vec<Item>,
    /// The records of these keys, if requested.
    pub records: Vec<Record>,
    /// No unread records were found.
    pub is_all: bool,
    /// Changes up to this time are in this page or in earlier ones, according to the times of records; `None`
    /// if these are not known, or if no unread records were found.
    pub read_up_to: Option<Timestamp>,
    /// Records were trimmed before they were read: keys of changed items may be missing.
    pub has_gap: bool,
}

impl ChangedKeys {
    /// Begins now: writes after this returns are reported. `None` if the table has no enabled stream.
    pub async fn begin(database: Arc<dyn Database>, table: &str) -> Result<Option<Self>, Error> {
        let mut reader = Self::on(database, table, Timestamp::EPOCH);
        reader.look().await?;
        let Some(start) = LatestStart::of(&reader.streams).filter(|start| !start.open.is_empty()) else {
            return Ok(None);
        };
        reader.walk.begin_latest(&start);
        reader.walk.advance(&reader.streams);
        for point in reader.walk.open() {
            reader
                .pages
                .find(&*reader.database, &reader.streams, &point)
                .await?;
        }
        Ok(Some(reader))
    }

    /// Continues at a position. A shard of which nothing was read is read from its oldest record, without
    /// changes before `from`.
    #[must_use]
    pub fn resume(database: Arc<dyn Database>, table: &str, position: &KeyPosition, from: Timestamp) -> Self {
        let mut reader = Self::on(database, table, from);
        reader.walk = ShardWalk::after(position.finished.as_deref().map(Into::into));
        for shard in &position.shards {
            let name = Arc::new(ShardName {
                stream: shard.stream.as_str().into(),
                shard: shard.shard.as_str().into(),
            });
            let at = match &shard.at {
                ReadUpTo::Nothing => ShardPosition::TrimHorizon,
                ReadUpTo::Record(sequence) => ShardPosition::After(SequenceNumber::new(sequence)),
                ReadUpTo::End => ShardPosition::End,
            };
            reader.walk.move_to(&name, at);
        }
        reader
    }

    fn on(database: Arc<dyn Database>, table: &str, from: Timestamp) -> Self {
        let mut streams = Streams::default();
        streams.look_again();
        Self {
            database,
            table: table.to_owned(),
            from,
            streams,
            walk: ShardWalk::default(),
            pages: PageReader::default(),
            taken: KeyPage::default(),
            gives_records: false,
        }
    }

    /// Also returns whole records.
    #[must_use]
    pub fn with_records(mut self) -> Self {
        self.gives_records = true;
        self
    }

    /// The current position: everything before it has been returned, unless the last call of
    /// [`ChangedKeys::next`] failed.
    #[must_use]
    pub fn position(&self) -> KeyPosition {
        let shards = self.walk.positions().into_iter();
        KeyPosition {
            finished: self.walk.finished().map(ToString::to_string),
            shards: shards
                .map(|(shard, position)| PositionInShard {
                    stream: shard.stream.to_string(),
                    shard: shard.shard.to_string(),
                    at: match position {
                        ShardPosition::TrimHorizon | ShardPosition::Latest => ReadUpTo::Nothing,
                        ShardPosition::After(sequence) => ReadUpTo::Record(sequence.to_string()),
                        ShardPosition::End => ReadUpTo::End,
                    },
                })
                .collect(),
        }
    }

    /// Reads a page of every open shard. After an error, it can be called again without loss.
    pub async fn next(&mut self) -> Result<KeyPage, Error> {
        self.look().await?;
        let has_stream = self.walk.advance(&self.streams);
        self.taken.is_all = has_stream && !self.walk.has_waiting(&self.streams);
        let mut times = Vec::new();
        let mut is_known = !self.walk.has_waiting(&self.streams);
        for point in self.walk.open() {
            let (next, read_up_to) = self.read(&point).await?;
            self.walk.move_to(&point.0, next);
            match read_up_to {
                ReadTime::UpTo(time) => times.push(time),
                ReadTime::Everything => {}
                ReadTime::Unknown => is_known = false,
            }
        }
        self.taken.read_up_to = times.into_iter().min().filter(|_| is_known);
        Ok(std::mem::take(&mut self.taken))
    }

    async fn look(&mut self) -> Result<(), Error> {
        let is_needed = self.walk.has_ended_shard() || self.walk.is_at_end();
        self.streams
            .refresh(&*self.database, &self.table, is_needed)
            .await
    }

    /// Reads a page at a point; returns where the next one begins.
    async fn read(&mut self, point: &ReadPoint) -> Result<(ShardPosition, ReadTime), Error> {
        let read = self.pages.read(&*self.database, &self.streams, point).await?;
        self.taken.is_all &= matches!(&read, ShardPage::Read { records, next }
            if records.is_empty() && *next != ShardPosition::End);
        Ok(match read {
            ShardPage::Read { records, next } => {
                let time = match records.last().map(time_of) {
                    _ if next == ShardPosition::End => ReadTime::Unknown,
                    None => ReadTime::Everything,
                    Some(None) => ReadTime::Unknown,
                    Some(Some(time)) => ReadTime::UpTo(time),
                };
                self.take(records);
                (next, time)
            }
            ShardPage::Expired(position) => (position, ReadTime::Unknown),
            ShardPage::Trimmed(_) => {
                self.taken.has_gap = true;
                (ShardPosition::TrimHorizon, ReadTime::Unknown)
            }
            ShardPage::Gone(_) => {
                self.taken.has_gap = true;
                self.streams.look_again();
                (ShardPosition::End, ReadTime::Unknown)
            }
        })
    }

    fn take(&mut self, records: Vec<Record>) {
        let from = self.from;
        let is_wanted = |record: &Record| time_of(record).is_none_or(|at| at >= from);
        let wanted = records.into_iter().filter(is_wanted);
        for record in wanted {
            self.taken.keys.push(record.dynamodb.keys.clone());
            if self.gives_records {
                self.taken.records.push(record);
            }
        }
    }
}

/// The time up to which a shard was read.
enum ReadTime {
    UpTo(Timestamp),
    Everything,
    Unknown,
}

fn time_of(record: &Record) -> Option<Timestamp> {
    let at = record.dynamodb.approximate_creation_date_time?;
    Some(Timestamp::from_millis(at.to_millis()))
}

impl std::fmt::Debug for ChangedKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangedKeys")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
