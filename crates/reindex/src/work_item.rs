//! Parts of the rows of a reindex, and the leases by which workers share them.
//!
//! *Invariant*: only the worker with the lease stores the progress of a work item. A page's position and
//! counts are one write with that condition, so that a worker that has lost its item changes nothing.

use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use trestle_api::{Error, Query, Scan};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item};

use crate::RowCounts;
use crate::sort_range::SortRange;
use crate::state_table::{Conditional, StateTable, from_json, key, number, text, to_json};

/// The most keys in a work item.
pub(crate) const KEYS_MAX: usize = 100;

/// The rows of a work item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkUnit {
    /// A segment of a parallel scan.
    Segment { segment: u32, total: u32 },
    /// The first rows of a scan, so many of them.
    First { rows: u64 },
    /// A partition, or a part of one.
    Partition {
        partition: Item,
        #[serde(default)]
        range: SortRange,
    },
    /// The rows that a query finds, or the first so many of them.
    Query {
        query: Box<Query>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<u64>,
    },
    /// The rows that a scan finds in its segment, or the first so many of them.
    Scan {
        scan: Box<Scan>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<u64>,
    },
    /// Rows with these keys.
    Keys { keys: Vec<Item> },
}

/// Why rows that are already in the scope are processed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnceMore {
    /// They were dead letters when the work item was added.
    Replay,
    /// They were listed to be processed again, whatever their outcome was.
    Resend,
}

/// A part of the rows, and its progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkItem {
    pub(crate) id: String,
    pub(crate) unit: WorkUnit,
    /// Whether its rows are already in the scope and are processed again, and why.
    pub(crate) once_more: Option<OnceMore>,
    /// The key after which the next page begins.
    pub(crate) position: Option<Item>,
    pub(crate) counts: RowCounts,
    pub(crate) is_done: bool,
    pub(crate) lease: Option<WorkLease>,
    /// The counts of the current page, in addition to `counts`.
    pub(crate) page: PageProgress,
}

/// A worker's progress with its current page. If the worker ends, the page is done again, and this is
/// discarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageProgress {
    pub(crate) counts: RowCounts,
    /// Why rows of it are being retried, if they are.
    pub(crate) reason: Option<String>,
}

/// The worker of an item, and the end of its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkLease {
    pub(crate) owner: String,
    pub(crate) until: Timestamp,
}

/// An unfinished work item, as far as workers need it to choose one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenItem {
    pub(crate) id: String,
    pub(crate) lease: Option<WorkLease>,
}

/// Which leases are valid: those that have not expired and, where only one process at a time can have the
/// database open, belong to this opening.
#[derive(Clone, Debug)]
pub(crate) struct LiveLeases {
    pub(crate) now: Timestamp,
    pub(crate) opening: Option<Arc<str>>,
}

impl LiveLeases {
    /// Whether a process's lease with this end is valid. Names of processes and their workers begin with the
    /// opening.
    pub(crate) fn holds(&self, owner: &str, until: Timestamp) -> bool {
        let is_here = self
            .opening
            .as_ref()
            .is_none_or(|opening| owner.starts_with(&**opening));
        is_here && until > self.now
    }

    /// Whether a worker may take an item with this lease.
    pub(crate) fn is_free(&self, lease: Option<&WorkLease>) -> bool {
        lease.is_none_or(|lease| !self.holds(&lease.owner, lease.until))
    }
}

/// The attribute that says whether rows are processed again.
const ONCE_MORE: &str = "once_more";
/// Items that are read together.
const LOOKED_AT: u32 = 200;
/// Items that are stored at the same time.
const STORED_AT_ONCE: usize = 32;

/// The place of the work items of a reindex.
pub(crate) fn work_of(job: &str) -> String {
    format!("work#{job}")
}

impl WorkItem {
    pub(crate) fn new(id: impl Into<String>, unit: WorkUnit) -> Self {
        Self {
            id: id.into(),
            unit,
            once_more: None,
            position: None,
            counts: RowCounts::default(),
            is_done: false,
            lease: None,
            page: PageProgress::default(),
        }
    }

    fn read(row: &Item) -> Result<Self, Error> {
        let id = id_in(row)?;
        Ok(Self {
            unit: from_json(row, "unit")?,
            once_more: match row.contains_key(ONCE_MORE) {
                true => from_json(row, ONCE_MORE)?,
                false => once_more_by_id(&id),
            },
            id,
            position: match row.contains_key("position") {
                true => Some(from_json(row, "position")?),
                false => None,
            },
            counts: from_json(row, "counts")?,
            is_done: row.get("done").and_then(AttributeValue::as_bool).unwrap_or(false),
            lease: WorkLease::read(row),
            page: match row.contains_key("page") {
                true => from_json(row, "page")?,
                false => PageProgress::default(),
            },
        })
    }

    pub(crate) fn row(&self, job: &str) -> Result<Item, Error> {
        let mut row = key(&work_of(job), &self.id);
        row.insert("unit", to_json(&self.unit)?);
        row.insert("counts", to_json(&self.counts)?);
        row.insert(ONCE_MORE, to_json(&self.once_more)?);
        row.insert("done", self.is_done);
        if let Some(position) = &self.position {
            row.insert("position", to_json(position)?);
        }
        Ok(row)
    }
}

impl WorkLease {
    fn read(row: &Item) -> Option<Self> {
        Some(Self {
            owner: text(row, "owner")?.to_owned(),
            until: Timestamp::from_millis(number(row, "until").unwrap_or(0)),
        })
    }
}

/// In the format of an earlier version, only the id shows it.
fn once_more_by_id(id: &str) -> Option<OnceMore> {
    let begins = |with: &str| id.starts_with(with);
    begins("replay-")
        .then_some(OnceMore::Replay)
        .or_else(|| begins("resend-").then_some(OnceMore::Resend))
}

fn id_in(row: &Item) -> Result<String, Error> {
    let missing = || Error::defect("a work item of a reindex has no id");
    Ok(text(row, "sk").ok_or_else(missing)?.to_owned())
}

impl StateTable {
    /// Stores work items except those whose ids exist, which may have progressed already. Many are stored at
    /// the same time, so that they share commits.
    pub(crate) async fn add_work(&self, job: &str, items: &[WorkItem]) -> Result<(), Error> {
        let rows: Vec<Item> = items.iter().map(|item| item.row(job)).collect::<Result<_, _>>()?;
        stream::iter(rows)
            .map(|row| self.insert(row))
            .buffer_unordered(STORED_AT_ONCE)
            .try_for_each(|_| ready(Ok(())))
            .await
    }

    /// Removes the work items of a reindex that never began.
    pub(crate) async fn remove_work(&self, job: &str) -> Result<(), Error> {
        for item in self.work(job).await? {
            self.delete(&work_of(job), &item.id).await?;
        }
        Ok(())
    }

    /// The work items of a reindex.
    pub(crate) async fn work(&self, job: &str) -> Result<Vec<WorkItem>, Error> {
        self.all(&work_of(job))
            .await?
            .iter()
            .map(WorkItem::read)
            .collect()
    }

    /// A work item.
    pub(crate) async fn work_item(&self, job: &str, id: &str) -> Result<Option<WorkItem>, Error> {
        let row = self.get(&work_of(job), id).await?;
        row.as_ref().map(WorkItem::read).transpose()
    }

    /// Some of the work items after an id, and the id after which the next ones are.
    pub(crate) async fn work_page(
        &self,
        job: &str,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(Vec<WorkItem>, Option<String>), Error> {
        let (rows, next) = self.page(&work_of(job), after, limit).await?;
        let items = rows.iter().map(WorkItem::read);
        Ok((items.collect::<Result<_, Error>>()?, next))
    }

    /// Some of the unfinished work items, in the order of their ids, from one id on and after another; the
    /// second value is the id after which the next ones are.
    pub(crate) async fn open_work(
        &self,
        job: &str,
        from: Option<&str>,
        after: Option<&str>,
    ) -> Result<(Vec<OpenItem>, Option<String>), Error> {
        let mut query = self.partition(&work_of(job));
        let mut values = query.expression_attribute_values.take().unwrap_or_default();
        values.insert(":false", false);
        if let Some(from) = from {
            values.insert(":from", from);
            query.key_condition_expression = Some("pk = :pk AND sk >= :from".to_owned());
        }
        let names = ["done", "owner", "until"].map(|name| (format!("#{name}"), name.to_owned()));
        let (rows, next) = self
            .page_of(Query {
                exclusive_start_key: after.map(|id| key(&work_of(job), id)),
                filter_expression: Some("#done = :false".to_owned()),
                projection_expression: Some("sk, #owner, #until".to_owned()),
                expression_attribute_names: Some(names.into()),
                expression_attribute_values: Some(values),
                limit: Some(LOOKED_AT),
                ..query
            })
            .await?;
        let open = rows.iter().map(|row| {
            Ok(OpenItem {
                id: id_in(row)?,
                lease: WorkLease::read(row),
            })
        });
        Ok((open.collect::<Result<_, Error>>()?, next))
    }

    /// Takes the lease of a free item; `None` if another worker was faster.
    pub(crate) async fn claim(
        &self,
        job: &str,
        id: &str,
        lease: &WorkLease,
        live: &LiveLeases,
    ) -> Result<Option<WorkItem>, Error> {
        let mut values = Item::from([
            (":owner", AttributeValue::from(lease.owner.as_str())),
            (":until", lease.until.as_millis().into()),
            (":now", live.now.as_millis().into()),
            (":false", false.into()),
        ]);
        let mut is_over = "attribute_not_exists(#owner) OR #until <= :now".to_owned();
        if let Some(opening) = &live.opening {
            values.insert(":opening", &**opening);
            is_over += " OR NOT begins_with(#owner, :opening)";
        }
        let change = Conditional {
            names: &["owner", "until", "done", "page"],
            values,
            update: "SET #owner = :owner, #until = :until REMOVE #page",
            condition: &format!("#done = :false AND ({is_over})"),
        };
        let claimed = self.update(key(&work_of(job), id), change).await?;
        claimed.as_ref().map(WorkItem::read).transpose()
    }

    /// Stores the progress of an item and renews its lease. `false` if another worker has taken it over: then
    /// nothing was stored.
    pub(crate) async fn check_in(
        &self,
        job: &str,
        item: &WorkItem,
        lease: &WorkLease,
    ) -> Result<bool, Error> {
        let mut values = Item::from([
            (":owner", AttributeValue::from(lease.owner.as_str())),
            (":until", lease.until.as_millis().into()),
            (":counts", to_json(&item.counts)?.into()),
            (":done", item.is_done.into()),
        ]);
        let mut update = "SET #until = :until, #counts = :counts, #done = :done".to_owned();
        let mut names = vec!["owner", "until", "counts", "done", "page"];
        if let Some(position) = &item.position {
            values.insert(":position", to_json(position)?);
            names.push("position");
            update += ", #position = :position";
        }
        update += " REMOVE #page";
        let change = Conditional {
            names: &names,
            values,
            update: &update,
            condition: "#owner = :owner",
        };
        let stored = self.update(key(&work_of(job), &item.id), change).await?;
        Ok(stored.is_some())
    }

    /// Renews a lease in the middle of a page. `false` if another worker has taken the item over.
    pub(crate) async fn renew(
        &self,
        job: &str,
        id: &str,
        lease: &WorkLease,
        page: &PageProgress,
    ) -> Result<bool, Error> {
        let change = Conditional {
            names: &["owner", "until", "page"],
            values: Item::from([
                (":owner", AttributeValue::from(lease.owner.as_str())),
                (":until", lease.until.as_millis().into()),
                (":page", to_json(page)?.into()),
            ]),
            update: "SET #until = :until, #page = :page",
            condition: "#owner = :owner",
        };
        Ok(self.update(key(&work_of(job), id), change).await?.is_some())
    }

    /// Releases an item, so that another worker can continue with it immediately.
    pub(crate) async fn give_back(&self, job: &str, id: &str, owner: &str) -> Result<(), Error> {
        let change = Conditional {
            names: &["owner", "until", "page"],
            values: Item::from([(":owner", owner)]),
            update: "REMOVE #owner, #until, #page",
            condition: "#owner = :owner",
        };
        self.update(key(&work_of(job), id), change).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_an_earlier_version_says_by_its_id_that_it_is_of_rows_once_more() {
        let keys = WorkUnit::Keys { keys: Vec::new() };
        for (id, by_id) in [
            ("replay-17-000", Some(OnceMore::Replay)),
            ("resend-17-000", Some(OnceMore::Resend)),
            ("keys-000", None),
        ] {
            let mut row = WorkItem::new(id, keys.clone()).row("job").unwrap();
            assert_eq!(WorkItem::read(&row).unwrap().once_more, None, "the field decides");
            row.remove(ONCE_MORE);
            assert_eq!(WorkItem::read(&row).unwrap().once_more, by_id);
        }
    }

    #[test]
    fn a_row_says_why_it_is_of_rows_once_more_whatever_its_id_is() {
        for once_more in [None, Some(OnceMore::Replay), Some(OnceMore::Resend)] {
            let item = WorkItem {
                once_more,
                ..WorkItem::new("resend-17-000", WorkUnit::Keys { keys: Vec::new() })
            };
            assert_eq!(WorkItem::read(&item.row("job").unwrap()).unwrap(), item);
        }
    }
}
