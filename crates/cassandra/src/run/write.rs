//! Writes rows, each only if there is none, so that an existing row is read before it is replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, Operation, PutItem, Response, ResponseFuture,
    ReturnValuesOnConditionCheckFailure, pause_after,
};
use trestle_item::Item;

use super::decide::{Decision, decide};
use super::misfit::{Collision, shown_key};
use super::reader::{Batch, Making, ReadFrom, all_bytes, start};
use super::row::{ImportedRow, RowMaker};
use super::state::{ImportState, Reached, sources_of};
use super::totals::{EntityCounts, ImportTotals};
use super::{Observer, RunError};
use crate::mapping::Plan;

/// The maximum number of concurrent puts to an endpoint. A database in this process takes a whole batch at
/// once.
const AT_ONCE: usize = 64;
/// Batches between two stored states.
const BATCHES_PER_STATE: u32 = 20;
/// How often the write of a row is tried for which the database has no room.
const ATTEMPTS_MAX: usize = 32;
/// The maximum number of attributes of a row that is replaced, because a condition compares each.
const COMPARED_MAX: usize = 100;

/// The options of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportSettings {
    /// Replace rows that differ, unless they are newer.
    pub overwrite: bool,
    /// Leave out records that do not fit, instead of refusing to begin.
    pub skip_unfit: bool,
    /// Set the times of rows that the database would set, because it does not have the model.
    pub keeps_times: bool,
    /// The current time, in milliseconds since 1970.
    pub now_ms: u64,
}

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    /// What is imported.
    pub plan: Arc<Plan>,
    /// The options.
    pub settings: ImportSettings,
    /// The location of its progress.
    pub state: ImportState,
}

impl Import {
    /// Writes all rows, beginning where a previous run stopped. Unless records that do not fit are skipped,
    /// all are checked first.
    pub async fn run(
        &self,
        db: &dyn Database,
        observer: &mut dyn Observer,
    ) -> Result<ImportTotals, RunError> {
        self.state.make(db).await?;
        let former = self.state.read(db, &self.plan).await?;
        let resumed = former.is_some();
        if !resumed && !self.settings.skip_unfit {
            let unfit = self.plan.check(self.settings.now_ms, observer)?.unfit();
            if unfit > 0 {
                return Err(RunError::Unfit(unfit));
            }
        }
        let reached = former.unwrap_or_else(|| Reached {
            files: sources_of(&self.plan),
            next: ReadFrom::default(),
            done_bytes: 0,
            imports: self.plan.no_counts(),
        });
        // From now on it counts as begun, and the check is not repeated.
        self.state.store(db, &reached).await?;
        let reached = self.write(db, reached, observer).await?;
        self.state.clear(db).await?;
        Ok(ImportTotals {
            imports: reached.imports,
            resumed,
        })
    }

    fn making(&self) -> Making {
        Making {
            now_ms: self.settings.now_ms,
            keeps_times: self.settings.keeps_times,
        }
    }

    async fn write(
        &self,
        db: &dyn Database,
        mut reached: Reached,
        observer: &mut dyn Observer,
    ) -> Result<Reached, RunError> {
        let all = all_bytes(&self.plan);
        let mut before: Option<(Batch, Vec<ResponseFuture<'_>>)> = None;
        let mut unstored = 0;
        for batch in start(&self.plan, reached.next, self.making())? {
            let batch = batch?;
            // The next batch is started before waiting for the responses to this one.
            let started = self.start_puts(db, &batch);
            let Some((batch, answers)) = before.replace((batch, started)) else {
                continue;
            };
            self.finish(db, batch, answers, &mut reached, observer).await?;
            observer.progress("imported", reached.done_bytes, all, rows_of(&reached));
            unstored += 1;
            if unstored >= BATCHES_PER_STATE {
                self.state.store(db, &reached).await?;
                unstored = 0;
            }
        }
        if let Some((batch, answers)) = before {
            self.finish(db, batch, answers, &mut reached, observer).await?;
        }
        Ok(reached)
    }

    fn start_puts<'d>(&self, db: &'d dyn Database, batch: &Batch) -> Vec<ResponseFuture<'d>> {
        let Some(import) = self.plan.imports.get(batch.import) else {
            return Vec::new();
        };
        let table = self.plan.model.table(&import.table_name);
        let hash = table.and_then(|table| table.key().hash.first());
        let (table, hash) = (&import.table_name, hash.map_or("", |hash| &hash.name));
        let start = |row: &ImportedRow| db.execute(insert(table, hash, row.item.clone()).into_request());
        batch.rows.iter().map(start).collect()
    }

    /// Waits for the responses of a batch, and handles the rows that already existed.
    async fn finish(
        &self,
        db: &dyn Database,
        batch: Batch,
        answers: Vec<ResponseFuture<'_>>,
        reached: &mut Reached,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        let answers: Vec<Result<Response, Error>> = stream::iter(answers).buffered(AT_ONCE).collect().await;
        let (Some(import), Some(counts)) = (
            self.plan.imports.get(batch.import),
            reached.imports.get_mut(batch.import),
        ) else {
            return Err(Error::defect("a batch is of no import").into());
        };
        let maker = self.making().maker(&self.plan, import)?;
        for (row, answer) in batch.rows.iter().zip(answers) {
            if answer.is_ok() {
                counts.inserted += 1;
                continue;
            }
            let settled = self.settle(db, &maker, row, answer.err()).await?;
            if let Some(reason) = count(counts, settled) {
                observer.collision(&Collision {
                    entity: import.entity.clone(),
                    place: batch.place(&self.plan, row),
                    key: shown_key(&maker.key_of(&row.item)),
                    reason,
                });
            }
        }
        counts.rows += batch.records;
        counts.unfit += batch.misfits.len() as u64;
        counts.without_row += batch.without_row;
        batch.misfits.iter().for_each(|misfit| observer.misfit(misfit));
        reached.next = batch.next;
        reached.done_bytes += batch.bytes;
        Ok(())
    }

    /// Handles a row that was not inserted at once.
    async fn settle(
        &self,
        db: &dyn Database,
        maker: &RowMaker<'_>,
        row: &ImportedRow,
        mut failure: Option<Error>,
    ) -> Result<RowEnd, RunError> {
        let table = &maker.import.table_name;
        let hash = maker.hash_attribute();
        for attempt in 0..ATTEMPTS_MAX {
            let Some(error) = failure else {
                return Ok(RowEnd::Inserted);
            };
            if is_transient(&error) {
                pause_after(attempt).await;
                failure = db.put_item(insert(table, hash, row.item.clone())).await.err();
                continue;
            }
            let Some(existing) = existing(&error) else {
                return refusal(error);
            };
            let item = match decide(maker, existing, row, self.settings.overwrite) {
                Decision::Same => return Ok(RowEnd::Unchanged),
                Decision::KeepNewer => return Ok(RowEnd::KeptNewer),
                Decision::Collision(reason) => return Ok(RowEnd::Collision(reason.to_owned())),
                Decision::Overwrite(item) => item,
            };
            let Some(put) = replace(table, existing, item) else {
                return Ok(RowEnd::Collision(format!(
                    "the row that is there has more than {COMPARED_MAX} attributes, and cannot be replaced safely; delete it first"
                )));
            };
            match db.put_item(put).await {
                Ok(_) => return Ok(RowEnd::Overwritten),
                // It was changed in between: it is read again.
                Err(error)
                    if error.kind() == ErrorKind::ConditionalCheckFailed && error.taken_value().is_none() =>
                {
                    failure = db.put_item(insert(table, hash, row.item.clone())).await.err();
                }
                Err(error) => failure = Some(error),
            }
        }
        Ok(RowEnd::Collision(format!(
            "the row could not be written in {ATTEMPTS_MAX} attempts, because others write it or the database has no room; run the import again"
        )))
    }
}

/// The result for a row.
enum RowEnd {
    Inserted,
    Unchanged,
    Overwritten,
    KeptNewer,
    Collision(String),
}

/// Counts it; returns why it was not written, if it was not.
fn count(counts: &mut EntityCounts, end: RowEnd) -> Option<String> {
    let counted = match end {
        RowEnd::Inserted => &mut counts.inserted,
        RowEnd::Unchanged => &mut counts.unchanged,
        RowEnd::Overwritten => &mut counts.overwritten,
        RowEnd::KeptNewer => &mut counts.kept_newer,
        RowEnd::Collision(reason) => {
            counts.collisions += 1;
            return Some(reason);
        }
    };
    *counted += 1;
    None
}

fn rows_of(reached: &Reached) -> u64 {
    reached.imports.iter().map(|counts| counts.rows).sum()
}

/// The existing row. A unique value that belongs to another row also fails a condition, but returns no row.
fn existing(error: &Error) -> Option<&Item> {
    let is_there = error.kind() == ErrorKind::ConditionalCheckFailed && error.taken_value().is_none();
    error.item().filter(|_| is_there)
}

/// A row that the database refuses does not stop the others; any other error ends the import.
fn refusal(error: Error) -> Result<RowEnd, RunError> {
    match error.kind() {
        ErrorKind::Validation | ErrorKind::ConditionalCheckFailed => Ok(RowEnd::Collision(format!(
            "the database refused the row: {}",
            error.message()
        ))),
        _ => Err(error.into()),
    }
}

fn is_transient(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TransactionConflict
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
    )
}

/// A row that must not exist yet.
fn insert(table: &str, hash: &str, item: Item) -> PutItem {
    PutItem {
        table_name: table.to_owned(),
        item,
        condition_expression: Some("attribute_not_exists(#key)".to_owned()),
        expression_attribute_names: Some(BTreeMap::from([("#key".to_owned(), hash.to_owned())])),
        return_values_on_condition_check_failure: Some(ReturnValuesOnConditionCheckFailure::AllOld),
        ..PutItem::default()
    }
}

/// Replaces a row, if it is unchanged since it was read. `None` if it has too many attributes to compare.
fn replace(table: &str, seen: &Item, item: Item) -> Option<PutItem> {
    if seen.len() > COMPARED_MAX {
        return None;
    }
    let (mut names, mut values, mut conditions) = (BTreeMap::new(), Item::new(), Vec::new());
    for (at, (name, value)) in seen.iter().enumerate() {
        names.insert(format!("#n{at}"), name.clone());
        values.insert(format!(":v{at}"), value.clone());
        conditions.push(format!("#n{at} = :v{at}"));
    }
    Some(PutItem {
        table_name: table.to_owned(),
        item,
        condition_expression: Some(conditions.join(" AND ")),
        expression_attribute_names: Some(names),
        expression_attribute_values: Some(values),
        ..PutItem::default()
    })
}
