//! The design of the document: rows lie in shards, an index finds those of a shard that are behind, and each is raised to
//! the desired version by a message of its own. The write makes the stream fire, and the stream feeds the pipelines.
//!
//! script → one message for each shard → creator → one message for each row → processor → row → stream → pipelines

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle::queue::{Job, NewMessage};
use trestle::typed::Held as _;

use crate::model::{NewShard, Record, RecordKey, RunDesign, Shard, ShardKey};
use crate::source::Source;
use crate::{Catalogue, Error, Result};

/// Records in a shard, about.
pub(crate) const SHARD_SIZE: u64 = 1_500;
/// The queue of shards, and how often a message is tried.
pub(crate) const SHARD_QUEUE: (&str, u32) = ("reindex-shards", 50);
/// The queue of rows, and how often a message is tried.
pub(crate) const REQUEST_QUEUE: (&str, u32) = ("reindex-requests", 3);
/// Shards that are queried at once.
pub(crate) const SHARDS_AT_ONCE: usize = 3;
/// Rows that are written at once.
pub(crate) const ROWS_AT_ONCE: usize = 100;

/// How many shards a source has, and which of them a record lies in.
#[derive(Clone, Copy, Debug)]
pub struct Shards {
    shard_size: u64,
}

/// A shard is to be brought to a version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardRequest {
    /// The shard.
    pub shard_id: String,
    /// The version.
    pub desired_version: i64,
}

/// A row is to be brought to a version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowRequest {
    /// The record.
    pub id: String,
    /// The version.
    pub desired_version: i64,
}

impl Shards {
    /// Shards of about so many records.
    #[must_use]
    pub fn new(shard_size: u64) -> Self {
        Self {
            shard_size: shard_size.max(1),
        }
    }

    /// How many shards a source has. Its size is a setting, so that the shard of a row does not change with every insert.
    #[must_use]
    pub fn count(&self, source: Source) -> u64 {
        let records: u64 = match source {
            Source::Sierra => 5_000_000,
            Source::Miro => 250_000,
            Source::Mets => 500_000,
            Source::Calm => 500_000,
            Source::Tei => 10_000,
        };
        records.div_ceil(self.shard_size)
    }

    /// The shard of a record: the code points of its id, written one after another as one decimal number, modulo the
    /// number of shards.
    #[must_use]
    pub fn of(&self, source: Source, id: &str) -> String {
        let count = u128::from(self.count(source));
        let digits = id.chars().flat_map(|c| u32::from(c).to_string().into_bytes());
        let number = digits.fold(0, |number, digit| {
            (number * 10 + u128::from(digit - b'0')) % count
        });
        format!("{source}/{number}")
    }
}

impl Catalogue {
    /// Sees to it that the shard of a row is tracked.
    pub(crate) async fn note_shard(&self, row: &Record) -> Result<()> {
        if let Some(shard_id) = row.reindex_shard.clone()
            && self.db.shard(&shard_id).await?.is_none()
        {
            let shard = Shard::from(NewShard { shard_id });
            self.db.put(&shard).if_not_exists().await.held()?;
        }
        Ok(())
    }

    /// Moves rows to the shards that the present shard size gives them, and forgets the shards that it does not have. Says
    /// how many rows moved. Rows keep their version: for pipelines, nothing has changed.
    pub async fn reshard(&self) -> Result<usize> {
        let (mut moved, mut after) = (0, None);
        loop {
            let page = self.db.all_records().consistent().continued(after).page().await?;
            for row in &page.rows {
                moved += usize::from(self.assign(row).await?);
            }
            after = page.next.map(|bookmark| bookmark.to_string());
            if after.is_none() {
                break;
            }
        }
        for shard in self.db.shards().collect().await? {
            let (source, number) = shard.shard_id.split_once('/').unwrap_or_default();
            let source: Option<Source> = source.parse().ok();
            let count = source.map_or(0, |source| self.shards.count(source));
            if number.parse().is_ok_and(|number: u64| number >= count) {
                self.db.delete(ShardKey::new(&shard.shard_id)).await?;
            }
        }
        Ok(moved)
    }

    async fn assign(&self, row: &Record) -> Result<bool> {
        let shard = self.shards.of(row.source_name, &row.id);
        if row.reindex_shard.as_ref() == Some(&shard) && row.reindex_version.is_some() {
            return Ok(false);
        }
        let update = self
            .db
            .update_record(RecordKey::new(&row.id))
            .set_reindex_shard(&shard);
        // A row without a version would not be in the index.
        let update = update.set_reindex_version(row.reindex_version.unwrap_or(0));
        let as_seen = match row.reindex_version {
            Some(version) => update.only_if(Record::REINDEX_VERSION.equals(version)),
            None => update.only_if(Record::REINDEX_VERSION.is_absent()),
        };
        let moved = as_seen.await.held()?;
        if let Some(row) = &moved {
            self.note_shard(row).await?;
        }
        Ok(moved.is_some())
    }

    /// Asks for every shard of a source to be brought to a version.
    pub(crate) async fn start_shards(
        &self,
        job: &str,
        source: Source,
        desired: Option<i64>,
    ) -> Result<String> {
        let desired_version = desired.unwrap_or_else(|| self.seconds());
        if desired_version < 1 {
            return Err(Error::invalid(
                "desiredVersion: rows begin at 0, so it is 1 at least",
            ));
        }
        let prefix = format!("{source}/");
        let mut shards = self.db.shards().collect().await?;
        shards.retain(|shard| shard.shard_id.starts_with(&prefix));
        let run = self
            .note_run(job, RunDesign::Shards, shards.len(), Some(desired_version))
            .await?;
        let request = |shard: Shard| {
            NewMessage::job(&ShardRequest {
                shard_id: shard.shard_id,
                desired_version,
            })
        };
        let messages: std::result::Result<Vec<_>, _> = shards.into_iter().map(request).collect();
        for sent in self.queues.send_batch(SHARD_QUEUE.0, messages?).await? {
            sent?;
        }
        Ok(run)
    }

    /// The creator: asks for each row of a shard that is behind.
    pub(crate) async fn request_shard(self: Arc<Self>, job: Job<ShardRequest>) -> Result<()> {
        let ShardRequest {
            shard_id,
            desired_version,
        } = job.body;
        let mut after = None;
        loop {
            let behind = self.db.records_to_reindex(&shard_id, desired_version);
            let page = behind.continued(after).page().await?;
            let request = |row: Record| {
                NewMessage::job(&RowRequest {
                    id: row.id,
                    desired_version,
                })
            };
            let messages: std::result::Result<Vec<_>, _> = page.rows.into_iter().map(request).collect();
            for sent in self.queues.send_batch(REQUEST_QUEUE.0, messages?).await? {
                sent?;
            }
            after = page.next.map(|bookmark| bookmark.to_string());
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// The processor: raises one row, if it is still behind. Only the version lock decides: if the row was changed in
    /// between, this message fails and comes again, and no other message is concerned.
    pub(crate) async fn touch(self: Arc<Self>, job: Job<RowRequest>) -> Result<()> {
        let RowRequest { id, desired_version } = job.body;
        let row = self.db.record(&id).await?;
        let row = row.ok_or_else(|| Error::NotFound(format!("record {id}")))?;
        if row.reindex_version.unwrap_or(0) >= desired_version {
            return Ok(());
        }
        let raise = self.db.update_record(RecordKey::new(&row.id));
        let raise = raise
            .set_version(row.version + 1)
            .set_reindex_version(desired_version);
        raise.only_if(Record::VERSION.equals(row.version)).await?;
        Ok(())
    }
}
