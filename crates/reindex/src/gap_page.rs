//! Gaps a page at a time, for callers over the network: each call is bounded, and returns where the next one
//! begins.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_events::Typer;
use trestle_item::Item;

use crate::gaps::{is_at_version, wants};
use crate::job::{ReindexMode, ReindexScope};
use crate::page;
use crate::plan::id_of_key;
use crate::retry::RetryPause;
use crate::work_item::{WorkItem, WorkUnit};
use crate::{Against, Reindex, ReindexError, Reindexer, RowLetter};

/// The approximate number of rows that a call reads, where each row itself shows whether it is a gap.
const ROWS_MAX: u64 = 100_000;
/// The approximate number of rows that a call compares with another table: their ids are held in memory, and
/// the other table is read once.
const COMPARED_MAX: u64 = 1_000_000;
/// The name of the only part of a scope that is read in one go.
const WHOLE: &str = "whole";

/// Some of the rows that the destination lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapPage {
    /// Their ids.
    pub ids: Vec<String>,
    /// Where the next page begins. There may be one even if this page has no ids.
    pub next: Option<String>,
}

/// The progress of a search for gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GapPlace {
    /// In the rows of a work item, after a position.
    Rows {
        item: String,
        position: Option<Item>,
        read: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<String>,
    },
    /// In the dead letters, after one of them.
    Letters {
        after: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<String>,
    },
}

impl GapPlace {
    /// The same page, after the row with this id.
    fn behind(mut self, id: String) -> Self {
        match &mut self {
            Self::Rows { named, .. } | Self::Letters { named, .. } => *named = Some(id),
        }
        self
    }
}

/// The rows of a page after the last one that was returned; all of them if it no longer exists.
fn unnamed<'r, T>(rows: &'r [T], named: Option<&str>, id: impl Fn(&T) -> Option<String>) -> &'r [T] {
    let is_last = |row: &T| named.is_some() && id(row).as_deref() == named;
    let behind = rows.iter().position(is_last).map(|last| last + 1);
    rows.get(behind.unwrap_or(0)..).unwrap_or_default()
}

/// A page of the search: possible gaps, the number of rows read, and where it continues.
struct Found {
    ids: Vec<String>,
    looked_at: u64,
    next: Option<GapPlace>,
}

impl Reindexer {
    /// Returns rows that the destination lacks, like [`Reindexer::gaps`], but at most `limit` of them.
    /// `after` is `next` of the previous page.
    pub async fn gap_page(
        &self,
        name: &str,
        against: &Against<'_>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<GapPage, ReindexError> {
        let job = self.state.job(name).await?.job;
        let search = Search {
            typer: self.typer(&job)?,
            is_of_itself: matches!(against, Against::Itself),
            reindexer: self,
            job: &job,
        };
        let is_compared = matches!(against, Against::Ids { .. } | Against::Table { .. });
        let (ids_max, rows_max) = match is_compared {
            true => (usize::MAX, COMPARED_MAX),
            false => (limit, ROWS_MAX),
        };
        let mut place = match after {
            Some(after) => Some(place_in(after)?),
            None => search.behind(None).await?,
        };
        let mut pages: Vec<(GapPlace, Vec<String>)> = Vec::new();
        let (mut ids, mut rows) = (0, 0);
        while let Some(at) = place.take() {
            let found = search.page(&at).await?;
            ids += found.ids.len();
            rows += found.looked_at;
            pages.push((at, found.ids));
            place = found.next;
            if ids >= ids_max || rows >= rows_max {
                break;
            }
        }
        if is_compared {
            let unknown = self.without_known(&pages, against).await?;
            for (_, ids) in &mut pages {
                ids.retain(|id| unknown.contains(id));
            }
        }
        cut(pages, place, limit.max(1))
    }

    /// Those of these ids that the destination lacks.
    async fn without_known(
        &self,
        pages: &[(GapPlace, Vec<String>)],
        against: &Against<'_>,
    ) -> Result<HashSet<String>, ReindexError> {
        let mut left: HashSet<String> = pages.iter().flat_map(|(_, ids)| ids.iter().cloned()).collect();
        match against {
            Against::Ids { read, .. } => {
                for id in read().map_err(ReindexError::Refused)? {
                    left.remove(&id.map_err(ReindexError::Refused)?);
                }
            }
            Against::Table { name, attribute } => {
                let (name, attribute) = self.id_attribute(name, attribute.as_deref()).await?;
                self.each_id(&name, &attribute, |id| {
                    left.remove(&id);
                })
                .await?;
            }
            Against::Itself | Against::Nothing => {}
        }
        Ok(left)
    }
}

/// As many ids as were requested. A page of rows with more of them continues after the last one returned.
fn cut(
    pages: Vec<(GapPlace, Vec<String>)>,
    behind: Option<GapPlace>,
    limit: usize,
) -> Result<GapPage, ReindexError> {
    let mut ids = Vec::new();
    let mut next = behind;
    for (at, found) in pages {
        let room = limit - ids.len();
        let last = match room {
            0 => None,
            room => found.get(room - 1).cloned(),
        };
        let is_cut = found.len() > room;
        ids.extend(found.into_iter().take(room));
        if is_cut {
            next = Some(match last {
                Some(last) => at.behind(last),
                None => at,
            });
            break;
        }
    }
    let next = next.map(|place| serde_json::to_string(&place)).transpose();
    let next = next.map_err(|error| ReindexError::defect(format!("a place is no JSON: {error}")))?;
    Ok(GapPage { ids, next })
}

fn place_in(text: &str) -> Result<GapPlace, ReindexError> {
    serde_json::from_str(text)
        .map_err(|_| ReindexError::refused("`after` is not what an earlier answer gave as `next`"))
}

/// A search for the gaps of one reindex.
struct Search<'s> {
    reindexer: &'s Reindexer,
    job: &'s Reindex,
    typer: Option<Arc<dyn Typer>>,
    /// Whether the reindex itself knows what is missing.
    is_of_itself: bool,
}

impl Search<'_> {
    fn is_sent(&self) -> bool {
        matches!(self.job.mode, ReindexMode::Send { .. })
    }

    /// Whether all rows are read as one part, because no workers share them.
    fn is_whole(&self) -> bool {
        let is_all = matches!(self.job.scope, ReindexScope::Complete | ReindexScope::Entity(_));
        is_all && !(self.is_of_itself && self.is_sent())
    }

    /// Whether dead letters stand for missing rows: all of them for a reindex that sends; otherwise those
    /// without a row.
    fn has_letters(&self) -> bool {
        self.is_of_itself && (self.is_sent() || matches!(self.job.scope, ReindexScope::Ids(_)))
    }

    async fn page(&self, at: &GapPlace) -> Result<Found, ReindexError> {
        match at {
            GapPlace::Rows {
                item,
                position,
                read,
                named,
            } => {
                let item = self.item(item).await?;
                let item = item.map(|mut item| {
                    item.position.clone_from(position);
                    item.counts.read = *read;
                    item
                });
                match item {
                    Some(item) => self.rows(item, named.as_deref()).await,
                    None => Err(ReindexError::refused(
                        "the work item of `after` is gone; begin again",
                    )),
                }
            }
            GapPlace::Letters { after, named } => self.letters(after.as_deref(), named.as_deref()).await,
        }
    }

    async fn rows(&self, item: WorkItem, named: Option<&str>) -> Result<Found, ReindexError> {
        let setup = &self.reindexer.setup;
        let pause = RetryPause {
            clock: Arc::clone(&setup.clock),
            first: setup.first_pause,
            longest: setup.longest_pause,
        };
        let read =
            page::read_with_versions(&*setup.database, self.job, self.typer.as_ref(), &item, &pause).await?;
        let mut ids = Vec::new();
        let id = |row: &Item| self.job.key_in(row).as_ref().map(id_of_key);
        for row in unnamed(&read.rows, named, id) {
            if wants(self.job, self.typer.as_ref(), row) && self.is_gap(row) {
                let missing =
                    || Error::defect(format!("a row of table {} came without its key", self.job.table));
                ids.push(id(row).ok_or_else(missing)?);
            }
        }
        let next = match read.next {
            Some(position) => Some(GapPlace::Rows {
                position: Some(position),
                read: item.counts.read + read.looked_at,
                item: item.id,
                named: None,
            }),
            None => self.behind(Some(&item.id)).await?,
        };
        Ok(Found {
            ids,
            looked_at: read.looked_at,
            next,
        })
    }

    fn is_gap(&self, row: &Item) -> bool {
        !self.is_of_itself || !is_at_version(self.job, row)
    }

    async fn letters(&self, after: Option<&str>, named: Option<&str>) -> Result<Found, ReindexError> {
        let state = &self.reindexer.state;
        let (letters, next) = state.letters(&self.job.name, after, None).await?;
        let looked_at = letters.len() as u64;
        let letters = unnamed(&letters, named, |letter| Some(letter.id()))
            .iter()
            .filter(|letter| self.is_sent() || letter.row.is_none());
        Ok(Found {
            ids: letters.map(RowLetter::id).collect(),
            looked_at,
            next: next.map(|after| GapPlace::Letters {
                after: Some(after),
                named: None,
            }),
        })
    }

    /// Where the search continues after a work item.
    async fn behind(&self, id: Option<&str>) -> Result<Option<GapPlace>, ReindexError> {
        let next = match (self.is_whole(), id) {
            (true, None) => Some(whole()),
            (true, Some(_)) => None,
            (false, id) => self.item_behind(id).await?,
        };
        Ok(match next {
            Some(item) => Some(GapPlace::Rows {
                read: item.counts.read,
                position: item.position,
                item: item.id,
                named: None,
            }),
            None => self.has_letters().then_some(GapPlace::Letters {
                after: None,
                named: None,
            }),
        })
    }

    /// The next work item after an id, as far as its rows can be gaps. Work items of a reindex that sends are
    /// read from their position on.
    async fn item_behind(&self, id: Option<&str>) -> Result<Option<WorkItem>, ReindexError> {
        let mut after = id.map(str::to_owned);
        loop {
            let state = &self.reindexer.state;
            let (items, next) = state.work_page(&self.job.name, after.as_deref(), Some(1)).await?;
            let rest = |item: WorkItem| match self.is_of_itself && self.is_sent() {
                true => (!item.is_done).then_some(item),
                false => Some(WorkItem::new(item.id, item.unit)),
            };
            if let Some(item) = items.into_iter().find_map(rest) {
                return Ok(Some(item));
            }
            after = next;
            if after.is_none() {
                return Ok(None);
            }
        }
    }

    async fn item(&self, id: &str) -> Result<Option<WorkItem>, ReindexError> {
        match self.is_whole() && id == WHOLE {
            true => Ok(Some(whole())),
            false => Ok(self.reindexer.state.work_item(&self.job.name, id).await?),
        }
    }
}

fn whole() -> WorkItem {
    WorkItem::new(WHOLE, WorkUnit::Segment { segment: 0, total: 1 })
}
