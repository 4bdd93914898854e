//! Divides parts of the rows that are much larger than others, so that several workers can read them.
//!
//! *Invariant*: the new work item is stored in the same transaction in which the original becomes smaller.
//! Whenever a process ends, each row is in exactly one of them.

use std::collections::BTreeMap;

use trestle_api::{DatabaseExt, Error, ErrorKind, Put, Query, TransactWriteItem, TransactWriteItems, Update};
use trestle_item::{AttributeValue, Item};

use crate::job::KeyPart;
use crate::row_letter::row_id;
use crate::sort_range::{SortRange, between};
use crate::state_table::{StateTable, key, to_json};
use crate::work_item::{WorkItem, WorkLease, WorkUnit, work_of};
use crate::worker::Worker;
use crate::{Reindex, RowCounts, page};

/// Successive pages of the same partition after which the rest of it is divided.
const HOT_PAGES: u32 = 3;
/// How often parts of a partition are divided, which limits how many of them are read at the same time.
const CUTS_MAX: u32 = 6;

/// How many successive pages have ended in the same partition.
#[derive(Default)]
pub(crate) struct Heat {
    partition: Option<AttributeValue>,
    pages: u32,
}

impl Heat {
    /// Whether a work item is in a partition that several workers should read.
    pub(crate) fn is_hot(&mut self, job: &Reindex, item: &WorkItem) -> bool {
        let [hash, _] = &job.key[..] else {
            return false;
        };
        let partition = item
            .position
            .as_ref()
            .and_then(|position| position.get(&hash.name));
        let may_be_cut = match &item.unit {
            WorkUnit::Segment { .. } => true,
            WorkUnit::Partition { range, .. } => range.cuts < CUTS_MAX,
            _ => false,
        };
        if !may_be_cut || partition.is_none() {
            return false;
        }
        if self.partition.as_ref() == partition {
            self.pages += 1;
        } else {
            self.partition = partition.cloned();
            self.pages = 1;
        }
        let is_hot = self.pages >= HOT_PAGES;
        if is_hot {
            *self = Self::default();
        }
        is_hot
    }
}

impl Worker {
    /// Divides the rest of the partition that an item is in.
    pub(crate) async fn split(&self, job: &Reindex, item: &mut WorkItem) -> Result<(), Error> {
        let (Some(position), [hash, sort]) = (item.position.clone(), &job.key[..]) else {
            return Ok(());
        };
        let (Some(partition), Some(above)) = (position.get(&hash.name), position.get(&sort.name)) else {
            return Err(Error::defect("a page ended at a key that is not whole"));
        };
        let partition = Item::from([(hash.name.clone(), partition.clone())]);
        let left = SortRange {
            above: Some(above.clone()),
            ..match &item.unit {
                WorkUnit::Partition { range, .. } => range.clone(),
                _ => SortRange::default(),
            }
        };
        let cut = self.middle(job, &partition, sort, &left).await?;
        let (item_then, parts) = match (&item.unit, cut) {
            (WorkUnit::Segment { .. }, cut) => leave(item, &partition, sort, &left, cut.as_ref()),
            (WorkUnit::Partition { .. }, Some(cut)) => halve(item, &partition, sort, &cut),
            _ => return Ok(()),
        };
        let lease = self.process.lease_of(self.number);
        let state = &self.process.state;
        if state.split_off(&job.name, &item_then, &parts, &lease).await? {
            *item = item_then;
            self.process.clock.signal().ring();
        }
        Ok(())
    }

    /// A sort key in the middle of the rest of a partition.
    async fn middle(
        &self,
        job: &Reindex,
        partition: &Item,
        sort: &KeyPart,
        left: &SortRange,
    ) -> Result<Option<AttributeValue>, Error> {
        let process = &*self.process;
        let query = Query {
            limit: Some(1),
            scan_index_forward: Some(false),
            // Backwards from the end.
            exclusive_start_key: None,
            ..page::partition_query(job, partition, left, None)
        };
        process.reads.take(1.0).await;
        let found = process
            .insist(&mut RowCounts::default(), || {
                process.database.query(query.clone())
            })
            .await?;
        let last = found.items.iter().flat_map(|rows| rows.iter()).next();
        let last = last.and_then(|row| row.get(&sort.name).cloned());
        Ok(last
            .zip(left.above.as_ref())
            .and_then(|(last, above)| between(above, &last)))
    }
}

/// A segment continues after the partition, which becomes separate work items.
fn leave(
    segment: &WorkItem,
    partition: &Item,
    sort: &KeyPart,
    left: &SortRange,
    cut: Option<&AttributeValue>,
) -> (WorkItem, Vec<WorkItem>) {
    let ranges = match cut.map(|at| left.cut(at)) {
        Some((first, second)) => vec![first, second],
        None => vec![left.clone()],
    };
    let part = |range| part(segment, partition, sort, range);
    let mut behind = partition.clone();
    behind.insert(sort.name.clone(), page::greatest(sort));
    let segment_then = WorkItem {
        position: Some(behind),
        ..segment.clone()
    };
    (segment_then, ranges.into_iter().map(part).collect())
}

/// A part of a partition keeps its first half.
fn halve(
    item: &WorkItem,
    partition: &Item,
    sort: &KeyPart,
    at: &AttributeValue,
) -> (WorkItem, Vec<WorkItem>) {
    let WorkUnit::Partition { range, .. } = &item.unit else {
        return (item.clone(), Vec::new());
    };
    let (first, second) = range.cut(at);
    let unit = WorkUnit::Partition {
        partition: partition.clone(),
        range: first,
    };
    let item_then = WorkItem { unit, ..item.clone() };
    let part = part(item, partition, sort, second);
    (item_then, vec![part])
}

/// A work item for a part of a partition. Its id contains its beginning.
fn part(of: &WorkItem, partition: &Item, sort: &KeyPart, range: SortRange) -> WorkItem {
    let mut begin = partition.clone();
    if let Some(above) = &range.above {
        begin.insert(sort.name.clone(), above.clone());
    }
    let unit = WorkUnit::Partition {
        partition: partition.clone(),
        range,
    };
    WorkItem {
        once_more: of.once_more,
        ..WorkItem::new(format!("{}-{}", of.id, row_id(&begin)), unit)
    }
}

impl StateTable {
    /// Stores an item that became smaller, together with the new ones. `false` if another worker has taken it
    /// over, or the transaction was not carried out for another reason: then nothing was stored.
    async fn split_off(
        &self,
        job: &str,
        item: &WorkItem,
        parts: &[WorkItem],
        lease: &WorkLease,
    ) -> Result<bool, Error> {
        let mut writes = vec![self.smaller(job, item, lease)?];
        for part in parts {
            writes.push(TransactWriteItem {
                put: Some(Box::new(Put {
                    table_name: self.name().to_owned(),
                    item: part.row(job)?,
                    condition_expression: Some("attribute_not_exists(pk)".to_owned()),
                    ..Put::default()
                })),
                ..TransactWriteItem::default()
            });
        }
        match self.transact(writes).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn smaller(&self, job: &str, item: &WorkItem, lease: &WorkLease) -> Result<TransactWriteItem, Error> {
        let position = item.position.as_ref();
        let position = position.ok_or_else(|| Error::defect("a work item was cut before its first page"))?;
        let names = ["owner", "until", "unit", "counts", "position"];
        let placeholder = |name: &str| (format!("#{name}"), name.to_owned());
        let update = Update {
            table_name: self.name().to_owned(),
            key: key(&work_of(job), &item.id),
            update_expression: "SET #until = :until, #unit = :unit, #counts = :counts, #position = :position"
                .to_owned(),
            condition_expression: Some("#owner = :owner".to_owned()),
            expression_attribute_names: Some(names.map(placeholder).into_iter().collect::<BTreeMap<_, _>>()),
            expression_attribute_values: Some(Item::from([
                (":owner", AttributeValue::from(lease.owner.as_str())),
                (":until", lease.until.as_millis().into()),
                (":unit", to_json(&item.unit)?.into()),
                (":counts", to_json(&item.counts)?.into()),
                (":position", to_json(position)?.into()),
            ])),
            ..Update::default()
        };
        Ok(TransactWriteItem {
            update: Some(Box::new(update)),
            ..TransactWriteItem::default()
        })
    }

    async fn transact(&self, transact_items: Vec<TransactWriteItem>) -> Result<(), Error> {
        let write = TransactWriteItems {
            transact_items,
            ..TransactWriteItems::default()
        };
        self.database().transact_write_items(write).await.map(drop)
    }
}
