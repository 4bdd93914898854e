//! A stored change: parked until its next attempt, or a dead letter. The whole record is stored, of any size.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item, NESTING_MAX, codec, size};

use super::attributes::{damaged, flag, number, text, time};
use super::{RouterTable, Write, key};
use crate::Change;
use crate::backfill::{RowMark, StreamPosition};
use crate::record::{from_item, to_item};
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// A record up to this size is kept in the row itself; a row may have 400 KB.
const RECORD_BYTES_MAX: usize = 300_000;
/// The partition of all dead letters.
const DEAD: &str = "dead";

/// Identifies a kept change within its route: its stream and its sequence number. Sorts in the order of the
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeptId(pub(crate) String);

impl KeptId {
    pub(crate) fn new(shard: &ShardName, sequence: &SequenceNumber) -> Self {
        Self(format!("{}#{}", shard.stream, sequence.padded()))
    }

    /// The id of a row, ordered after all changes up to the position at which it was read, and before later
    /// ones.
    pub(crate) fn of_row(position: &StreamPosition, row: &Change) -> Self {
        let (stream, sequence) = (&position.stream, position.sequence.padded());
        Self(format!("{stream}#{sequence}#{}", row.event_id))
    }

    /// The id of a row, ordered after the last kept change of its item, or before all changes. If the last
    /// one is the same row, it was read again, and keeps its id.
    pub(crate) fn of_row_behind(last: Option<Self>, row: &Change) -> Self {
        let own = format!("#{}", row.event_id);
        match last {
            Some(last) if last.0.ends_with(&own) => last,
            Some(last) => Self(last.0 + &own),
            // Sorts before every label of a stream.
            None => Self(own),
        }
    }
}

/// A change that was refused, with its history.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) id: KeptId,
    pub(crate) shard: Arc<ShardName>,
    /// For a row, after which changes it is ordered.
    pub(crate) mark: Option<RowMark>,
    pub(crate) change: Arc<Change>,
    /// How many attempts were made.
    pub(crate) attempts: u32,
    /// The error of the last attempt.
    pub(crate) error: String,
    /// The first failed attempt.
    pub(crate) first: Timestamp,
    /// The last failed attempt.
    pub(crate) last: Timestamp,
    /// The next attempt, if there is one.
    pub(crate) due: Timestamp,
    /// Whether it waits for all earlier parked changes of its destination, not only for those of its item.
    pub(crate) is_behind_destination: bool,
}

/// The partition of the parts of a large record.
fn part_partition(route: &str, id: &KeptId) -> String {
    format!("part#{route}#{}", id.0)
}

fn parked_key(route: &str, id: &KeptId) -> Item {
    key(format!("parked#{route}"), id.0.clone())
}

fn dead_key(route: &str, id: &KeptId) -> Item {
    key(DEAD, format!("{route}#{}", id.0))
}

impl Kept {
    /// The rows of a parked change.
    pub(crate) fn park(&self, route: &str) -> KeptRows {
        self.rows(route, parked_key(route, &self.id))
    }

    /// The rows of a dead letter.
    pub(crate) fn bury(&self, route: &str) -> KeptRows {
        self.rows(route, dead_key(route, &self.id))
    }

    /// Removes the parked row; the parts of a large record stay.
    pub(crate) fn unpark(route: &str, id: &KeptId) -> Write {
        Write::Delete(parked_key(route, id))
    }

    /// Removes the dead letter; the parts of a large record stay.
    pub(crate) fn unbury(route: &str, id: &KeptId) -> Write {
        Write::Delete(dead_key(route, id))
    }

    fn rows(&self, route: &str, mut row: Item) -> KeptRows {
        row.insert("route", route);
        row.insert("stream", &*self.shard.stream);
        row.insert("shard", &*self.shard.shard);
        row.insert("sequence", self.change.sequence.as_str());
        if let Some(mark) = &self.mark {
            mark.write(&mut row);
        }
        row.insert("attempts", u64::from(self.attempts));
        row.insert("error", self.error.as_str());
        row.insert("first", self.first.as_millis());
        row.insert("last", self.last.as_millis());
        row.insert("due", self.due.as_millis());
        if self.is_behind_destination {
            row.insert("behind_destination", true);
        }
        let record = to_item(&self.change);
        if fits(&record) {
            row.insert("record", record);
            return KeptRows {
                parts: Vec::new(),
                row: Write::Put(row),
            };
        }
        let bytes = codec::encode(&record);
        let parts = bytes.chunks(RECORD_BYTES_MAX);
        row.insert("parts", parts.len() as u64);
        let partition = part_partition(route, &self.id);
        let numbered = (0_u64..).zip(parts).map(|(number, part)| {
            let mut row = key(partition.clone(), format!("{number:04}"));
            row.insert("bytes", AttributeValue::B(part.to_vec()));
            Write::Put(row)
        });
        KeptRows {
            parts: numbered.collect(),
            row: Write::Put(row),
        }
    }
}

/// The rows of a kept change. The parts must be written first, so that the main row never exists without
/// them.
pub(crate) struct KeptRows {
    pub(crate) parts: Vec<Write>,
    pub(crate) row: Write,
}

/// Whether a record can be stored as an attribute of its row: it is neither too large nor too deeply nested.
fn fits(record: &Item) -> bool {
    let nests = |value: &AttributeValue| value.nests_within(NESTING_MAX - 2);
    size::of_item(record) <= RECORD_BYTES_MAX && record.values().all(nests)
}

impl RouterTable {
    /// Reads a row of a kept change with its record.
    async fn kept(&self, route: &str, id: KeptId, mut row: Item) -> Result<Kept, Error> {
        let record = match row.remove("record") {
            Some(AttributeValue::M(record)) => record,
            Some(_) => return Err(damaged(&row, "record")),
            None => self.parts(route, &id, &row).await?,
        };
        let change = from_item(record).ok_or_else(|| damaged(&row, "record"))?;
        Ok(Kept {
            shard: Arc::new(ShardName {
                stream: text(&row, "stream")?.into(),
                shard: text(&row, "shard")?.into(),
            }),
            mark: RowMark::read(&row)?,
            change: Arc::new(change),
            attempts: u32::try_from(number(&row, "attempts")?).map_err(|_| damaged(&row, "attempts"))?,
            error: text(&row, "error")?.to_owned(),
            first: time(&row, "first")?,
            last: time(&row, "last")?,
            due: time(&row, "due")?,
            is_behind_destination: row.contains_key("behind_destination")
                && flag(&row, "behind_destination")?,
            id,
        })
    }

    /// The record of a row that is stored in parts.
    async fn parts(&self, route: &str, id: &KeptId, row: &Item) -> Result<Item, Error> {
        let count = number(row, "parts")?;
        let parts = self.all(&part_partition(route, id), "").await?;
        if parts.len() as u64 != count {
            return Err(damaged(row, "parts"));
        }
        let mut bytes = Vec::new();
        for part in &parts {
            let some = part.get("bytes").and_then(AttributeValue::as_b);
            bytes.extend_from_slice(some.ok_or_else(|| damaged(part, "bytes"))?);
        }
        codec::decode(&bytes).map_err(|_| damaged(row, "parts"))
    }

    /// Removes the parts of a large record, if it has any, once nothing refers to them.
    pub(crate) async fn drop_parts(&self, route: &str, kept: &Kept) -> Result<(), Error> {
        if fits(&to_item(&kept.change)) {
            return Ok(());
        }
        let rows = self.all(&part_partition(route, &kept.id), "").await?;
        let delete = |row: &Item| Ok(Write::Delete(key(text(row, "pk")?, text(row, "sk")?)));
        let writes: Result<Vec<Write>, Error> = rows.iter().map(delete).collect();
        self.write(&writes?).await
    }

    /// One parked change.
    pub(crate) async fn parked(&self, route: &str, id: &KeptId) -> Result<Option<Kept>, Error> {
        match self.get(parked_key(route, id)).await? {
            Some(row) => self.kept(route, id.clone(), row).await.map(Some),
            None => Ok(None),
        }
    }

    /// A page of the parked changes of a route, oldest first, and the last id, if there are more.
    pub(crate) async fn parked_page(
        &self,
        route: &str,
        after: Option<Item>,
    ) -> Result<(Vec<Kept>, Option<Item>), Error> {
        let (rows, more) = self.page(&format!("parked#{route}"), "", after, None).await?;
        let mut parked = Vec::new();
        for row in rows {
            let id = KeptId(text(&row, "sk")?.to_owned());
            parked.push(self.kept(route, id, row).await?);
        }
        Ok((parked, more))
    }

    /// One dead letter.
    pub(crate) async fn dead(&self, route: &str, id: &KeptId) -> Result<Option<Kept>, Error> {
        match self.get(dead_key(route, id)).await? {
            Some(row) => self.kept(route, id.clone(), row).await.map(Some),
            None => Ok(None),
        }
    }

    /// A page of dead letters, of one route or of all, each with its route; and the last one's full id, if
    /// there are more.
    pub(crate) async fn dead_page(
        &self,
        route: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<(String, Kept)>, Option<String>), Error> {
        let prefix = route.map(|route| format!("{route}#")).unwrap_or_default();
        let after = after.map(|after| key(DEAD, after));
        let (rows, more) = self.page(DEAD, &prefix, after, Some(limit)).await?;
        let mut letters = Vec::new();
        for row in rows {
            let route = text(&row, "route")?.to_owned();
            let id = text(&row, "sk")?.strip_prefix(&*route);
            let id = id.and_then(|rest| rest.strip_prefix('#'));
            let id = KeptId(id.ok_or_else(|| damaged(&row, "route"))?.to_owned());
            let kept = self.kept(&route, id, row).await?;
            letters.push((route, kept));
        }
        let next = more.as_ref().map(|key| text(key, "sk")).transpose()?;
        Ok((letters, next.map(str::to_owned)))
    }

    /// The routes that have dead letters, in the order of their names.
    pub(crate) async fn routes_with_dead(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        let mut after = None;
        loop {
            let (rows, _) = self.page(DEAD, "", after, Some(1)).await?;
            let Some(row) = rows.first() else {
                return Ok(names);
            };
            // A route's name contains no `#`.
            let name = text(row, "sk")?.split_once('#').map(|(name, _)| name.to_owned());
            let name = name.ok_or_else(|| damaged(row, "sk"))?;
            after = Some(key(DEAD, format!("{name}#{}", char::MAX)));
            names.push(name);
        }
    }

    /// How many dead letters a route has.
    pub(crate) async fn count_dead(&self, route: &str) -> Result<u64, Error> {
        self.count(DEAD, &format!("{route}#")).await
    }

    /// How many changes of a route are parked.
    pub(crate) async fn count_parked(&self, route: &str) -> Result<u64, Error> {
        self.count(&format!("parked#{route}"), "").await
    }

    async fn count(&self, partition: &str, prefix: &str) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None);
        loop {
            let (rows, more) = self.page(partition, prefix, after, None).await?;
            count += rows.len() as u64;
            after = more;
            if after.is_none() {
                return Ok(count);
            }
        }
    }
}
