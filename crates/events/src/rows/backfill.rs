//! The stored progress of a backfill.

use std::sync::Arc;

use trestle_api::{DatabaseExt, Error, TransactWriteItem, Update, UpdateItem};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item};

use super::attributes::{damaged, flag, number, optional_number, optional_text, sequence, text, time};
use super::checkpoint::CheckpointRows;
use super::{TABLE, Write, key};
use crate::backfill::{BackfillState, RowMark, StreamPosition};
use crate::tracker::ShardName;

/// The attribute that says that a row is ordered after everything that was handed over before it.
const SETTLED: &str = "settled";

/// A stored backfill of a route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BackfillRow {
    /// Its id, different from that of every other backfill.
    pub(crate) id: String,
    pub(crate) state: BackfillState,
    /// Rows up to here are done.
    pub(crate) place: RowPlace,
    /// How many rows the table had when it began.
    pub(crate) total: u64,
    /// The maximum number of rows per second.
    pub(crate) rate: Option<u32>,
    pub(crate) began: Timestamp,
    pub(crate) ended: Option<Timestamp>,
}

/// A position among the rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RowPlace {
    /// How many rows have been read up to here.
    pub(crate) rows: u64,
    /// The key of the last of them; `None` at the beginning and at the end.
    pub(crate) after: Option<Item>,
    /// The order of rows in which the key is a position; `None` at the beginning.
    pub(crate) layout: Option<String>,
    /// There are no more rows.
    pub(crate) is_end: bool,
}

impl CheckpointRows {
    fn backfill_key(&self) -> Item {
        key(self.partition(), format!("backfill#{}", self.table()))
    }

    /// The last backfill of the route, if there was one.
    pub(crate) async fn backfill(&self) -> Result<Option<BackfillRow>, Error> {
        let row = self.rows().get(self.backfill_key()).await?;
        row.as_ref().map(read).transpose()
    }

    /// Stores a new backfill.
    pub(crate) async fn begin_backfill(&self, backfill: &BackfillRow) -> Result<(), Error> {
        let mut row = self.backfill_key();
        row.insert("id", backfill.id.as_str());
        row.insert("state", backfill.state.name());
        row.insert("rows", backfill.place.rows);
        row.insert("total", backfill.total);
        row.insert("began", backfill.began.as_millis());
        if let Some(rate) = backfill.rate {
            row.insert("rate", u64::from(rate));
        }
        self.rows().write(&[Write::Put(row)]).await
    }

    /// Stores that everything up to a position is done.
    pub(crate) async fn move_backfill(&self, to: &RowPlace, now: Timestamp) -> Result<(), Error> {
        self.update_backfill(Change::place(to, now)).await
    }

    /// The same in a transaction, which fails if the stored number of rows is not `from`.
    pub(crate) fn move_backfill_from(&self, from: u64, to: &RowPlace, now: Timestamp) -> TransactWriteItem {
        let mut change = Change::place(to, now);
        change.values.insert(":from", from);
        TransactWriteItem {
            update: Some(Box::new(Update {
                key: self.backfill_key(),
                update_expression: change.expression,
                table_name: TABLE.to_owned(),
                condition_expression: Some("#rows = :from".to_owned()),
                expression_attribute_names: Some(change.names),
                expression_attribute_values: Some(change.values),
                ..Update::default()
            })),
            ..TransactWriteItem::default()
        }
    }

    /// Stores that the backfill is cancelled.
    pub(crate) async fn cancel_backfill(&self, now: Timestamp) -> Result<(), Error> {
        let mut change = Change::default();
        change.set("state", BackfillState::Cancelled.name().into());
        change.set("ended", now.as_millis().into());
        self.update_backfill(change).await
    }

    /// Stores that the order of rows has changed. When this returns, the database reads in that order: the
    /// write is committed after the change of the layout.
    pub(crate) async fn note_layout(&self, layout: &str) -> Result<(), Error> {
        let mut change = Change::default();
        change.set("seen_layout", layout.into());
        self.update_backfill(change).await
    }

    /// Deletes the route's backfill.
    pub(crate) async fn drop_backfill(&self) -> Result<(), Error> {
        self.rows().write(&[self.forget_backfill()]).await
    }

    /// The write that deletes the backfill.
    pub(super) fn forget_backfill(&self) -> Write {
        Write::Delete(self.backfill_key())
    }

    async fn update_backfill(&self, change: Change) -> Result<(), Error> {
        let request = UpdateItem {
            table_name: TABLE.to_owned(),
            key: self.backfill_key(),
            update_expression: Some(change.expression),
            expression_attribute_names: Some(change.names),
            expression_attribute_values: Some(change.values),
            ..UpdateItem::default()
        };
        self.rows().database().update_item(request).await.map(|_| ())
    }
}

/// An update of the row.
#[derive(Default)]
struct Change {
    expression: String,
    names: std::collections::BTreeMap<String, String>,
    values: Item,
}

impl Change {
    fn place(to: &RowPlace, now: Timestamp) -> Self {
        let mut change = Self::default();
        change.set("rows", to.rows.into());
        if let Some(after) = &to.after {
            change.set("after", after.clone().into());
        }
        if let Some(layout) = &to.layout {
            change.set("layout", layout.as_str().into());
        }
        if to.is_end {
            change.set("state", BackfillState::Done.name().into());
            change.set("ended", now.as_millis().into());
        } else if to.after.is_none() {
            change.remove_last("after");
        }
        change
    }

    /// Removes an attribute; nothing can be set after this.
    fn remove_last(&mut self, name: &str) {
        self.expression.push_str(&format!(" REMOVE #{name}"));
        self.names.insert(format!("#{name}"), name.to_owned());
    }

    fn set(&mut self, name: &str, value: AttributeValue) {
        let before = if self.expression.is_empty() { "SET" } else { "," };
        self.expression.push_str(&format!("{before} #{name} = :{name}"));
        self.names.insert(format!("#{name}"), name.to_owned());
        self.values.insert(format!(":{name}"), value);
    }
}

/// The stored form of the mark of a row that is parked or a dead letter.
impl RowMark {
    pub(super) fn write(&self, kept: &mut Item) {
        let position = match self {
            Self::At(position) => position,
            Self::Settled => {
                kept.insert(SETTLED, true);
                return;
            }
        };
        let shard =
            |shard: &Arc<ShardName>| AttributeValue::from(format!("{}#{}", shard.stream, shard.shard));
        kept.insert("mark", position.sequence.as_str());
        kept.insert("mark_stream", &*position.stream);
        kept.insert(
            "mark_shards",
            AttributeValue::L(position.shards.iter().map(shard).collect()),
        );
    }

    pub(super) fn read(kept: &Item) -> Result<Option<Self>, Error> {
        if kept.contains_key(SETTLED) && flag(kept, SETTLED)? {
            return Ok(Some(Self::Settled));
        }
        let Some(sequence) = sequence(kept, "mark")? else {
            return Ok(None);
        };
        let shard = |value: &AttributeValue| {
            let (stream, shard) = value.as_s()?.split_once('#')?;
            Some(Arc::new(ShardName {
                stream: stream.into(),
                shard: shard.into(),
            }))
        };
        let shards = kept.get("mark_shards").and_then(AttributeValue::as_l);
        let shards = shards.and_then(|shards| shards.iter().map(shard).collect::<Option<_>>());
        Ok(Some(Self::At(StreamPosition {
            stream: text(kept, "mark_stream")?.into(),
            sequence,
            shards: shards.ok_or_else(|| damaged(kept, "mark_shards"))?,
        })))
    }
}

fn read(row: &Item) -> Result<BackfillRow, Error> {
    let state = BackfillState::from_name(text(row, "state")?).ok_or_else(|| damaged(row, "state"))?;
    let after = match row.get("after") {
        None => None,
        Some(AttributeValue::M(after)) => Some(after.clone()),
        Some(_) => return Err(damaged(row, "after")),
    };
    let rate = optional_number(row, "rate")?.map(u32::try_from).transpose();
    Ok(BackfillRow {
        id: text(row, "id")?.to_owned(),
        state,
        place: RowPlace {
            rows: number(row, "rows")?,
            after,
            layout: optional_text(row, "layout")?.map(str::to_owned),
            is_end: state == BackfillState::Done,
        },
        total: number(row, "total")?,
        rate: rate.map_err(|_| damaged(row, "rate"))?,
        began: time(row, "began")?,
        ended: optional_number(row, "ended")?.map(Timestamp::from_millis),
    })
}
