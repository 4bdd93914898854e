//! The stored progress of a route: the streams it has finished, and a checkpoint in each shard of the one it
//! reads.

use std::sync::Arc;

use trestle_api::{Error, Put, TransactWriteItem};
use trestle_env::Timestamp;
use trestle_item::Item;

use super::attributes::{damaged, flag, optional_text, sequence, text, time};
use super::{RouterTable, TABLE, Write, key};
use crate::Gap;
use crate::tracker::{ShardCheckpoint, ShardName};

/// The progress of a route in the streams of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Changes before this time are not for the route.
    pub(crate) from: Timestamp,
    /// Streams up to this one are finished.
    pub(crate) finished: Option<Arc<str>>,
}

/// Reads and writes the checkpoints of one route in one table.
pub(crate) struct CheckpointRows {
    rows: Arc<RouterTable>,
    partition: String,
    table: Arc<str>,
}

impl CheckpointRows {
    pub(crate) fn new(rows: Arc<RouterTable>, route: &str, table: Arc<str>) -> Self {
        Self {
            rows,
            partition: format!("route#{route}"),
            table,
        }
    }

    pub(super) fn rows(&self) -> &RouterTable {
        &self.rows
    }

    pub(super) fn partition(&self) -> String {
        self.partition.clone()
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    fn state_key(&self) -> Item {
        key(self.partition.clone(), format!("state#{}", self.table))
    }

    fn shard_key(&self, shard: &ShardName) -> Item {
        let sort = format!("at#{}#{}#{}", self.table, shard.stream, shard.shard);
        key(self.partition.clone(), sort)
    }

    /// The route's checkpoint, if it has begun.
    pub(crate) async fn get(&self) -> Result<Option<Checkpoint>, Error> {
        let Some(row) = self.rows.get(self.state_key()).await? else {
            return Ok(None);
        };
        Ok(Some(Checkpoint {
            from: time(&row, "from")?,
            finished: optional_text(&row, "past")?.map(Arc::from),
        }))
    }

    /// Stores the route's checkpoint.
    pub(crate) async fn set(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let mut row = self.state_key();
        row.insert("from", checkpoint.from.as_millis());
        if let Some(finished) = &checkpoint.finished {
            row.insert("past", &**finished);
        }
        self.rows.write(&[Write::Put(row)]).await
    }

    /// The checkpoints in all shards that the route has read.
    pub(crate) async fn shards(&self) -> Result<Vec<(Arc<ShardName>, ShardCheckpoint)>, Error> {
        let rows = self.shard_rows().await?;
        rows.iter()
            .map(|row| Ok((self.shard_of(row)?, shard_checkpoint(row)?)))
            .collect()
    }

    fn shard_prefix(&self) -> String {
        format!("at#{}#", self.table)
    }

    async fn shard_rows(&self) -> Result<Vec<Item>, Error> {
        self.rows.all(&self.partition, &self.shard_prefix()).await
    }

    /// The shard of a row.
    fn shard_of(&self, row: &Item) -> Result<Arc<ShardName>, Error> {
        let name = text(row, "sk")?.strip_prefix(&self.shard_prefix());
        let (stream, shard) = name
            .and_then(|name| name.split_once('#'))
            .ok_or_else(|| damaged(row, "sk"))?;
        Ok(Arc::new(ShardName {
            stream: stream.into(),
            shard: shard.into(),
        }))
    }

    /// The stored checkpoint in one shard.
    pub(crate) async fn shard(&self, shard: &ShardName) -> Result<Option<ShardCheckpoint>, Error> {
        let row = self.rows.get(self.shard_key(shard)).await?;
        row.as_ref().map(shard_checkpoint).transpose()
    }

    fn shard_row(&self, shard: &ShardName, checkpoint: &ShardCheckpoint) -> Item {
        let mut row = self.shard_key(shard);
        row.insert("ended", checkpoint.ended);
        if let Some(sequence) = &checkpoint.sequence {
            row.insert("sequence", sequence.as_str());
        }
        row
    }

    /// Stores checkpoints in shards.
    pub(crate) async fn set_shards<'c>(
        &self,
        shards: impl Iterator<Item = (&'c Arc<ShardName>, &'c ShardCheckpoint)>,
    ) -> Result<(), Error> {
        let writes: Vec<Write> = shards
            .map(|(shard, checkpoint)| Write::Put(self.shard_row(shard, checkpoint)))
            .collect();
        self.rows.write(&writes).await
    }

    /// Moves a checkpoint in a transaction, which fails if it is not at `from`.
    pub(crate) fn move_shard(
        &self,
        shard: &ShardName,
        from: Option<&ShardCheckpoint>,
        to: &ShardCheckpoint,
    ) -> TransactWriteItem {
        let (condition, values) = match from {
            None => ("attribute_not_exists(pk)", None),
            Some(ShardCheckpoint { sequence: None, .. }) => ("attribute_not_exists(#s)", None),
            Some(ShardCheckpoint {
                sequence: Some(sequence),
                ..
            }) => ("#s = :s", Some(Item::from([(":s", sequence.as_str())]))),
        };
        let names = condition
            .contains("#s")
            .then(|| [("#s".into(), "sequence".into())].into());
        TransactWriteItem {
            put: Some(Box::new(Put {
                item: self.shard_row(shard, to),
                table_name: TABLE.to_owned(),
                condition_expression: Some(condition.to_owned()),
                expression_attribute_names: names,
                expression_attribute_values: values,
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        }
    }

    /// Deletes the shards of streams up to and including `finished`.
    pub(crate) async fn forget_shards(&self, finished: &str) -> Result<(), Error> {
        let mut writes = Vec::new();
        for row in self.shard_rows().await? {
            let shard = self.shard_of(&row)?;
            if &*shard.stream <= finished {
                writes.push(Write::Delete(self.shard_key(&shard)));
            }
        }
        self.rows.write(&writes).await
    }

    fn gap_prefix(&self) -> String {
        format!("gap#{}#", self.table)
    }

    async fn gap_rows(&self) -> Result<Vec<Item>, Error> {
        self.rows.all(&self.partition, &self.gap_prefix()).await
    }

    /// The records that the route may have missed.
    pub(crate) async fn gaps(&self) -> Result<Vec<Gap>, Error> {
        let read = |row: &Item| {
            Ok(Gap {
                stream: text(row, "stream")?.to_owned(),
                shard: text(row, "shard")?.to_owned(),
                after: optional_text(row, "after")?.map(str::to_owned),
                before: optional_text(row, "before")?.map(str::to_owned),
                noticed_ms: time(row, "noticed")?.as_millis(),
            })
        };
        self.gap_rows().await?.iter().map(read).collect()
    }

    fn gap_key(&self, gap: &Gap) -> Item {
        let sort = format!("{}{}#{}", self.gap_prefix(), gap.stream, gap.shard);
        key(self.partition.clone(), sort)
    }

    /// Stores a gap.
    pub(crate) async fn set_gap(&self, gap: &Gap) -> Result<(), Error> {
        let mut row = self.gap_key(gap);
        row.insert("stream", gap.stream.as_str());
        row.insert("shard", gap.shard.as_str());
        row.insert("noticed", gap.noticed_ms);
        for (name, sequence) in [("after", &gap.after), ("before", &gap.before)] {
            if let Some(sequence) = sequence {
                row.insert(name, sequence.as_str());
            }
        }
        self.rows.write(&[Write::Put(row)]).await
    }

    /// Deletes gaps.
    pub(crate) async fn forget_gaps(&self, gaps: &[Gap]) -> Result<(), Error> {
        let writes: Vec<Write> = gaps.iter().map(|gap| Write::Delete(self.gap_key(gap))).collect();
        self.rows.write(&writes).await
    }

    /// Deletes all rows of the route. It does not read their values, so that a damaged checkpoint can be
    /// deleted.
    pub(crate) async fn forget(&self) -> Result<(), Error> {
        let mut writes = vec![Write::Delete(self.state_key()), self.forget_backfill()];
        let (shards, gaps) = (self.shard_rows().await?, self.gap_rows().await?);
        for row in shards.iter().chain(&gaps) {
            writes.push(Write::Delete(key(text(row, "pk")?, text(row, "sk")?)));
        }
        self.rows.write(&writes).await
    }
}

fn shard_checkpoint(row: &Item) -> Result<ShardCheckpoint, Error> {
    Ok(ShardCheckpoint {
        sequence: sequence(row, "sequence")?,
        ended: flag(row, "ended")?,
    })
}
