//! The design of the document: rows are in shards, an index finds the outdated rows of a shard, and each is
//! raised to the desired version by a separate message. The touch causes a change record, which the pipelines
//! receive.
//!
//! script → one message for each shard → creator → one message for each row → processor → row → stream → pipelines

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use trestle::queue::Job;
use trestle::typed::Held as _;
use trestle::{Item, TouchRows, Touched};

use crate::model::{NewShard, Record, RecordKey};
use crate::source::Source;
use crate::{Catalogue, Error, Result};

/// The table of records.
pub(crate) const TABLE: &str = "source-data";
/// The queue of shards.
pub(crate) const SHARD_QUEUE: &str = "reindex-shards";
/// The queue of rows.
pub(crate) const REQUEST_QUEUE: &str = "reindex-requests";

/// The approximate number of records in a shard.
#[derive(Clone, Copy, Debug)]
pub struct Shards(pub u64);

/// A request to raise a shard to a version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardRequest {
    /// The shard.
    pub shard_id: String,
    /// The version.
    pub desired_version: i64,
}

/// A request to raise a row to a version.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowRequest {
    /// The record.
    pub id: String,
    /// The version.
    pub desired_version: i64,
}

impl Shards {
    /// The number of a source's shards. The size of shards is a setting, so that a row's shard does not
    /// change with every insert.
    #[must_use]
    pub fn count(self, source: Source) -> u64 {
        let records: u64 = match source {
            Source::Sierra => 5_000_000,
            Source::Miro => 250_000,
            Source::Mets | Source::Calm => 500_000,
            Source::Tei => 10_000,
        };
        records.div_ceil(self.0.max(1))
    }

    /// The shard of a record: the code points of its id, written one after another as one decimal number, modulo the
    /// number of shards.
    #[must_use]
    pub fn of(self, source: Source, id: &str) -> String {
        let count = u128::from(self.count(source));
        let digits = id.chars().flat_map(|c| u32::from(c).to_string().into_bytes());
        let number = digits.fold(0, |number, digit| {
            (number * 10 + u128::from(digit - b'0')) % count
        });
        format!("{source}/{number}")
    }
}

impl Catalogue {
    /// Makes sure that a shard is tracked.
    pub(crate) async fn track(&self, shard: &str) -> Result<()> {
        if self.db.shard(shard).await?.is_none() {
            let shard_id = shard.to_owned();
            self.db.put(&NewShard { shard_id }).if_not_exists().await.held()?;
        }
        Ok(())
    }

    /// Moves rows to their shards for the present shard size, and returns how many. Rows keep their version:
    /// for pipelines, nothing has changed. A shard that has lost all rows is found empty from then on.
    pub async fn reshard(&self) -> Result<usize> {
        let (mut rows, mut moved) = (self.db.all_records().consistent().stream(), 0);
        while let Some(row) = rows.try_next().await? {
            let shard = self.setup.shards.of(row.source_name, &row.id);
            if row.reindex_shard.as_ref() != Some(&shard) {
                self.track(&shard).await?;
                let update = self.db.update_record(RecordKey::new(&row.id));
                update.set_reindex_shard(&shard).await?;
                moved += 1;
            }
        }
        Ok(moved)
    }

    /// Requests that every shard of a source is raised to a version, and returns the version. From now on
    /// inserted rows get it.
    pub(crate) async fn start_shards(&self, source: Source, desired: Option<i64>) -> Result<i64> {
        let database = &self.setup.database;
        let now = || database.clock().now().as_secs().cast_signed();
        let desired_version = desired.unwrap_or_else(now);
        if desired_version < 1 {
            let reason = "desiredVersion: rows begin at 0, so it is 1 at least";
            return Err(Error::invalid(reason));
        }
        database.set_reindex_version(TABLE, Some("record"), desired_version.cast_unsigned())?;
        let prefix = format!("{source}/");
        let mut shards = self.db.shards().collect().await?;
        shards.retain(|shard| shard.shard_id.starts_with(&prefix));
        let requests = shards.into_iter().map(|shard| ShardRequest {
            shard_id: shard.shard_id,
            desired_version,
        });
        self.queues.send_jobs(SHARD_QUEUE, requests).await?;
        Ok(desired_version)
    }

    /// The creator: sends a request for each outdated row of a shard.
    pub(crate) async fn request_rows(self: Arc<Self>, job: Job<ShardRequest>) -> Result<()> {
        let (shard, desired_version) = (job.body.shard_id, job.body.desired_version);
        let behind = self.db.records_to_reindex(&shard, desired_version);
        let request = |Record { id, .. }| RowRequest { id, desired_version };
        let requests = behind.collect().await?.into_iter().map(request);
        Ok(self.queues.send_jobs(REQUEST_QUEUE, requests).await?)
    }

    /// The processor: raises one row, if it is still outdated. Only the version lock decides: if the row was
    /// changed in between, this message fails and is received again; other messages are not affected.
    pub(crate) async fn raise(self: Arc<Self>, job: Job<RowRequest>) -> Result<()> {
        let RowRequest { id, desired_version } = job.body;
        self.writes.take(1.0).await;
        let gone = || Error::not_found(format!("record {id}"));
        let row = self.db.record(&id).await?.ok_or_else(gone)?;
        let touch = self.setup.touch.touch(TouchRows {
            table: TABLE.to_owned(),
            attribute: "reindexVersion".to_owned(),
            version: desired_version.cast_unsigned(),
            keys: vec![Item::from([("id", id.as_str())])],
            expected: Item::from([("version", row.version)]),
            ..TouchRows::default()
        });
        match touch.await?.rows.pop() {
            Some(Touched::Refused(error)) => Err(error.into()),
            Some(Touched::Gone) | None => Err(gone()),
            Some(Touched::Raised | Touched::AlreadyThere) => Ok(()),
        }
    }
}
