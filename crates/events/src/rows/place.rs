//! Where a route is: the streams it has finished, and its mark in each shard of the one it reads.

use std::sync::Arc;

use trestle_api::{Error, Put, TransactWriteItem};
use trestle_env::Timestamp;
use trestle_item::Item;

use super::{Rows, TABLE, Write, key, number, text};
use crate::sequence::Sequence;
use crate::tracker::{Mark, ShardName};

/// A route's place in the streams of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Changes before this time are not for the route.
    pub(crate) from: Timestamp,
    /// Streams up to this one are finished.
    pub(crate) past: Option<Arc<str>>,
}

/// Reads and writes the places of one route in one table.
pub(crate) struct Place {
    rows: Arc<Rows>,
    partition: String,
    table: Arc<str>,
}

impl Place {
    pub(crate) fn new(rows: Arc<Rows>, route: &str, table: Arc<str>) -> Self {
        Self {
            rows,
            partition: format!("route#{route}"),
            table,
        }
    }

    fn state_key(&self) -> Item {
        key(self.partition.clone(), format!("state#{}", self.table))
    }

    fn mark_key(&self, shard: &ShardName) -> Item {
        let sort = format!("at#{}#{}#{}", self.table, shard.stream, shard.shard);
        key(self.partition.clone(), sort)
    }

    /// Where the route is, if it has begun.
    pub(crate) async fn position(&self) -> Result<Option<Position>, Error> {
        let row = self.rows.get(self.state_key()).await?;
        Ok(row.map(|row| Position {
            from: Timestamp::from_millis(number(&row, "from").unwrap_or_default()),
            past: text(&row, "past").map(Arc::from),
        }))
    }

    /// Remembers where the route is.
    pub(crate) async fn set_position(&self, position: &Position) -> Result<(), Error> {
        let mut row = self.state_key();
        row.insert("from", position.from.as_millis());
        if let Some(past) = &position.past {
            row.insert("past", &**past);
        }
        self.rows.write(&[Write::Put(row)]).await
    }

    /// The marks of all shards that the route has been in.
    pub(crate) async fn marks(&self) -> Result<Vec<(Arc<ShardName>, Mark)>, Error> {
        let prefix = format!("at#{}#", self.table);
        let rows = self.rows.all(&self.partition, &prefix).await?;
        let read = |row: &Item| {
            let (stream, shard) = text(row, "sk")?.strip_prefix(&prefix)?.split_once('#')?;
            let name = ShardName {
                stream: stream.into(),
                shard: shard.into(),
            };
            Some((Arc::new(name), mark_of(row)))
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// One mark, as it is stored.
    pub(crate) async fn mark(&self, shard: &ShardName) -> Result<Option<Mark>, Error> {
        let row = self.rows.get(self.mark_key(shard)).await?;
        Ok(row.as_ref().map(mark_of))
    }

    fn mark_row(&self, shard: &ShardName, mark: &Mark) -> Item {
        let mut row = self.mark_key(shard);
        row.insert("ended", mark.ended);
        if let Some(sequence) = &mark.sequence {
            row.insert("sequence", sequence.as_str());
        }
        row
    }

    /// Remembers marks.
    pub(crate) async fn set_marks<'m>(
        &self,
        marks: impl Iterator<Item = (&'m Arc<ShardName>, &'m Mark)>,
    ) -> Result<(), Error> {
        let writes: Vec<Write> = marks
            .map(|(shard, mark)| Write::Put(self.mark_row(shard, mark)))
            .collect();
        self.rows.write(&writes).await
    }

    /// A mark that is moved in a transaction, and only from where it is thought to be.
    pub(crate) fn move_mark(&self, shard: &ShardName, from: Option<&Mark>, to: &Mark) -> TransactWriteItem {
        let (condition, values) = match from {
            None => ("attribute_not_exists(pk)", None),
            Some(Mark { sequence: None, .. }) => ("attribute_not_exists(#s)", None),
            Some(Mark {
                sequence: Some(sequence),
                ..
            }) => ("#s = :s", Some(Item::from([(":s", sequence.as_str())]))),
        };
        let names = condition
            .contains("#s")
            .then(|| [("#s".into(), "sequence".into())].into());
        TransactWriteItem {
            put: Some(Box::new(Put {
                item: self.mark_row(shard, to),
                table_name: TABLE.to_owned(),
                condition_expression: Some(condition.to_owned()),
                expression_attribute_names: names,
                expression_attribute_values: values,
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        }
    }

    /// Forgets the marks of streams up to and including `past`.
    pub(crate) async fn forget_marks(&self, past: &str) -> Result<(), Error> {
        let old = self.marks().await?;
        let old = old.iter().filter(|(shard, _)| &*shard.stream <= past);
        let writes: Vec<Write> = old
            .map(|(shard, _)| Write::Delete(self.mark_key(shard)))
            .collect();
        self.rows.write(&writes).await
    }

    /// Forgets that the route ever was here.
    pub(crate) async fn forget(&self) -> Result<(), Error> {
        let mut writes = vec![Write::Delete(self.state_key())];
        for (shard, _) in self.marks().await? {
            writes.push(Write::Delete(self.mark_key(&shard)));
        }
        self.rows.write(&writes).await
    }
}

fn mark_of(row: &Item) -> Mark {
    Mark {
        sequence: text(row, "sequence").map(Sequence::new),
        ended: row
            .get("ended")
            .and_then(|ended| ended.as_bool())
            .unwrap_or_default(),
    }
}
