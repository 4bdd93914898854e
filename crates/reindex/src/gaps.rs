//! Rows of the source that the destination lacks, by their ids.
//!
//! A destination can have more ids than fit into memory: they are compared in passes, each over the ids whose
//! hash is in one part. A pass holds only the ids of its part.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;

use trestle_api::{DatabaseExt, Error, Scan};
use trestle_events::Typer;
use trestle_item::{AttributeValue, Item, Number, key as key_bytes};

use crate::job::{ReindexMode, ReindexScope};
use crate::page;
use crate::plan::id_of_key;
use crate::retry::RetryPause;
use crate::work_item::{WorkItem, WorkUnit};
use crate::{Reindex, ReindexError, Reindexer};

/// The approximate maximum of ids in a pass.
const IDS_IN_MEMORY: u64 = 1_000_000;

/// An iteration over the ids of a destination.
pub type KnownIds<'i> = Box<dyn Iterator<Item = Result<String, String>> + Send + 'i>;

/// What the rows of the source are compared with.
pub enum Against<'a> {
    /// The state of the reindex itself: rows that are not at the version; or, if rows are sent, dead letters
    /// and rows of pages that were not done.
    Itself,
    /// Ids of the destination. They are read once for each pass.
    Ids {
        /// Their approximate number.
        count: u64,
        /// Begins to read them.
        read: &'a (dyn Fn() -> Result<KnownIds<'a>, String> + Send + Sync),
    },
    /// Rows of another table of the same database: the values of one attribute, or of its partition key.
    Table {
        /// The table.
        name: String,
        /// The attribute with the id.
        attribute: Option<String>,
    },
    /// Nothing: every row of the scope is returned, for a comparison elsewhere.
    Nothing,
}

/// Receives each missing id; an error ends the search.
pub type OnGap<'a> = &'a mut (dyn FnMut(&str) -> Result<(), String> + Send);

impl Reindexer {
    /// Reports the rows that the destination lacks; returns their number.
    pub async fn gaps(
        &self,
        name: &str,
        against: &Against<'_>,
        on_gap: OnGap<'_>,
    ) -> Result<u64, ReindexError> {
        let job = self.state.job(name).await?.job;
        let mut found = Found { on_gap, count: 0 };
        match (against, &job.mode) {
            (Against::Itself, ReindexMode::Touch { .. }) => self.below_version(&job, &mut found).await?,
            (Against::Itself, ReindexMode::Send { .. }) => self.not_taken(&job, &mut found).await?,
            (Against::Ids { count, read }, _) => {
                for part in parts(*count) {
                    let ids = read().map_err(ReindexError::Refused)?;
                    let mut known = HashSet::new();
                    for id in ids {
                        let id = id.map_err(ReindexError::Refused)?;
                        if part.has(&id) {
                            known.insert(id);
                        }
                    }
                    self.unknown(&job, part, &known, &mut found).await?;
                }
            }
            (Against::Table { name, attribute }, _) => {
                let rows = self.described(name).await?.item_count;
                let (name, attribute) = self.id_attribute(name, attribute.as_deref()).await?;
                for part in parts(rows) {
                    let mut known = HashSet::new();
                    self.each_id(&name, &attribute, |id| {
                        if part.has(&id) {
                            known.insert(id);
                        }
                    })
                    .await?;
                    self.unknown(&job, part, &known, &mut found).await?;
                }
            }
            (Against::Nothing, _) => self.each_row(&job, |row| found.gap(&job, row)).await?,
        }
        Ok(found.count)
    }

    /// Rows that are not at the version.
    async fn below_version(&self, job: &Reindex, found: &mut Found<'_>) -> Result<(), ReindexError> {
        self.each_row(job, |row| match is_at_version(job, row) {
            true => Ok(()),
            false => found.gap(job, row),
        })
        .await?;
        self.missing_ids(job, found).await
    }

    /// Requested ids that have no row.
    async fn missing_ids(&self, job: &Reindex, found: &mut Found<'_>) -> Result<(), ReindexError> {
        if !matches!(job.scope, ReindexScope::Ids(_)) {
            return Ok(());
        }
        self.each_letter(job, |key, has_row| match has_row {
            true => Ok(()),
            false => found.tell(&id_of_key(key)),
        })
        .await
    }

    /// Dead letters, and rows of pages that were not done.
    async fn not_taken(&self, job: &Reindex, found: &mut Found<'_>) -> Result<(), ReindexError> {
        self.each_letter(job, |key, _| found.tell(&id_of_key(key)))
            .await?;
        for item in self.state.work(&job.name).await? {
            if !item.is_done {
                self.rest_of(job, item, &mut |row| found.gap(job, row)).await?;
            }
        }
        Ok(())
    }

    async fn each_letter(
        &self,
        job: &Reindex,
        mut each: impl FnMut(&Item, bool) -> Result<(), ReindexError>,
    ) -> Result<(), ReindexError> {
        let mut after = None;
        loop {
            let (letters, next) = self.state.letters(&job.name, after.as_deref(), None).await?;
            for letter in letters {
                each(&letter.key, letter.row.is_some())?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Rows of a part whose ids are not among the known ones.
    async fn unknown(
        &self,
        job: &Reindex,
        part: Part,
        known: &HashSet<String>,
        found: &mut Found<'_>,
    ) -> Result<(), ReindexError> {
        self.each_row(job, |row| {
            let key = job.key_in(row).unwrap_or_default();
            let id = id_of_key(&key);
            match part.has(&id) && !known.contains(&id) {
                true => found.tell(&id),
                false => Ok(()),
            }
        })
        .await
    }

    /// A table to compare with, and its attribute with the ids.
    pub(crate) async fn id_attribute(
        &self,
        table: &str,
        attribute: Option<&str>,
    ) -> Result<(String, String), ReindexError> {
        let described = self.described(table).await?;
        let key = described.key_schema.first();
        let key = key.map(|key| key.attribute_name.clone());
        let attribute = attribute.map(str::to_owned).or(key);
        let missing = || ReindexError::defect("a table without a key");
        Ok((table.to_owned(), attribute.ok_or_else(missing)?))
    }

    /// Reads the ids in an attribute of another table.
    pub(crate) async fn each_id(
        &self,
        table: &str,
        attribute: &str,
        mut each: impl FnMut(String),
    ) -> Result<(), ReindexError> {
        let mut after = None;
        loop {
            let scan = Scan {
                table_name: table.to_owned(),
                exclusive_start_key: after,
                projection_expression: Some("#id".to_owned()),
                expression_attribute_names: Some([("#id".to_owned(), attribute.to_owned())].into()),
                consistent_read: Some(true),
                ..Scan::default()
            };
            let page = self.setup.database.scan(scan).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                match row.get(attribute) {
                    Some(AttributeValue::S(text)) => each(text.clone()),
                    Some(AttributeValue::N(number)) => each(Number::to_string(number)),
                    _ => {}
                }
            }
            after = page.last_evaluated_key;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// All rows of the scope, as they are now.
    async fn each_row(
        &self,
        job: &Reindex,
        mut each: impl FnMut(&Item) -> Result<(), ReindexError> + Send,
    ) -> Result<(), ReindexError> {
        for item in self.scope_again(job).await? {
            self.rest_of(job, item, &mut each).await?;
        }
        Ok(())
    }

    /// The parts of the scope from their beginnings. One scan is enough where no workers share it.
    async fn scope_again(&self, job: &Reindex) -> Result<Vec<WorkItem>, ReindexError> {
        if matches!(job.scope, ReindexScope::Complete | ReindexScope::Entity(_)) {
            let whole = WorkUnit::Segment { segment: 0, total: 1 };
            return Ok(vec![WorkItem::new("whole", whole)]);
        }
        let items = self.state.work(&job.name).await?;
        Ok(items
            .into_iter()
            .map(|item| WorkItem::new(item.id, item.unit))
            .collect())
    }

    /// The rows of a work item after its position.
    pub(crate) fn rest_of<'a>(
        &'a self,
        job: &'a Reindex,
        mut item: WorkItem,
        each: &'a mut (dyn FnMut(&Item) -> Result<(), ReindexError> + Send),
    ) -> Pin<Box<dyn Future<Output = Result<(), ReindexError>> + Send + 'a>> {
        Box::pin(async move {
            let typer = self.typer(job)?;
            let pause = RetryPause {
                clock: self.setup.clock.clone(),
                first: self.setup.first_pause,
                longest: self.setup.longest_pause,
            };
            loop {
                let read =
                    page::read_with_versions(&*self.setup.database, job, typer.as_ref(), &item, &pause)
                        .await?;
                item.counts.read += read.looked_at;
                for row in read.rows.iter().filter(|row| wants(job, typer.as_ref(), row)) {
                    each(row)?;
                }
                if read.next.is_none() {
                    return Ok(());
                }
                item.position = read.next;
            }
        })
    }
}

/// Whether a row is one of those requested.
pub(crate) fn wants(job: &Reindex, typer: Option<&Arc<dyn Typer>>, row: &Item) -> bool {
    let (Some(filter), Some(typer)) = (&job.entities, typer) else {
        return true;
    };
    let entity = typer.entity(&job.table, row);
    let is_named = entity.is_some_and(|entity| filter.names.iter().any(|name| **name == *entity));
    is_named != filter.are_left_out
}

/// Whether a row has the version that a reindex raises rows to, or a later one.
pub(crate) fn is_at_version(job: &Reindex, row: &Item) -> bool {
    let ReindexMode::Touch { attribute, version } = &job.mode else {
        return false;
    };
    match (row.get(attribute), AttributeValue::from(*version)) {
        (Some(AttributeValue::N(present)), AttributeValue::N(wanted)) => *present >= wanted,
        _ => false,
    }
}

/// Gaps found so far.
struct Found<'f> {
    on_gap: OnGap<'f>,
    count: u64,
}

impl Found<'_> {
    fn gap(&mut self, job: &Reindex, row: &Item) -> Result<(), ReindexError> {
        let missing = || Error::defect(format!("a row of table {} came without its key", job.table));
        let key = job.key_in(row).ok_or_else(missing)?;
        self.tell(&id_of_key(&key))
    }

    fn tell(&mut self, id: &str) -> Result<(), ReindexError> {
        self.count += 1;
        (self.on_gap)(id).map_err(ReindexError::Refused)
    }
}

/// One part of all ids, by their hashes.
#[derive(Clone, Copy, Debug)]
struct Part {
    number: u64,
    of: u64,
}

impl Part {
    fn has(self, id: &str) -> bool {
        key_bytes::hash(id.as_bytes()) % self.of == self.number
    }
}

/// The number of parts needed for so many ids.
fn parts(ids: u64) -> impl Iterator<Item = Part> {
    let of = ids.div_ceil(IDS_IN_MEMORY).max(1);
    (0..of).map(move |number| Part { number, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_in_exactly_one_part() {
        for ids in [0, 1, IDS_IN_MEMORY, IDS_IN_MEMORY + 1, 7 * IDS_IN_MEMORY] {
            let all: Vec<Part> = parts(ids).collect();
            assert_eq!(all.len() as u64, ids.div_ceil(IDS_IN_MEMORY).max(1));
            for id in 0..500 {
                let id = format!("b{id}");
                assert_eq!(
                    all.iter().filter(|part| part.has(&id)).count(),
                    1,
                    "{id} of {ids}"
                );
            }
        }
    }
}
